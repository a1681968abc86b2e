import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { CopyAnswer } from '../../contract/documents.ts'
import { poll } from '../../waiting/poll.ts'
import { keptRoom } from '../kept-results.ts'
import {
  beginLoad,
  boundAnswers,
  finishUpload,
  isCancelled,
  keepAnswer,
  type LoadFlight,
  lockToCancel,
  lockUpload,
  refuseLoad,
  renewedWithinMs,
  renewLock,
  type UploadRecord,
  type UploadRefusal,
  unlockUpload,
} from './upload-store.ts'

/** Takes the lock of an upload, for which the request that has it ends. Undefined: it did not in time. */
export async function holdUpload(
  control: Pool,
  { id, state }: UploadRecord,
): Promise<HeldUpload | undefined> {
  const lock = randomUUID()
  const take = () => lockUpload(control, id, lock)
  const record = await poll(take, { everyMs: 100, timeoutMs: state === 'loading' ? loadMs : waitMs })
  return record && new HeldUpload(control, record, lock)
}

/** As `holdUpload`, and does not wait for a load: it has to be ended then. */
export async function holdToCancel(
  control: Pool,
  { id }: Pick<UploadRecord, 'id'>,
): Promise<HeldUpload | undefined> {
  const lock = randomUUID()
  const take = () => lockToCancel(control, id, lock)
  const record = await poll(take, { everyMs: 100, timeoutMs: waitMs })
  return record && new HeldUpload(control, record, lock)
}

const waitMs = 5_000
/** A load is not cut short: the next request gets its answer. */
const loadMs = 30_000

/**
 * An upload that one request writes to, and no other in any process. Renews its lock every second, and notes how much is on
 * the disk.
 */
export class HeldUpload {
  readonly record: UploadRecord
  readonly #control: Pool
  readonly #lock: string
  readonly #taken = new AbortController()
  readonly #timer: NodeJS.Timeout
  #renewedAt = performance.now()
  #isRenewing = false
  #isEnded = false
  #received: number
  #flush: (() => Promise<number>) | undefined

  constructor(control: Pool, record: UploadRecord, lock: string) {
    this.#control = control
    this.record = record
    this.#lock = lock
    this.#received = record.received
    this.#timer = setInterval(() => this.#renew(), renewMs)
  }

  /** Fires when another request wants the upload, or has it. */
  get taken(): AbortSignal {
    return this.#taken.signal
  }

  /** While bytes arrive: `flush` puts them on the disk and answers up to where. */
  countWith(flush: (() => Promise<number>) | undefined): void {
    this.#flush = flush
  }

  /** Up to here all bytes are on the disk. */
  count(received: number): void {
    this.#received = Math.max(this.#received, Math.min(received, this.record.length - 1))
  }

  /** False: the lock was lost. */
  beginLoad(flight: LoadFlight): Promise<boolean> {
    return beginLoad(this.#control, this.record.id, this.#lock, flight)
  }

  /** False: the lock was lost. */
  keepAnswer(answer: CopyAnswer): Promise<boolean> {
    return keepAnswer(this.#control, this.record.id, this.#lock, answer)
  }

  /** False: the lock was lost. */
  refuse(refusal: UploadRefusal): Promise<boolean> {
    return refuseLoad(this.#control, this.record.id, this.#lock, refusal)
  }

  /** A DELETE has the lock, or had it. */
  isCancelled(): Promise<boolean> {
    return isCancelled(this.#control, this.record.id)
  }

  async finish(): Promise<void> {
    this.#end()
    await finishUpload(this.#control, this.record.id, this.#lock)
    // The upload is finished even if this fails for older uploads: the next finish tries again.
    await boundAnswers(this.#control, this.record.id, keptRoom).catch(() => undefined)
  }

  async release(): Promise<void> {
    if (this.#isEnded) return
    this.#end()
    await unlockUpload(this.#control, this.record.id, this.#lock, this.#received)
  }

  #end(): void {
    this.#isEnded = true
    clearInterval(this.#timer)
  }

  async #renew(): Promise<void> {
    if (performance.now() - this.#renewedAt > renewedWithinMs) this.#taken.abort()
    if (this.#isRenewing) return
    this.#isRenewing = true
    const at = performance.now()
    try {
      if (this.#flush) this.count(await this.#flush())
      if (this.#isEnded) return
      const outcome = await renewLock(this.#control, this.record.id, this.#lock, this.#received)
      if (outcome === 'held') this.#renewedAt = at
      else this.#taken.abort()
    } catch {
      // The control database does not answer: the next turn tries again.
    } finally {
      this.#isRenewing = false
    }
  }
}

const renewMs = 1_000
