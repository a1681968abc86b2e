import { computed, signal } from '@preact/signals'
import type { JobDocument } from '../../src/client/documents.ts'
import type { ImportStatements } from '../../src/client/import/import-plan.ts'
import { UnreachableError } from '../api/api-error.ts'
import { refreshCatalog } from '../api/catalog.ts'
import { waitForService } from '../api/connection.ts'
import { startJob, watchJob } from '../api/jobs.ts'
import { request } from '../api/request.ts'
import { session } from '../api/session.ts'
import { readSql } from '../api/sql.ts'
import { tell } from '../parts/live.tsx'
import { sendFile } from './send-file.ts'

export type ImportStep = 'create' | 'send' | 'after' | 'done' | 'failed' | 'cancelled'

type Sent = Readonly<{ bytes: number; atMs: number }>

/** One import on its way: the table, its rows, what comes after them. All of it, or nothing is left. */
export class ImportRun {
  readonly step = signal<ImportStep>('create')
  /** Where it was when it failed. */
  readonly failedAt = signal<ImportStep>('create')
  readonly error = signal<unknown>(undefined)
  readonly sent = signal<Sent>({ bytes: 0, atMs: 0 })
  readonly rows = signal<number | undefined>(undefined)
  readonly job = signal<JobDocument | undefined>(undefined)
  /** Whether a new table could not be taken away again, and why. */
  readonly leftOver = signal<unknown>(undefined)
  readonly isOver = computed(() => ['done', 'failed', 'cancelled'].includes(this.step.value))
  readonly totalBytes: number
  readonly #statements: ImportStatements
  readonly #body: Blob
  readonly #isGzip: boolean
  readonly #cancelled = new AbortController()
  #isCreated = false

  constructor(statements: ImportStatements, body: Blob, isGzip: boolean) {
    this.#statements = statements
    this.#body = body
    this.#isGzip = isGzip
    this.totalBytes = body.size
    void this.#run()
  }

  /** Until the rows are stored; what comes after them is a job, and has its own Cancel. */
  cancel(): void {
    this.#cancelled.abort()
  }

  async #run(): Promise<void> {
    addEventListener('pagehide', this.#leave)
    try {
      await this.#create()
      await this.#send()
    } catch (error) {
      await this.#giveUp(error)
      return
    } finally {
      removeEventListener('pagehide', this.#leave)
    }
    try {
      this.step.value = 'after'
      await this.#finish()
      this.step.value = 'done'
      tell('The upload is complete')
    } catch (error) {
      this.#fail(error)
    }
    void refreshCatalog()
  }

  async #create(): Promise<void> {
    const { create } = this.#statements
    if (create === undefined) return
    // Not to be cut: then nobody would know whether the table is there.
    await readSql(create)
    this.#isCreated = true
    this.#cancelled.signal.throwIfAborted()
  }

  async #send(): Promise<void> {
    const begin = performance.now()
    this.step.value = 'send'
    const { total_rows } = await sendFile({
      statement: this.#statements.copy,
      body: this.#body,
      isGzip: this.#isGzip,
      signal: this.#cancelled.signal,
      onProgress: (bytes) => {
        this.sent.value = { bytes, atMs: performance.now() - begin }
      },
    })
    this.rows.value = total_rows
  }

  /** As a job, which may take its time; another key than Master has no jobs, and the time of a request. */
  async #finish(): Promise<void> {
    const { after } = this.#statements
    if (!session.value?.isMaster) {
      for (const statement of after) await readSql(statement)
      return
    }
    const { job_id } = await startJob(after)
    const job = await watchJob(job_id, new AbortController().signal, (seen) => {
      this.job.value = seen
    })
    if (job.status !== 'done') throw new Error(job.failed_reason ?? `The job is ${job.status}.`)
  }

  async #giveUp(error: unknown): Promise<void> {
    await this.#takeBack().catch((reason: unknown) => {
      this.leftOver.value = reason
    })
    if (this.#cancelled.signal.aborted) this.step.value = 'cancelled'
    else this.#fail(error)
  }

  /** The page goes away, and the COPY with it. */
  readonly #leave = (): void => {
    const { dropEmpty } = this.#statements
    if (!this.#isCreated || dropEmpty === undefined) return
    void request('query', { json: { q: dropEmpty }, outlivesPage: true }).catch(() => undefined)
  }

  #fail(error: unknown): void {
    this.failedAt.value = this.step.value
    this.error.value = error
    this.step.value = 'failed'
  }

  /** Also where nobody knows how the COPY ended: then the table goes with its rows. */
  async #takeBack(): Promise<void> {
    const { drop } = this.#statements
    if (!this.#isCreated || drop === undefined) return
    await readSql(drop).catch(async (error: unknown) => {
      if (!(error instanceof UnreachableError)) throw error
      await waitForService()
      await readSql(drop)
    })
  }
}
