import type { Log } from '../log.ts'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'

type Trouble = { pauseMs: number; isOpen: boolean; timer?: NodeJS.Timeout }

/**
 * Which hosts can be worked on. One that fails is closed, looked at from time to time, and opened again when it
 * answers; the pauses grow until a job has really begun there.
 */
export class HostHealth {
  readonly #databases: Databases
  readonly #log: Log
  readonly #onOpen: () => void
  readonly #troubles = new Map<number, Trouble>()

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

  failed(hostId: number, cause: unknown): void {
    const known = this.#troubles.get(hostId)
    if (known && !known.isOpen) return
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
    const { admin, hosts } = this.#databases
    try {
      await admin.use(adminTarget(hosts, hostId), (session) => session.query('select 1'))
      trouble.isOpen = true
      this.#onOpen()
    } catch {
      trouble.pauseMs = Math.min(trouble.pauseMs * 2, longestMs)
      this.#lookLater(hostId, trouble)
    }
  }
}

const shortestMs = 250
const longestMs = 10_000
