import { type AppError, errors } from '../errors.ts'
import { type Backend, findBackend } from '../postgres/end-backend.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import {
  cancelError,
  isCancel,
  isUnconfirmed,
  sqlError,
  toClientError,
  type WireError,
} from '../postgres/wire/wire-error.ts'
import type { WireOutcome } from '../postgres/wire/wire-handler.ts'
import type { CopyStatement } from '../sql/copy-statement.ts'
import type { RunHandler, StatementRun } from '../statements/statement-run.ts'

/** The two directions differ in what they do with the data. */
export type CopyHandler = Pick<RunHandler, 'copyData' | 'feedCopy' | 'copyDrained' | 'stopped'>

/** What became of one COPY among several. */
export type CopyAttempt = Readonly<{
  error: WireError | null
  /** Rows that COPY has read. */
  rows: number
  /** The numbers in the row that a statement after the COPY has answered. */
  numbers: readonly number[]
}>

/** The transaction of a load, by which PostgreSQL tells later what became of it. */
export type LoadTransaction = Backend & Readonly<{ xid: string }>

/** Keeps a record of a load, so that its outcome is known after any crash. What it throws ends the load. */
export type LoadRecord<Result> = Readonly<{
  /** The transaction is begun, and nothing is sent yet. */
  begun: (transaction: LoadTransaction) => Promise<void>
  /** The rows are sent, and not committed yet. */
  sent: (result: Result) => Promise<void>
}>

/** One COPY on one connection, from the statement to the server's final answer. */
export class CopyRun {
  readonly run: StatementRun
  /** Some of the data was not sent on. */
  hasDropped = false
  #isStoring = false
  #hasCommit = false
  #isDownload = false
  /** Stored here, but not confirmed by a replica. */
  #isUnconfirmed = false

  constructor(run: StatementRun) {
    this.run = run
  }

  /**
   * Resolves to the number of rows. By then the session has been released or destroyed. A table that the text creates
   * is committed with its rows; without rows it is not created.
   */
  async copy(
    { text, makesTable }: Pick<CopyStatement, 'text' | 'makesTable'>,
    handler: CopyHandler,
    record?: LoadRecord<number>,
  ): Promise<number> {
    this.#hasCommit = makesTable || record !== undefined
    try {
      if (record) await this.#begin(record)
      const rows = await this.#transfer(makesTable && !record ? ['begin', text] : [text], handler)
      if (this.#hasCommit && rows > 0) {
        await record?.sent(rows)
        await this.#commit()
      }
      return rows
    } finally {
      await this.run.release()
    }
  }

  /** Runs `work`, which sends COPYs with `attempt`, in one transaction, and commits it. */
  async inTransaction<T>(work: () => Promise<T>, record?: LoadRecord<T>): Promise<T> {
    this.#hasCommit = true
    try {
      if (record) await this.#begin(record)
      else {
        const begun = await this.attempt(['begin'], {})
        if (begun.error) this.refuse(begun.error)
      }
      const result = await work()
      await record?.sent(result)
      await this.#commit()
      return result
    } finally {
      await this.run.release()
    }
  }

