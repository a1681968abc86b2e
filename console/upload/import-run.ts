import { computed, signal } from '@preact/signals'
import type { CopyAnswer, JobDocument } from '../../src/contract/documents.ts'
import {
  type ImportPlan,
  type ImportStatements,
  importStatements,
} from '../../src/file-import/import-plan.ts'
import { checkImport, ImportInDoubt, isOutcomeUnknown, storeRows } from '../../src/file-import/store-rows.ts'
import { ApiError } from '../api/api-error.ts'
import { noteCatalogChange } from '../api/catalog.ts'
import { waitForService } from '../api/connection.ts'
import { startJob, watchJob } from '../api/jobs.ts'
import { session } from '../api/session.ts'
import { changeBySql, readRows } from '../api/sql.ts'
import { tell } from '../parts/live.tsx'
import type { UploadBody } from './file-protocol.ts'
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
  /** The bytes that the service had when the connection was cut; the upload continues. */
  readonly cutAt = signal<number | undefined>(undefined)
  readonly rows = signal<number | undefined>(undefined)
  /** Lists the rows that were left out. */
  readonly answer = signal<CopyAnswer | undefined>(undefined)
  readonly job = signal<JobDocument | undefined>(undefined)
  /** Whether the rows are stored is unknown. */
  readonly isInDoubt = signal(false)
  readonly isOver = computed(() => ['done', 'failed', 'cancelled'].includes(this.step.value))
  /** The bytes to send, once they are made. */
  readonly upload = signal<UploadBody | undefined>(undefined)
  readonly #statements: ImportStatements
  readonly #plan: ImportPlan
  readonly #makeBody: () => Promise<UploadBody>
  readonly #cancelled = new AbortController()

  constructor(plan: ImportPlan, makeBody: () => Promise<UploadBody>) {
    this.#statements = importStatements(plan)
    this.#plan = plan
    this.#makeBody = makeBody
    void this.#run()
  }

  get totalBytes(): number {
    return this.upload.value?.body.size ?? 0
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
      const isInDoubt = error instanceof ImportInDoubt
      this.isInDoubt.value = isInDoubt
      if (this.#cancelled.signal.aborted && !isInDoubt) this.step.value = 'cancelled'
      else this.#fail(isInDoubt ? error.cause : error)
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
    noteCatalogChange()
  }

  /** Browsers read an answer only after the whole body is sent, so errors are searched before. */
  async #check(): Promise<void> {
    const sql = (text: string) => readRows(text, { signal: this.#cancelled.signal })
    await checkImport({ sql }, this.#statements)
    this.upload.value = await Promise.race([this.#makeBody(), rejectedBy(this.#cancelled.signal)])
  }

  async #send(): Promise<void> {
    const begin = performance.now()
    this.step.value = 'send'
    const { body, isGzip } = this.upload.value!
    const copy = async () => {
      const answer = await sendFile({
        sql: this.#statements,
        body,
        isGzip,
        skipsBad: this.#plan.sendsBad === true,
        merge: this.#plan.merge,
        signal: this.#cancelled.signal,
        onProgress: (bytes) => {
          this.sent.value = { bytes, atMs: performance.now() - begin }
          if (this.cutAt.value !== undefined && bytes > this.cutAt.value) this.cutAt.value = undefined
        },
        onCut: (bytes) => {
          this.sent.value = { bytes, atMs: performance.now() - begin }
          this.cutAt.value = bytes
        },
      })
      this.answer.value = answer
      return answer.total_rows
    }
    const isLost = (error: unknown) => this.#isLost(error)
    this.rows.value = await storeRows(
      { sql: readRows, copy, isLost, untilBack: waitForService },
      this.#statements,
    )
  }

  /** An upload cancelled before its end stored nothing. For a new table this is checked. */
  #isLost(error: unknown): boolean {
    if (error instanceof ApiError) return isOutcomeUnknown(error)
    const isWholeSent = this.sent.value.bytes >= this.totalBytes
    return this.#statements.create !== undefined || isWholeSent || !this.#cancelled.signal.aborted
  }

  /** Runs the steps after the rows as a job; without the Master key, as requests. */
  async #finish(): Promise<void> {
    const { after } = this.#statements
    if (!session.value?.isMaster) {
      for (const statement of after) await changeBySql(statement)
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

const rejectedBy = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
