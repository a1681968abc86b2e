import { isConnectionLoss, sqlstateOf } from '../sqlstate.ts'

/** A caller that waits for its write, or only for the next group. */
type WaitingWrites<Write, Result> = Readonly<{
  writes: readonly Write[]
  resolve: (results: readonly Result[]) => void
  reject: (error: unknown) => void
}>

/** Writes all of them in one transaction. If not patient, it fails instead of waiting long. */
export type WriteGroup<Write, Result> = (
  writes: readonly Write[],
  isPatient: boolean,
) => Promise<readonly Result[]>

/**
 * Group commit: writes that arrive while others are in flight go into one transaction, with one flush to disk. If that
 * transaction is refused, each write is retried alone, so that only the one that must wait for a lock, or fail, does
 * so. A silent connection delays the next group only for a moment.
 */
export class GroupCommit<Write, Result> {
  readonly #writeGroup: WriteGroup<Write, Result>
  #waiting: WaitingWrites<Write, Result>[] = []
  #isWriting = false
  readonly #alone: WaitingWrites<Write, Result>[] = []
  #patient = 0
  readonly #unanswered = new Set<Promise<void>>()

  constructor(writeGroup: WriteGroup<Write, Result>) {
    this.#writeGroup = writeGroup
  }

  async write(write: Write): Promise<Result> {
    const [result] = await this.#join([write])
    return result!
  }

  /** Waits for a group, even one without writes: `writeGroup` may do more than write. */
  async flush(): Promise<void> {
    await this.#join([])
  }

  #join(writes: readonly Write[]): Promise<readonly Result[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ writes, resolve, reject })
      if (this.#isWriting) return
      this.#isWriting = true
      // Writes of the same turn of the event loop go into the same group.
      setImmediate(() => this.#writeAll())
    })
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const exchange = this.#settle(this.#waiting.splice(0, most), false)
      this.#unanswered.add(exchange)
      exchange.then(() => this.#unanswered.delete(exchange))
      await soon(exchange)
      if (this.#unanswered.size >= mostUnanswered) await Promise.race(this.#unanswered)
    }
    this.#isWriting = false
  }

  /** Never rejects: errors go to the waiting callers. */
  async #settle(batch: readonly WaitingWrites<Write, Result>[], isPatient: boolean): Promise<void> {
    try {
      const writes = batch.flatMap((each) => each.writes)
      const results = [...(await this.#writeGroup(writes, isPatient))]
      for (const each of batch) each.resolve(results.splice(0, each.writes.length))
    } catch (error) {
      if (isPatient || isInDoubt(error)) for (const { reject } of batch) reject(error)
      else this.#writeAlone(batch)
    }
  }

  /** A few at a time: writes that wait must not take every connection. */
  #writeAlone(batch: readonly WaitingWrites<Write, Result>[]): void {
    this.#alone.push(...batch)
    while (this.#alone.length > 0 && this.#patient < mostPatient) {
      this.#patient += 1
      void this.#settle([this.#alone.shift()!], true).then(() => {
        this.#patient -= 1
        this.#writeAlone([])
      })
    }
  }
}

const most = 100
const mostUnanswered = 2
const mostPatient = 4

/** Waits for an exchange, but not for a silent connection. */
async function soon(exchange: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, soonMs)
  })
  await Promise.race([exchange, late])
  clearTimeout(timer)
}

const soonMs = 1_000

/** True if a failed statement may have been committed all the same. False: PostgreSQL refused it. */
export function isInDoubt(error: unknown): boolean {
  return isConnectionLoss(error) || !/^[0-9A-Z]{5}$/.test(sqlstateOf(error) ?? '')
}
