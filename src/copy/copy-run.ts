import { type AppError, errors } from '../errors.ts'
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
  ): Promise<number> {
    this.#hasCommit = makesTable
    try {
      const rows = await this.#transfer(makesTable ? ['begin', text] : [text], handler)
      if (makesTable && rows > 0) await this.#commit()
      return rows
    } finally {
      await this.run.release()
    }
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

  #commit(): Promise<void> {
    this.#isStoring = true
    return this.#succeed(this.run.send('commit', { notice: this.#onNotice }))
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

/** Translates PostgreSQL's error in a COPY for the client. */
function copyError(error: WireError, overTime: AppError | null): AppError {
  if (isCancel(error)) return cancelError(error, overTime)
  if (error.sqlstate === sqlstate.quotaExceeded) return errors.quotaExceeded(error)
  return sqlError(error)
}
