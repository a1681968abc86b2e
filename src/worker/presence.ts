import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { queueChannel } from '../jobs/queue-store.ts'
import { beat, registerWorker, removeWorker, takePresence } from '../jobs/worker-store.ts'
import type { Log } from '../log.ts'

export type PresenceEvents = Readonly<{
  /** Something was said on the queue's channel, or may have been while nobody listened. */
  onNews: (message: string | undefined) => void
  /** The others have given this worker up: what it had is no longer its own. */
  onDeath: () => void
}>

/**
 * The one connection by which a worker is known to be alive: it holds the lock of the worker's id, sends the
 * heartbeat and listens to the queue. Lost, it is made again under the same id, unless the others were quicker.
 */
export class Presence {
  readonly #control: Pool
  readonly #log: Log
  readonly #events: PresenceEvents
  readonly #stopped = new AbortController()
  #id: number | undefined
  #client: PoolClient | undefined
  #hasLock = false
  #timer: NodeJS.Timeout | undefined
  #isBeating = false

  constructor(control: Pool, log: Log, events: PresenceEvents) {
    this.#control = control
    this.#log = log
    this.#events = events
  }

  get id(): number | undefined {
    return this.#id
  }

  get isConnected(): boolean {
    return this.#client !== undefined
  }

  async start(): Promise<void> {
    await this.#connect()
    this.#timer = setInterval(() => this.#tick(), beatMs)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    clearInterval(this.#timer)
    const client = this.#client
    this.#client = undefined
    if (!client || this.#id === undefined) return
    await Promise.race([
      removeWorker(client, this.#id).catch(() => undefined),
      sleep(goodbyeMs, undefined, { ref: false }),
    ])
    client.release(true)
  }

  async #connect(): Promise<void> {
    const client = await this.#control.connect()
    const lose = () => this.#lose(client)
    client.on('error', lose)
    client.on('end', lose)
    client.on('notification', ({ payload }) => this.#events.onNews(payload))
    this.#client = client
    this.#hasLock = false
    try {
      await client.query(`listen ${queueChannel}`)
      await this.#identify(client)
      this.#events.onNews(undefined)
    } catch (error) {
      if (this.#client === client) {
        this.#client = undefined
        client.release(true)
      }
      throw error
    }
  }

  /** Takes up the worker's id again, or a new one if that has been given up. */
  async #identify(client: PoolClient): Promise<void> {
    if (this.#id !== undefined && !(await beat(client, this.#id))) {
      this.#id = undefined
      this.#events.onDeath()
    }
    this.#id ??= await registerWorker(client, `${hostname()} ${process.pid}`)
    this.#hasLock = await takePresence(client, this.#id)
  }

  #tick(): void {
    const client = this.#client
    if (!client) return
    if (this.#isBeating) {
      // No answer since the last beat: the connection is dead and nobody told us.
      this.#lose(client)
      return
    }
    this.#isBeating = true
    this.#beat(client)
      .catch(() => this.#lose(client))
      .finally(() => {
        this.#isBeating = false
      })
  }

  async #beat(client: PoolClient): Promise<void> {
    if (!(await beat(client, this.#id!))) {
      await this.#identify(client)
      this.#events.onNews(undefined)
      return
    }
    if (!this.#hasLock) this.#hasLock = await takePresence(client, this.#id!)
  }

  #lose(client: PoolClient): void {
    if (this.#client !== client) return
    this.#client = undefined
    client.release(true)
    if (this.#stopped.signal.aborted) return
    this.#log.warn('lost the control connection of the worker')
    this.#reconnect().catch((error: unknown) => this.#log.error({ err: error }, 'the worker has no presence'))
  }

  async #reconnect(): Promise<void> {
    for (let pauseMs = 50; !this.#stopped.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        await this.#connect()
        return
      } catch (error) {
        this.#log.debug({ err: error }, 'the control database does not answer')
        await sleep(pauseMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined)
      }
    }
  }
}

const beatMs = 2_000
const goodbyeMs = 1_000
const longestPauseMs = 500
