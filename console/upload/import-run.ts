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

/** One import on its way: the table with its rows, by one transaction, and what comes after them. */
export class ImportRun {
  readonly step = signal<ImportStep>('check')
  /** Where it was when it failed. */
  readonly failedAt = signal<ImportStep>('check')
  readonly error = signal<unknown>(undefined)
  readonly sent = signal<Sent>({ bytes: 0, atMs: 0 })
  readonly rows = signal<number | undefined>(undefined)
  readonly job = signal<JobDocument | undefined>(undefined)
  /** Nobody could tell whether the rows are stored. */
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

  /** Until the rows are stored; what comes after them is a job, and has its own Cancel. */
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

  /** Before the file is sent: browsers read a refusal only after all of it. */
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

  /** A refusal stored nothing. Where no answer came, a new table tells: if it is there, so are its rows. */
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

  #fail(error: unknown): void {
    this.failedAt.value = this.step.value
    this.error.value = error
    this.step.value = 'failed'
  }
}

/** Who says why has stored nothing; a proxy that lost the service knows nothing, and has no code of ours. */
const isRefusal = (error: unknown) =>
  error instanceof ApiError &&
  !tellsNothing.has(error.code) &&
  (error.status < 500 || error.code !== undefined)

/** The second: browsers send again what got no answer on a connection that they had kept. */
const tellsNothing: ReadonlySet<string | undefined> = new Set<ErrorCode>([
  'copy-outcome-unknown',
  'request-repeated',
])

/** Undefined: there is no such table. */
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
