import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, QueryResultRow } from 'pg'
import { answerWithin } from '../answer-within.ts'
import { logIn } from '../pools/log-in.ts'
import { adminTarget } from '../session-target.ts'
import { serverKeepAlive, socketOf } from '../wire/drop-when-silent.ts'
import type { AskHost, GuardedHost, GuardLook, GuardOptions } from './look.ts'

type HostWatchOptions = GuardOptions & Pick<GuardedHost, 'host'>

/**
 * The guard of one host: connects, runs its checks in rounds, and reconnects with backoff until it is stopped. Logs
 * failures and never throws.
 */
export class HostWatch {
  readonly #options: HostWatchOptions
  readonly #stopped = new AbortController()
  readonly #dueAt = new Map<GuardLook, number>()
  #client: Client | undefined
  #ended: Promise<void> | undefined

  constructor(options: HostWatchOptions) {
    this.#options = options
  }

  get host() {
    return this.#options.host
  }

  get isConnected(): boolean {
    return this.#client !== undefined
  }

  start(): void {
    this.#ended ??= this.#keep()
  }

  /** Cuts off a check that hangs. Does not wait for an attempt to connect, which closes its own connection. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    const client = this.#client
    if (!client) return
    const cut = setTimeout(() => socketOf(client).destroy(), lookLeftMs)
    await this.#ended
    clearTimeout(cut)
  }

  async #keep(): Promise<void> {
    let pauseMs = shortestPauseMs
    while (!this.#isStopped) {
      try {
        await this.#hold(await this.#connect())
        pauseMs = shortestPauseMs
      } catch (error) {
        if (!this.#isStopped)
          this.#options.log.warn({ err: error, host: this.host.name }, 'cannot watch a database host')
      }
      await this.#pause(pauseMs)
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    }
  }

  async #connect(): Promise<Client> {
    const { hosts, host, log } = this.#options
    return logIn(
      {
        name: 'guard',
        hosts,
        passwordOf: () => host.adminPassword,
        waitMs: connectMs,
        log,
        settings: { ...settings, ...serverKeepAlive(connectMs) },
      },
      adminTarget(hosts, host.id),
    )
  }

  /** Runs rounds until the connection is lost or the watch is stopped. */
  async #hold(client: Client): Promise<void> {
    this.#client = client
    let isLost = false
    const lost = new AbortController()
    client.once('end', () => {
      isLost = true
      lost.abort()
    })
    try {
      while (!isLost && !this.#isStopped) {
        await this.#round(client)
        await this.#pause(this.#untilDueMs(), lost.signal)
      }
    } finally {
      this.#client = undefined
      await goodbye(client)
    }
  }

  async #round(client: Client): Promise<void> {
    for (const look of this.#options.looks) {
      if (this.#isStopped || (this.#dueAt.get(look) ?? 0) > performance.now()) continue
      const count = await this.#run(look, client)
      const pauseMs = count > 0 ? (look.alertMs ?? look.everyMs) : look.everyMs
      this.#dueAt.set(look, performance.now() + pauseMs)
    }
  }

  async #run(look: GuardLook, client: Client): Promise<number> {
    const { host, onEnded, log } = this.#options
    try {
      const ended = await answerWithin(answerMs, look.look({ host, ask: askOn(client) }))
      for (const each of ended) onEnded(look, host, each)
      return ended.length
    } catch (error) {
      if (!this.#isStopped) log.warn({ err: error, host: host.name, look: look.name }, 'a host check failed')
      // A late answer would be taken for the next check's.
      if (isLate(error)) socketOf(client).destroy()
      return 0
    }
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted
  }

  #untilDueMs(): number {
    const waits = this.#options.looks.map((look) => (this.#dueAt.get(look) ?? 0) - performance.now())
    return Math.max(0, Math.min(longestPauseMs, ...waits))
  }

  async #pause(ms: number, cut?: AbortSignal): Promise<void> {
    const signal = AbortSignal.any(cut ? [this.#stopped.signal, cut] : [this.#stopped.signal])
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

/** Each text is a prepared statement, planned at its first use. */
function askOn(client: Client): AskHost {
  return async <R extends QueryResultRow>(text: string, values: unknown[] = []) => {
    const name = createHash('sha1').update(text).digest('hex')
    const { rows } = await client.query<R>({ name, text, values })
    return rows
  }
}

const isLate = (error: unknown) => (error as { code?: unknown } | null)?.code === 'database-unavailable'

/** Does not wait for a server that does not answer. */
async function goodbye(client: Client): Promise<void> {
  const late = sleep(goodbyeMs, undefined, { ref: false }).then(() => socketOf(client).destroy())
  await Promise.race([client.end().catch(() => undefined), late])
}

/** A check must not wait for the sessions that it has to end. */
const settings = { statement_timeout: 2_000, lock_timeout: 500, temp_file_limit: -1 } as const

const connectMs = 5_000
const answerMs = 4_000
const lookLeftMs = 300
const goodbyeMs = 300
const shortestPauseMs = 100
const longestPauseMs = 5_000
