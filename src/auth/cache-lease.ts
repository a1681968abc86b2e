import type { ClientBase } from 'pg'
import type { Log } from '../log.ts'
import type { ControlPool } from '../postgres/control/control-pool.ts'
import { Listener } from '../postgres/control/listener.ts'
import { changeChannel, registerLease, removeLease, renewLease, showPresence } from './lease-store.ts'

/**
 * How long a process trusts its cache after it has asked for a renewal, by its own monotonic clock. It is the same for
 * all processes: a change waits for so long until every lease has run out.
 */
export const leaseMs = 1_500

export type LeaseEvents = Readonly<{
  /** Forgets all that was remembered so far. */
  forget: () => void
  /** Learns, by this connection, what every process must know once a change is answered. */
  catchUp: (client: ClientBase) => Promise<void>
}>

/**
 * The lease of a process on its memory of accounts and keys. It is renewed by a round trip on the very connection
 * that tells of changes, so it cannot outlive the news by more than its term. The answer also tells the number of the
 * newest change, so a renewal after a change knows of it. Who made a change need not wait for this lease to run out
 * once it is confirmed.
 */
export class CacheLease {
  readonly #events: LeaseEvents
  readonly #listener: Listener
  #id: string | undefined
  #validUntil = Number.NEGATIVE_INFINITY
  /** The newest change before which nothing is remembered. */
  #knownChange = 0
  #hasNews = false

  constructor(control: ControlPool, log: Log, events: LeaseEvents) {
    this.#events = events
    this.#listener = new Listener(control, log, {
      channel: changeChannel,
      everyMs: renewEveryMs,
      answerMs,
      onConnect: (client) => this.#register(client),
      onMessage: (payload) => this.#hear(Number(payload)),
      onRound: (client) => this.#renew(client),
      onLost: () => this.#lose(),
      onStop: (client) => this.#giveUp(client),
    })
  }

  /** To be asked at every use: a process that was stopped finds its lease run out when it wakes. */
  get isValid(): boolean {
    return performance.now() < this.#validUntil
  }

  /** Tries to get a lease, and keeps trying by itself until stopped. */
  async start(): Promise<void> {
    await this.#listener.listen().catch(() => undefined)
  }

  stop(): Promise<void> {
    return this.#listener.stop()
  }

  async #register(client: ClientBase): Promise<void> {
    await showPresence(client)
    const { id, newestChange } = await registerLease(client, this.#id)
    // From here on a lost tail of the log can only make us look further behind than we are.
    await client.query('set synchronous_commit = off')
    this.#id = id
    // Not the greater of the two: a server that took over may have lost the last numbers.
    this.#knownChange = newestChange
    this.#hear(newestChange)
    await this.#renew(client)
  }

  async #renew(client: ClientBase): Promise<void> {
    const known = this.#knownChange
    if (this.#hasNews) {
      this.#hasNews = false
      await this.#events.catchUp(client)
    }
    const sentAt = performance.now()
    const newest = await renewLease(client, this.#id!, known)
    if (newest === undefined) throw new Error('the lease was taken away')
    if (newest > this.#knownChange) this.#hear(newest)
    this.#validUntil = sentAt + leaseMs
  }

  /** What is remembered may be from before the change. A change that is not yet numbered needs no confirmation. */
  #hear(change: number): void {
    this.#events.forget()
    this.#knownChange = Math.max(this.#knownChange, change)
    this.#hasNews = true
    this.#listener.wake()
  }

  #lose(): void {
    this.#validUntil = Number.NEGATIVE_INFINITY
    this.#events.forget()
  }

  /** First we trust nothing any more, then nobody waits for us any more. */
  async #giveUp(client: ClientBase): Promise<void> {
    this.#lose()
    await removeLease(client, this.#id!)
  }
}

const renewEveryMs = 400
const answerMs = 1_500
