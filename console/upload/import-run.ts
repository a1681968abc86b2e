import { computed, signal } from '@preact/signals'
import type { JobDocument } from '../../src/contract/documents.ts'
import type { ErrorCode } from '../../src/contract/error-codes.ts'
import type { ImportStatements } from '../../src/file-import/import-plan.ts'
import { ApiError, UnreachableError } from '../api/api-error.ts'
import { refreshCatalog } from '../api/catalog.ts'
import { waitForService } from '../api/connection.ts'
import { startJob, watchJob } from '../api/jobs.ts'
import { session } from '../api/session.ts'
import { readRows, readSql } from '../api/sql.ts'
import { tell } from '../parts/live.tsx'
import { sendFile } from './send-file.ts'

export type ImportStep = 'check' | 'send' | 'after' | 'done' | 'failed' | 'cancelled'

type Sent = Readonly<{ bytes: number; atMs: number }>

/** One import: creates the table with its rows in one transaction, then runs the steps after it. */
export class ImportRun {
  readonly step = signal<ImportStep>('check')
  /** The step that failed. */
  readonly failedAt = signal<ImportStep>('check')
  readonly error = signal<unknown>(undefined)
  readonly sent = signal<Sent>({ bytes: 0, atMs: 0 })
  readonly rows = signal<number | undefined>(undefined)
  readonly job = signal<JobDocument | undefined>(undefined)
  /** It is unknown whether the rows are stored. */
  readonly isInDoubt = signal(false)
  readonly isOver = computed(() => ['done', 'failed', 'cancelled'].includes(this.step.value))
  readonly totalBytes: number
  readonly #statements: ImportStatements
  readonly #body: Blob
  readonly #isGzip: boolean
  readonly #cancelled = new AbortController()

  constructor(statements: ImportStatements, body: Blob, isGzip: boolean) {
    this.#statements = statements
    this.#body = body
    this.#isGzip = isGzip
    this.totalBytes = body.size
    void this.#run()
  }

  /** Works until the rows are stored. The job after that can be cancelled on its own page. */
  cancel(): void {
    this.#cancelled.abort()
  }

  async #run(): Promise<void> {
    try {
      await this.#check()
      await this.#send()
    } catch (error) {
      if (this.#cancelled.signal.aborted && !this.isInDoubt.value) this.step.value = 'cancelled'
      else this.#fail(error)
      return
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

  /** Finds errors before the file is sent: browsers read an answer only after the whole body is sent. */
  async #check(): Promise<void> {
    const { tryCreate } = this.#statements
    if (tryCreate !== undefined) await readSql(tryCreate, { signal: this.#cancelled.signal })
  }

  async #send(): Promise<void> {
    const begin = performance.now()
    this.step.value = 'send'
    const sent = sendFile({
      sql: this.#statements,
      body: this.#body,
      isGzip: this.#isGzip,
      signal: this.#cancelled.signal,
      onProgress: (bytes) => {
        this.sent.value = { bytes, atMs: performance.now() - begin }
      },
    })
    this.rows.value = await sent.then(
      ({ total_rows }) => total_rows,
      (error: unknown) => this.#rowsAfter(error),
    )
  }

  /** After a refusal nothing is stored. Without an answer, a new table tells: if it exists, so do its rows. */
  async #rowsAfter(error: unknown): Promise<number> {
    const { tryCreate, count } = this.#statements
    if (isRefusal(error)) throw error
    const isWholeSent = this.sent.value.bytes >= this.totalBytes
    this.isInDoubt.value = tryCreate !== undefined || isWholeSent || !this.#cancelled.signal.aborted
    if (tryCreate === undefined) throw error
    const rows = await countRows(tryCreate, count).catch(() => {
      throw error
    })
    this.isInDoubt.value = false
    if (rows === undefined) throw error
    return rows
  }

  /** Runs the steps after the rows as a job; without the Master key, as requests. */
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
    if (job.status !== 'done') throw new Error(job.failed_reason ?? `Job ${job.status}.`)
  }

  #fail(error: unknown): void {
    this.failedAt.value = this.step.value
    this.error.value = error
    this.step.value = 'failed'
  }
}

/** An error with a code of the service stored nothing. An error of a proxy has no such code and proves nothing. */
const isRefusal = (error: unknown) =>
  error instanceof ApiError &&
  !tellsNothing.has(error.code) &&
  (error.status < 500 || error.code !== undefined)

/** Errors after which the rows may be stored. `request-repeated`: browsers repeat a request that got no answer on a kept-alive connection. */
const tellsNothing: ReadonlySet<string | undefined> = new Set<ErrorCode>([
  'copy-outcome-unknown',
  'request-repeated',
])

/** Undefined if the table does not exist. */
async function countRows(tryCreate: string, count: string): Promise<number | undefined> {
  try {
    await readSql(tryCreate).catch(async (error: unknown) => {
      if (!(error instanceof UnreachableError)) throw error
      await waitForService()
      await readSql(tryCreate)
    })
    return undefined
  } catch (error) {
    if (!isTableThere(error)) throw error
    const [counted] = await readRows<{ rows: number }>(count)
    return counted!.rows
  }
}

const isTableThere = (error: unknown) => error instanceof ApiError && error.sqlstate === duplicateTable
const duplicateTable = '42P07'
