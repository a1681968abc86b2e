import type { Pool } from 'pg'
import type { Log } from '../log/log.ts'
import { writeKeyUses } from './key-use-store.ts'

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
    await writeKeyUses(this.#control, uses).catch((error: unknown) =>
      this.#log.warn({ err: error }, 'cannot store when keys were used'),
    )
  }
}

const flushMs = 5_000
const storeEveryMs = 300_000
