import { isConnectionLoss, sqlstateOf } from './sqlstate.ts'

type Waiting<Write, Result> = Readonly<{
  write: Write
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}>

/** Writes all of them in one transaction. If not patient, it fails where it would have to wait for long. */
export type WriteGroup<Write, Result> = (
  writes: readonly Write[],
  isPatient: boolean,
) => Promise<readonly Result[]>

/**
 * Gathers writes: what comes while some are under way goes into one transaction, with one flush to the disk. If that
 * fails, each is written alone: the one that has to wait for somebody, or has to fail, does so without the others.
 * Those whose connection is silent hold up the next ones only for a moment.
 */
export class GroupCommit<Write, Result> {
  readonly #writeGroup: WriteGroup<Write, Result>
  #waiting: Waiting<Write, Result>[] = []
  #isWriting = false
  readonly #alone: Waiting<Write, Result>[] = []
  #patient = 0
  readonly #unanswered = new Set<Promise<void>>()

  constructor(writeGroup: WriteGroup<Write, Result>) {
    this.#writeGroup = writeGroup
  }

  write(write: Write): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject })
      if (this.#isWriting) return
      this.#isWriting = true
      // Whatever else has arrived at the same time comes along.
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

  /** Never rejects: each hears of its own write. */
  async #settle(batch: readonly Waiting<Write, Result>[], isPatient: boolean): Promise<void> {
    try {
      const results = await this.#writeGroup(
        batch.map(({ write }) => write),
        isPatient,
      )
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      if (isPatient || isInDoubt(error)) for (const { reject } of batch) reject(error)
      else this.#writeAlone(batch)
    }
  }

  /** Some at a time: those that have to wait must not take every connection. */
  #writeAlone(batch: readonly Waiting<Write, Result>[]): void {
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

/** Whether it may have been written all the same; if not, PostgreSQL has refused it. */
export function isInDoubt(error: unknown): boolean {
  return isConnectionLoss(error) || !/^[0-9A-Z]{5}$/.test(sqlstateOf(error) ?? '')
}
