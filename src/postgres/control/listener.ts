import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { Log } from '../../log/log.ts'
import { answerWithin } from '../answer-within.ts'
import type { ControlPool } from './control-pool.ts'

export type ListenerOptions = Readonly<{
  channel: string
  /** Called after LISTEN, on every new connection. If it fails, so does the connection. */
  onConnect?: (client: PoolClient) => Promise<void>
  onMessage: (payload: string) => void
  /** Other channels, heard on the same connection. */
  others?: ReadonlyMap<string, (payload: string) => void>
  /** Called periodically, and when woken. If it fails or times out, the listener reconnects. */
  onRound: (client: PoolClient) => Promise<void>
  everyMs: number
  /** Time limit of a round; `onConnect` has twice as long. */
  answerMs: number
  /** The connection is lost, or could not be opened. */
  onLost?: (error: unknown) => void
  /** Called at the end, if the connection still answers. */
  onStop?: (client: PoolClient) => Promise<void>
}>

/**
 * A connection to the control database that listens on a channel, and reconnects with backoff until it is stopped. A
 * connection can be silent without being closed, so each round sends a query.
 */
export class Listener {
  readonly #control: ControlPool
  readonly #log: Log
  readonly #options: ListenerOptions
  readonly #stopped = new AbortController()
  #attempt: Promise<PoolClient> | undefined
  #ended: Promise<void> | undefined
  #isConnected = false
  #isWoken = false
  #endPause: () => void = () => undefined

  constructor(control: ControlPool, log: Log, options: ListenerOptions) {
    this.#control = control
    this.#log = log
    this.#options = options
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Starts to listen, once. Rejects if the current attempt to connect fails; further attempts follow. */
  async listen(): Promise<void> {
    this.#attempt ??= this.#connect()
    this.#ended ??= this.#keep()
    await this.#attempt
  }

  /** Starts the next round at once. */
  wake(): void {
    this.#isWoken = true
    this.#endPause()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#endPause()
    // An attempt to connect ends by itself.
    if (this.#isConnected) await this.#ended
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted
  }

  async #keep(): Promise<void> {
    for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const client = await this.#attempt!.catch((error: unknown) => this.#fail(error))
      if (client) {
        pauseMs = shortestPauseMs
        await this.#hold(client)
      }
      if (this.#isStopped) return
      this.#attempt = this.#connectAfter(pauseMs)
    }
  }

  async #connectAfter(pauseMs: number): Promise<PoolClient> {
    await sleep(pauseMs, undefined, { signal: this.#stopped.signal })
    return this.#connect()
  }

  async #connect(): Promise<PoolClient> {
    const { channel, onConnect, onMessage, others = new Map(), answerMs } = this.#options
    const client = await this.#control.connectApart()
    this.#isConnected = true
    client.on('notification', (told) => {
      const hear = others.get(told.channel) ?? onMessage
      hear(told.payload ?? '')
    })
    client.on('end', () => this.wake())
    try {
      this.#stopped.signal.throwIfAborted()
      await client.query([channel, ...others.keys()].map((name) => `listen ${name}`).join('; '))
      if (onConnect) await answerWithin(2 * answerMs, onConnect(client))
      return client
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /** Runs rounds until the connection is lost or the listener is stopped. */
  async #hold(client: PoolClient): Promise<void> {
    const { answerMs, onRound, onStop } = this.#options
    try {
      for (;;) {
        await this.#pause()
        if (this.#isStopped) break
        await answerWithin(answerMs, onRound(client))
      }
      if (onStop) await answerWithin(answerMs, onStop(client))
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isConnected = false
      client.release(true)
    }
  }

  #fail(error: unknown): undefined {
    this.#isConnected = false
    if (!this.#isStopped) {
      this.#log.warn({ err: error, channel: this.#options.channel }, 'lost a listening connection')
    }
    this.#options.onLost?.(error)
    return undefined
  }

  /** Until the next round is due, or `wake` is called. */
  async #pause(): Promise<void> {
    if (!this.#isWoken && !this.#isStopped) {
      const woken = new AbortController()
      this.#endPause = () => woken.abort()
      await sleep(this.#options.everyMs, undefined, { signal: woken.signal }).catch(() => undefined)
      this.#endPause = () => undefined
    }
    this.#isWoken = false
  }
}

const shortestPauseMs = 50
const longestPauseMs = 500
