import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase, Pool, PoolClient } from 'pg'
import type { Log } from '../log.ts'
import { advisoryLocks } from '../postgres/advisory-locks.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { changeChannel, registerLease, removeLease, renewLease } from './lease-store.ts'

/**
 * So long a process trusts what it remembers, counted by its own monotonic clock from the moment before it asked for
 * the renewal. The same for all processes: whoever waits for leases to run out goes by it.
 */
export const leaseMs = 1_500

export type LeaseEvents = Readonly<{
  /** Forgets all that was remembered so far. */
  forget: () => void
  /** Learns, by this connection, what every process must know once a change is answered. */
  catchUp: (client: ClientBase) => Promise<void>
}>

type Listener = Readonly<{ client: PoolClient; id: string }>

/**
 * The lease of a process on its memory of accounts and keys. It is renewed by a round trip on the very connection
 * that tells of changes, so it cannot outlive the news by more than its term; the answer also tells the number of the
 * newest change, so no renewal after a change leaves the process ignorant of it. A connection that does not answer is
 * dropped and made anew. Confirming a change spares whoever made it the wait for this lease to run out.
 */
export class CacheLease {
  readonly #control: Pool
  readonly #log: Log
  readonly #events: LeaseEvents
  readonly #stopped = new AbortController()
  #validUntil = Number.NEGATIVE_INFINITY
  /** The newest change before which nothing is remembered. */
  #knownChange = 0
  #hasNews = false
  #wake: () => void = () => undefined
  #lastId: string | undefined
  #ended: Promise<void> = Promise.resolve()

  constructor(control: Pool, log: Log, events: LeaseEvents) {
    this.#control = control
    this.#log = log
    this.#events = events
  }

  /** To be asked at every use: a process that was stopped finds its lease run out when it wakes. */
  get isValid(): boolean {
    return performance.now() < this.#validUntil
  }

  /** Tries to get a lease, and keeps trying by itself until stopped. */
  async start(): Promise<void> {
    const listener = await this.#listen()
    this.#ended = this.#keep(listener)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#wake()
    await this.#ended
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted
  }

  async #keep(first: Listener | undefined): Promise<void> {
    for (let listener = first; ; listener = await this.#listen()) {
      if (listener) await this.#hold(listener)
      if (this.#isStopped) return
      if (!listener) await sleep(retryMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined)
    }
  }

  /** Undefined when the control database does not let us. */
  async #listen(): Promise<Listener | undefined> {
    let client: PoolClient | undefined
    try {
      client = await this.#control.connect()
      client.on('notification', ({ payload }) => this.#hear(Number(payload)))
      client.on('end', () => this.#wake())
      const listener = { client, id: await answerWithin(answerMs, this.#register(client)) }
      await this.#renew(listener)
      return listener
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot listen for changes of accounts')
      this.#lose()
      client?.release(true)
      return undefined
    }
  }

  async #register(client: ClientBase): Promise<string> {
    await client.query(`listen ${changeChannel}`)
    await client.query('select pg_catalog.pg_advisory_lock_shared($1)', [advisoryLocks.process])
    const { id, newestChange } = await registerLease(client, this.#lastId)
    // From here on a lost tail of the log can only make us look further behind than we are.
    await client.query('set synchronous_commit = off')
    this.#lastId = id
    // Not the greater of the two: a server that took over may have lost the last numbers.
    this.#knownChange = newestChange
    this.#hear(newestChange)
    return id
  }

  /** Renews until the connection is lost or we are stopped. */
  async #hold({ client, id }: Listener): Promise<void> {
    try {
      while (!this.#isStopped) {
        await this.#pause(renewEveryMs)
        await this.#renew({ client, id })
      }
      this.#lose()
      await answerWithin(answerMs, removeLease(client, id))
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot follow the changes of accounts')
      this.#lose()
    }
    client.release(true)
  }

  async #renew({ client, id }: Listener): Promise<void> {
    const known = this.#knownChange
    if (this.#hasNews) {
      this.#hasNews = false
      await answerWithin(answerMs, this.#events.catchUp(client))
    }
    const sentAt = performance.now()
    const newest = await answerWithin(answerMs, renewLease(client, id, known))
    if (newest === undefined) throw new Error('the lease was taken away')
    if (newest > this.#knownChange) this.#hear(newest)
    this.#validUntil = sentAt + leaseMs
  }

  /** What is remembered may be from before the change. A change that is not yet numbered needs no confirmation. */
  #hear(change: number): void {
    this.#events.forget()
    this.#knownChange = Math.max(this.#knownChange, change)
    this.#hasNews = true
    this.#wake()
  }

  #lose(): void {
    this.#validUntil = Number.NEGATIVE_INFINITY
    this.#events.forget()
  }

  /** Until the time is over, or there is news. */
  async #pause(ms: number): Promise<void> {
    if (this.#hasNews) return
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    await sleep(ms, undefined, { signal: woken.signal }).catch(() => undefined)
    this.#wake = () => undefined
  }
}

const renewEveryMs = 400
const answerMs = 1_500
const retryMs = 250