  async #begin(record: Pick<LoadRecord<never>, 'begun'>): Promise<void> {
    const begun = await this.attempt(['begin', 'select pg_catalog.pg_current_xact_id()'], {})
    if (begun.error) this.refuse(begun.error)
    const { session, databases } = this.run
    const { hosts, admin } = databases
    const backend = await admin.use(adminTarget(hosts, session.target.hostId), (administrator) =>
      findBackend(administrator, session),
    )
    if (!backend) throw errors.databaseUnavailable()
    await record.begun({ ...backend, xid: String(begun.numbers[0]) })
    if (this.run.stopReason) throw this.run.stopReason
  }

  /** Sends texts of which only the last may be a COPY. An error of the server is returned, unless it ends the run. */
  async attempt(texts: readonly string[], handler: CopyHandler): Promise<CopyAttempt> {
    if (this.run.stopReason) throw this.run.stopReason
    let rows = 0
    let numbers: readonly number[] = []
    const { error } = await this.run
      .send(texts, {
        ...handler,
        stopped: () => {
          handler.stopped?.()
          this.onStopped?.()
        },
        notice: this.#onNotice,
        commandComplete: (tag) => {
          if (tag.startsWith('COPY ')) rows = Number(tag.slice(5))
        },
        dataRow: (buffer, start) => {
          numbers = numbersOf(buffer, start)
        },
      })
      .catch((lost: unknown) => this.#lost(lost))
    if (this.run.stopReason) throw this.run.stopReason
    return { error, rows, numbers }
  }

  /** Called when the run is stopped, also between two statements. */
  onStopped: (() => void) | undefined

  refusal(error: WireError): AppError {
    return this.run.session.endReason ?? copyError(error, this.run.overTime)
  }

  refuse(error: WireError): never {
    throw this.refusal(error)
  }

  /** The client has sent everything: the server may store it. */
  store(): void {
    this.#isStoring = !this.#hasCommit
    this.run.wire.finishCopy()
  }

  async #transfer(texts: readonly string[], handler: CopyHandler): Promise<number> {
    let rows: number | undefined
    const commandComplete = (tag: string) => {
      const copied = /^COPY (\d+)$/.exec(tag)
      if (copied) rows = Number(copied[1])
    }
    this.#isDownload = handler.copyData !== undefined
    await this.#succeed(this.run.send(texts, { ...handler, commandComplete, notice: this.#onNotice }))
    if (rows === undefined) return this.#refuseOtherAnswer()
    return rows
  }

  /** The server has answered, but no COPY: what was sent or stored is not known to be whole. */
  async #refuseOtherAnswer(): Promise<never> {
    await this.run.session.destroy()
    return this.#lost(errors.databaseUnavailable())
  }

  /** The COMMIT of a transaction that has failed succeeds, as a ROLLBACK. */
  async #commit(): Promise<void> {
    this.#isStoring = true
    let isCommitted = false
    const commandComplete = (tag: string) => {
      isCommitted = tag === 'COMMIT'
    }
    await this.#succeed(this.run.send('commit', { commandComplete, notice: this.#onNotice }))
    if (!isCommitted) throw errors.internal(new Error('the transaction of a load was rolled back'))
  }

  async #succeed(sent: Promise<WireOutcome>): Promise<void> {
    const { error } = await sent.catch((lost: unknown) => this.#lost(lost))
    if (!error && this.#isUnconfirmed) throw errors.copyOutcomeUnknown(undefined)
    // The server has stored the data, or sent all of it, even if a stop was requested meanwhile.
    if (!error && (this.#isStoring || (this.#isDownload && !this.hasDropped))) return
    const hasOwnEnd = this.run.isTimedOut && error && error.sqlstate !== sqlstate.queryCanceled
    if (this.run.stopReason && !hasOwnEnd) throw this.run.stopReason
    if (error) throw this.run.session.endReason ?? copyError(error, this.run.overTime)
  }

  readonly #onNotice = (notice: WireError): void => {
    this.#isUnconfirmed ||= isUnconfirmed(notice)
  }

  #lost(error: unknown): never {
    if (this.#isStoring || this.#isUnconfirmed) throw errors.copyOutcomeUnknown(error)
    throw this.run.failReason ?? toClientError(error)
  }
}

function numbersOf(row: Buffer, start: number): number[] {
  const numbers: number[] = []
  let at = start + 2
  for (let place = 0; place < row.readInt16BE(start); place += 1) {
    const length = row.readInt32BE(at)
    numbers.push(Number(row.toString('latin1', at + 4, at + 4 + Math.max(0, length))))
    at += 4 + Math.max(0, length)
  }
  return numbers
}

/** Translates PostgreSQL's error in a COPY for the client. */
function copyError(error: WireError, overTime: AppError | null): AppError {
  if (isCancel(error)) return cancelError(error, overTime)
  if (error.sqlstate === sqlstate.quotaExceeded) return errors.quotaExceeded(error)
  return sqlError(error)
}
