import type { Pool } from 'pg'
import { type JobWrite, type Succession, type WriteResult, writeJobs } from '../jobs/write-jobs.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'

type Waiting = Readonly<{
  write: JobWrite
  resolve: (result: WriteResult) => void
  reject: (error: unknown) => void
}>

export type JobWriterOptions = Readonly<{
  control: Pool
  /** None: no job is wanted in the place of one that ends. */
  succession: () => Succession | undefined
  /** An answer was lost, and with it perhaps a job that we were given. */
  onDoubt: () => void
}>

/** Writes what becomes of the running jobs. What comes while one write is under way goes together into the next. */
export class JobWriter {
  readonly #options: JobWriterOptions
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(options: JobWriterOptions) {
    this.#options = options
  }

  write(write: JobWrite): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) await this.#writeTogether(this.#waiting.splice(0), false)
    this.#isWriting = false
  }

  /** Never rejects: each hears of its own write. */
  async #writeTogether(batch: readonly Waiting[], isPatient: boolean): Promise<void> {
    const { control, onDoubt } = this.#options
    const writes = batch.map(({ write }) => write)
    try {
      const results = await writeJobs(control, writes, { isPatient, succession: this.#options.succession() })
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      if (!isPatient && hasSqlstate(error, sqlstate.lockNotAvailable)) {
        // Somebody works on one of these jobs: it alone has to wait, and nobody with it.
        for (const one of batch) void this.#writeTogether([one], true)
        return
      }
      onDoubt()
      for (const { reject } of batch) reject(error)
    }
  }
}
