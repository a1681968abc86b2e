import type { Pool } from 'pg'
import type { Log } from '../log/log.ts'
import { type FirstUse, recordFirstUses } from './audit-store.ts'

/**
 * Notes the first use of each key on each day in UTC, for the audit record. Requests only look into memory; every few
 * seconds one statement writes what is new. If another process was first, the database leaves the use out.
 */
export class AuditUses {
  readonly #control: Pool
  readonly #log: Log
  #day = 0
  /** The keys whose use on this day was noted. */
  readonly #noted = new Set<number>()
  readonly #waiting = new Map<number, FirstUse>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(control: Pool, log: Log) {
    this.#control = control
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), flushMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  /** `describe` is called only for the first use. */
  note(keyId: number, describe: () => Omit<FirstUse, 'keyId' | 'day'>): void {
    const day = Math.floor(Date.now() / dayMs)
    // A key that is forgotten costs no more than a statement that finds its use recorded.
    if (day !== this.#day || this.#noted.size >= mostNoted) this.#noted.clear()
    this.#day = day
    if (this.#noted.has(keyId)) return
    this.#noted.add(keyId)
    this.#waiting.set(keyId, { keyId, day: new Date(day * dayMs).toISOString().slice(0, 10), ...describe() })
  }

  /** Writes what was noted so far. What cannot be written waits for the next time. */
  flush(): Promise<void> {
    const uses = [...this.#waiting.values()]
    this.#waiting.clear()
    if (uses.length > 0) this.#flushing = this.#flushing.then(() => this.#write(uses))
    return this.#flushing
  }

  async #write(uses: readonly FirstUse[]): Promise<void> {
    try {
      await recordFirstUses(this.#control, uses)
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot record the use of keys')
      this.#putBack(uses)
    }
  }

  /** For the next flush. */
  #putBack(uses: readonly FirstUse[]): void {
    for (const use of uses) {
      if (this.#waiting.size < mostNoted && !this.#waiting.has(use.keyId)) this.#waiting.set(use.keyId, use)
    }
  }
}

const flushMs = 5_000
const dayMs = 86_400_000
const mostNoted = 100_000
