import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Log } from '../log/log.ts'
import { settlesWithin } from '../waiting/settles-within.ts'
import {
  type AuditRecord,
  type AuditSink,
  claimSink,
  releaseSink,
  removeShipped,
  unshippedRecords,
} from './audit-store.ts'

/** Where records are shipped to. */
export type Destination = Readonly<{
  sink: AuditSink
  /** For the log. */
  address: string
  /** Fulfilled once the records are out of our hands. */
  send: (records: readonly AuditRecord[]) => Promise<void>
}>

/**
 * Ships the audit record, in the order of its ids. One process ships at a time. A record leaves its outbox after it was
 * sent: each is sent at least once. While nothing can be sent, the records wait in the database; nothing else does. No
 * connection is held meanwhile, as a disk or a network may hang.
 */
export class AuditShipper {
  readonly #control: Pool
  readonly #to: Destination
  readonly #log: Log
  readonly #claim = randomUUID()
  #timer: NodeJS.Timeout | undefined
  #shipping: Promise<void> | undefined
  #isFailing = false
  #isStopped = false

  constructor(control: Pool, to: Destination, log: Log) {
    this.#control = control
    this.#to = to
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), flushMs).unref()
  }

  /** Ships the last records of this process, but no more than a batch of a long queue. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#isStopped = true
    await this.#shipping
    await this.flush()
    await releaseSink(this.#control, this.#to.sink, this.#claim).catch(() => undefined)
  }

  /** Ships what waits. */
  flush(): Promise<void> {
    this.#shipping ??= this.#shipAll().finally(() => {
      this.#shipping = undefined
    })
    return this.#shipping
  }

  async #shipAll(): Promise<void> {
    const { address } = this.#to
    try {
      let shipped: number
      do {
        shipped = await this.#shipSome()
        if (shipped > 0 && this.#isFailing) this.#log.info({ address }, 'the audit record is shipped again')
        if (shipped > 0) this.#isFailing = false
      } while (shipped === batchRecords && !this.#isStopped)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Returns how many. */
  async #shipSome(): Promise<number> {
    const { sink, send } = this.#to
    if (!(await claimSink(this.#control, sink, this.#claim, claimMs))) return 0
    const records = await unshippedRecords(this.#control, sink, batchRecords)
    if (records.length === 0) return 0
    const sending = send(records)
    // A write to a disk that hangs cannot be given up: it may still happen. Another process takes over.
    if (!(await settlesWithin(sending, patienceMs))) this.#fail(new Error('it does not answer'))
    await sending
    const ids = records.map(({ id }) => id)
    await removeShipped(this.#control, sink, ids)
    return records.length
  }

  #fail(error: unknown): void {
    const { address } = this.#to
    if (!this.#isFailing) this.#log.error({ err: error, address }, 'cannot ship the audit record')
    this.#isFailing = true
  }
}

const flushMs = 5_000
/** Bounds the memory: a record has at most some ten thousand characters. */
const batchRecords = 100
const patienceMs = 10_000
/** Longer than a batch takes. */
const claimMs = 20_000
