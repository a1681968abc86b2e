import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { AppError } from '../errors.ts'
import type { Log } from '../log/log.ts'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget, type SessionTarget } from '../postgres/session-target.ts'

type Trouble = { pauseMs: number; isOpen: boolean; timer?: NodeJS.Timeout }

/**
 * Which hosts can be used. A host that does not answer the administrator, or is a standby, is closed and retried with
 * backoff; once it answers it is open. The backoff is reset when a job has begun there. A tenant can break its own
 * logins and end its own sessions: then only its own jobs wait.
 */
export class HostHealth {
  readonly #databases: Databases
  readonly #log: Log
  readonly #onOpen: () => void
  readonly #troubles = new Map<number, Trouble>()
  /** The last pause of each role. */
  readonly #pausesMs = new LRUCache<string, number>({ max: 10_000, ttl: forgetMs })

  constructor(databases: Databases, log: Log, onOpen: () => void) {
    this.#databases = databases
    this.#log = log
    this.#onOpen = onOpen
  }

  openHosts(): readonly number[] {
    const known = this.#databases.hosts.all().map(({ id }) => id)
    return known.filter((id) => this.#troubles.get(id)?.isOpen ?? true)
  }

  worked(hostId: number): void {
    if (this.#troubles.get(hostId)?.isOpen) this.#troubles.delete(hostId)
  }

  /**
   * A tenant could not log in, or its connection was lost before use. Resolves when it may be retried: false if the
   * host does not answer either and is closed; else true after a growing pause.
   */
  async tenantFailed({ hostId, role }: SessionTarget, cause: unknown, signal: AbortSignal): Promise<boolean> {
    if (!(await this.#answers(hostId))) {
      this.failed(hostId, cause)
      return false
    }
    const pauseMs = Math.min((this.#pausesMs.get(role) ?? 0) * 2 || shortestMs, longestMs)
    this.#pausesMs.set(role, pauseMs)
    this.#log.info({ hostId, role, pauseMs, err: cause }, 'cannot log in as a user: its job waits')
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    return true
  }

  /** An administrator's query on this host failed. */
  failed(hostId: number, cause: unknown): void {
    const known = this.#troubles.get(hostId)
    if ((known && !known.isOpen) || isOurOwnLimit(cause)) return
    this.#log.warn({ hostId, err: cause }, 'a database host does not answer: its jobs wait')
    const trouble = { isOpen: false, pauseMs: Math.min((known?.pauseMs ?? 0) * 2 || shortestMs, longestMs) }
    this.#troubles.set(hostId, trouble)
    this.#lookLater(hostId, trouble)
  }

  stop(): void {
    for (const { timer } of this.#troubles.values()) clearTimeout(timer)
  }

  #lookLater(hostId: number, trouble: Trouble): void {
    const jitter = 0.75 + Math.random() / 2
    trouble.timer = setTimeout(() => this.#look(hostId, trouble), trouble.pauseMs * jitter)
  }

  async #look(hostId: number, trouble: Trouble): Promise<void> {
    if (!this.#databases.hosts.has(hostId)) {
      this.#troubles.delete(hostId)
      return
    }
    if (await this.#answers(hostId)) {
      trouble.isOpen = true
      this.#onOpen()
      return
    }
    trouble.pauseMs = Math.min(trouble.pauseMs * 2, longestMs)
    this.#lookLater(hostId, trouble)
  }

  async #answers(hostId: number): Promise<boolean> {
    const { admin, hosts } = this.#databases
    try {
      await admin.use(adminTarget(hosts, hostId), (session) => {
        session.expectAnswersWithin(answerMs)
        return session.query('select 1')
      })
      return true
    } catch (error) {
      return isOurOwnLimit(error)
    }
  }
}

/** All our connections are in use, which says nothing about the host. */
function isOurOwnLimit(error: unknown): boolean {
  return error instanceof AppError && error.code === 'connections-exhausted'
}

const shortestMs = 250
const longestMs = 10_000
const forgetMs = 60_000
const answerMs = 3_000
