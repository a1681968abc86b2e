import { isConnectionLoss, sqlstateOf } from './sqlstate.ts'

type Waiting<Write, Result> = Readonly<{
  write: Write
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}>

/** Writes all of them in one transaction. If not patient, it fails where it would have to wait for long. */
export type WriteTogether<Write, Result> = (
  writes: readonly Write[],
  isPatient: boolean,
) => Promise<readonly Result[]>

/**
 * Gathers writes: what comes while some are under way goes into one transaction, with one flush to the disk. If that
 * fails, each is written alone: the one that has to wait for somebody, or has to fail, does so without the others.
 */
export class Together<Write, Result> {
  readonly #writeTogether: WriteTogether<Write, Result>
  #waiting: Waiting<Write, Result>[] = []
  #isWriting = false

  constructor(writeTogether: WriteTogether<Write, Result>) {
    this.#writeTogether = writeTogether
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
    while (this.#waiting.length > 0) await this.#settle(this.#waiting.splice(0, most), false)
    this.#isWriting = false
  }

  /** Never rejects: each hears of its own write. */
  async #settle(batch: readonly Waiting<Write, Result>[], isPatient: boolean): Promise<void> {
    try {
      const results = await this.#writeTogether(
        batch.map(({ write }) => write),
        isPatient,
      )
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      if (isPatient || isInDoubt(error)) for (const { reject } of batch) reject(error)
      else for (const one of batch) void this.#settle([one], true)
    }
  }
}

const most = 100

/** Whether it may have been written all the same; if not, PostgreSQL has refused it. */
export function isInDoubt(error: unknown): boolean {
  return isConnectionLoss(error) || !/^[0-9A-Z]{5}$/.test(sqlstateOf(error) ?? '')
}
