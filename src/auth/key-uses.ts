import type { Pool } from 'pg'
import type { Log } from '../log/log.ts'
import { removeOrphanUses, writeKeyUses } from './key-use-store.ts'

/**
 * Notes which keys are used. Requests only write to memory; every few seconds one statement stores what is new. A key
 * is stored again only minutes later, so its last use is known to within `storeEveryMs`.
 */
export class KeyUses {
  readonly #control: Pool
  readonly #log: Log
  /** When each key was used last, by the monotonic clock, if that is not stored yet. */
  readonly #used = new Map<number, number>()
  /** When this process stored each key last. */
  readonly #stored = new Map<number, number>()
  #timers: readonly NodeJS.Timeout[] = []
  #flushing: Promise<void> = Promise.resolve()

  constructor(control: Pool, log: Log) {
    this.#control = control
    this.#log = log
  }

  start(): void {
    this.#timers = [
      setInterval(() => void this.flush(), flushMs).unref(),
      setInterval(() => void this.clean(), cleanMs).unref(),
    ]
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.flush(0)
  }

  note(keyId: number): void {
    this.#used.set(keyId, performance.now())
  }

  /** Stores the uses of keys that were not stored for `everyMs`. */
  flush(everyMs = storeEveryMs): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#write(everyMs))
    return this.#flushing
  }

  async #write(everyMs: number): Promise<void> {
    const now = performance.now()
    for (const [id, at] of this.#stored) if (now - at >= storeEveryMs) this.#stored.delete(id)
    const due = [...this.#used].filter(([id]) => now - (this.#stored.get(id) ?? -everyMs) >= everyMs)
    if (due.length === 0) return
    for (const [id] of due) {
      this.#used.delete(id)
      this.#stored.set(id, now)
    }
    const uses = due.map(([keyId, at]) => ({ keyId, agoMs: now - at }))
    try {
      await writeKeyUses(this.#control, uses)
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot store when keys were used')
      this.#putBack(due)
    }
  }

  /** For the next flush. A later use has been noted meanwhile perhaps. */
  #putBack(due: readonly (readonly [id: number, at: number])[]): void {
    for (const [id, at] of due) {
      if (!this.#used.has(id)) this.#used.set(id, at)
      this.#stored.delete(id)
    }
  }

  /** Keys are deleted without their uses. */
  async clean(): Promise<void> {
    await removeOrphanUses(this.#control).catch((error: unknown) =>
      this.#log.warn({ err: error }, 'cannot remove the uses of deleted keys'),
    )
  }
}

const flushMs = 5_000
const cleanMs = 3_600_000
const storeEveryMs = 300_000
