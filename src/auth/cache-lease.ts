import type { ClientBase } from 'pg'
import type { Log } from '../log/log.ts'
import type { ControlPool } from '../postgres/control/control-pool.ts'
import { Listener } from '../postgres/control/listener.ts'
import { changeChannel, registerLease, removeLease, renewLease, showPresence } from './lease-store.ts'

/**
 * Term of a lease, from the moment a renewal was sent, by the process's own monotonic clock. The same for all
 * processes: a change waits this long at most for every lease to expire.
 */
export const leaseMs = 1_500

export type LeaseEvents = Readonly<{
  /** Clears the cache. */
  forget: () => void
  /** Loads, on this connection, what every process must know before a change is answered. */
  catchUp: (client: ClientBase) => Promise<void>
  /** Messages to every process that has a lease, by channel. */
  others?: ReadonlyMap<string, (payload: string) => void>
}>

/**
 * A process's lease on its cache of accounts and keys. It is renewed on the connection that receives change
 * notifications, so the cache is stale for at most one term after that connection is lost. Each renewal returns the
 * number of the newest change and confirms the known ones. Once this process has confirmed a change, the writer of the
 * change no longer waits for this lease to expire.
 */
export class CacheLease {
  readonly #events: LeaseEvents
  readonly #listener: Listener
  #id: string | undefined
  #validUntil = Number.NEGATIVE_INFINITY
  /** Nothing in the cache is older than this change. */
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
      ...(events.others && { others: events.others }),
      onRound: (client) => this.#renew(client),
      onLost: () => this.#lose(),
      onStop: (client) => this.#giveUp(client),
    })
  }

  /** Check at every use: after a suspended process wakes, its lease has expired. */
  get isValid(): boolean {
    return performance.now() < this.#validUntil
  }

  /** Tries to get a lease, and keeps retrying in the background until stopped. */
  async start(): Promise<void> {
    await this.#listener.listen().catch(() => undefined)
  }

  stop(): Promise<void> {
    return this.#listener.stop()
  }

  async #register(client: ClientBase): Promise<void> {
    await showPresence(client)
    const { id, newestChange } = await registerLease(client, this.#id)
    // Losing the tail of the WAL can only make this lease look further behind than it is.
    await client.query('set synchronous_commit = off')
    this.#id = id
    // Not the maximum: after a fail-over the sequence may have lost its last numbers.
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

  /** The cache may be older than the change. An unnumbered change needs no confirmation. */
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

  /** First stop trusting the cache, then remove the lease, so that no change waits for it. */
  async #giveUp(client: ClientBase): Promise<void> {
    this.#lose()
    await removeLease(client, this.#id!)
  }
}

const renewEveryMs = 400
const answerMs = 1_500
