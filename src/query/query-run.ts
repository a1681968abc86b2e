import type { Writable } from 'node:stream'
import { AppError, errors } from '../errors.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { isUnconfirmed, type WireError } from '../postgres/wire/wire-error.ts'
import type { WireOutcome } from '../postgres/wire/wire-handler.ts'
import type { RunHandler, StatementRun } from '../statements/statement-run.ts'
import type { ClientWait } from '../statements/time-limits.ts'
import { databaseError } from './database-error.ts'
import { Notices } from './notices.ts'
import { evadesTriggers } from './past-triggers.ts'
import { messagesOf, type PreparedStatement } from './prepare-statement.ts'
import { ByteWriter, giveBackChunk } from './rows/byte-writer.ts'
import { type Column, type ColumnLists, hiddenColumns, shownColumns } from './rows/columns.ts'
import type { Field, PageTotal, RowFormat } from './rows/row-format.ts'
import { SteppedRow } from './rows/stepped-row.ts'
import type { TypeNames } from './type-names.ts'

/** The body of a short answer in Latin-1, one character per byte. Null if it was longer and has been written. */
export type ShortAnswer = string | null

/** Where a long answer is written, and the clock that cuts a client that stops reading it. */
export type AnswerTarget = Readonly<{ sink: Writable; wait: ClientWait }>

export type QueryRunOptions = Readonly<{
  statement: PreparedStatement
  /** The encoded text. */
  encoded: string | Buffer
  /** Maps parameter types to values; undefined without parameters. */
  bind: ((types: readonly number[]) => readonly (string | null)[]) | undefined
  format: RowFormat
  /** Where a longer answer is written. Called once, with the first chunk: until then an error can still be answered. */
  open: () => AnswerTarget
  skippedFields: ReadonlySet<string>
  columnLists: ColumnLists
  typeNames: TypeNames
  maxRowBytes: number
  /** The rows on all pages, if that was asked for. */
  total: PageTotal | undefined
  /** Checks what a caller with a key created without event triggers. */
  checkMade: (() => Promise<void>) | undefined
  /** Called before `open` with what the answer leaves out. */
  warn?: ((sentence: string) => void) | undefined
  /** Called with each notice that the summary will have. */
  onNotice?: ((notice: WireError) => void) | undefined
}>

/**
 * One running text: rows become bytes as they arrive. Nothing is sent until the first chunk is full, so that an error
 * of a short query is an error of the request; after that an error breaks the stream. The session is released when the
 * text has been answered.
 */
export class QueryRun implements RunHandler {
  /** Settles when everything is written. On an error, the caller must break off the answer. */
  readonly answer: Promise<ShortAnswer>
  readonly longestRow: number
  readonly #run: StatementRun
  readonly #options: QueryRunOptions
  readonly #out: ByteWriter
  readonly #notices = new Notices()
  #settle!: { resolve: (answer: ShortAnswer) => void; reject: (error: unknown) => void }
  #columns: readonly Column[] = []
  #totalRows = 0
  #target: AnswerTarget | null = null
  /** Chunks in flight to the client. */
  #unsent = 0
  #longRow: SteppedRow | null = null
  /** Rows came since the last flush. */
  #hasNewRows = false
  /** The client is slower than the server. */
  #isHeldBack = false
  /** Discard further data from the wire. */
  #isDropping = false
  /** The answer is not whole, or not allowed: even a statement that completes fails. */
  #isSpoilt = false
  /** Committed here, but not confirmed by a replica. */
  #isUnconfirmed = false
  /** Why the statement did not run: its values do not fit. */
  #refusal: unknown = null
  #evadedTriggers = false
  /** The answer waits for type names that only the database knows, or for the check of created objects. */
  #isUnconcluded = false

  constructor(run: StatementRun, options: QueryRunOptions) {
    this.#run = run
    this.#options = options
    this.longestRow = options.maxRowBytes
    this.#out = new ByteWriter((chunk) => this.#send(chunk))
    this.answer = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    options.format.begin(
      this.#out,
      (reason) => this.#refuse(reason),
      (sentence) => this.#warn(sentence),
    )
    const bind = options.bind && ((types: readonly number[]) => this.#bind(types))
    run
      .send(messagesOf(options.encoded, bind, run.cleaning), this)
      .then(() => this.#release())
      .catch((error: unknown) => this.#lose(error))
  }

  /** At the time limit, rows are still sent if the client takes them: the statement may complete. */
  stopped(): void {
    this.#isDropping = !this.#run.isTimedOut || this.#isHeldBack || this.#longRow !== null
    this.#target?.wait.end()
    this.#goOn()
  }

  rowDescription(buffer: Buffer, start: number, end: number): void {
    if (this.#drops()) return
    const columns = this.#options.columnLists.read(buffer, start, end)
    if (columns.length > 0) this.#columns = columns
    this.#options.format.columns(this.#out, columns)
  }

  dataRow(buffer: Buffer, start: number, end: number): void {
    this.#hasNewRows = true
    if (this.#drops()) return
    const { format } = this.#options
    if (end - start <= longRowBytes) format.row(this.#out, buffer, start, end)
    else this.#writeInSteps(format.longRow(this.#out, buffer, start))
  }

  /** Only rows count as progress: a loop could send notices for ever. */
  flush(): void {
    if (!this.#hasNewRows) return
    this.#hasNewRows = false
    this.#run.flowed()
  }

  rowTooLong(): void {
    this.#refuse(errors.rowTooLarge(this.longestRow))
  }

  commandComplete(tag: string): void {
    const count = Number(tag.slice(tag.lastIndexOf(' ') + 1))
    if (!Number.isNaN(count)) this.#totalRows = count
    else if (this.#options.checkMade && evadesTriggers(tag)) this.#evadedTriggers = true
  }

  notice(notice: WireError): void {
    this.#isUnconfirmed ||= isUnconfirmed(notice)
    if (this.#notices.add(notice)) this.#options.onNotice?.(notice)
  }

  copyOut(): void {
    this.#refuse(errors.copyElsewhere())
  }

  copyIn(): void {
    this.#refuse(errors.copyElsewhere())
  }

  parameterStatus(name: string, value: string): void {
    if (name === 'client_encoding' && value !== 'UTF8') this.#refuse(errors.clientEncodingFixed())
    // The next text would mean something else to PostgreSQL than to the check of its statements.
    if (name === 'standard_conforming_strings' && value !== 'on' && this.#run.isKept)
      this.#refuse(errors.settingFixed(name, 'on'))
  }

  answered(outcome: WireOutcome): void {
    if (this.#run.isOver) return
    this.#run.end()
    const failure = this.#refusal ?? this.#failureOf(outcome)
    if (failure) this.#fail(failure)
    else this.#finish()
  }

  /** The statement's outcome takes precedence over the reason to stop it. */
  #failureOf({ error, transactionStatus }: WireOutcome): AppError | undefined {
    const { session, stopReason, isTimedOut, overTime, isKept, isReadOnly } = this.#run
    if (error) {
      const isStopped = stopReason && !(isTimedOut && error.sqlstate !== sqlstate.queryCanceled)
      if (isStopped) return stopReason
      return session.endReason ?? databaseError(error, this.#options.statement, { overTime, isReadOnly })
    }
    if (this.#isUnconfirmed) return errors.statementOutcomeUnknown(undefined)
    if (transactionStatus !== 'I' && !isKept && !isReadOnly) return stopReason ?? errors.transactionOpen()
    return stopReason && this.#isSpoilt ? completed(stopReason) : undefined
  }

  /** Stops a statement whose answer cannot be given. */
  #refuse(reason: AppError): void {
    this.#isSpoilt = true
    this.#run.stop(reason)
  }

  #drops(): boolean {
    this.#isSpoilt ||= this.#isDropping
    return this.#isDropping
  }

  #bind(types: readonly number[]): readonly (string | null)[] | null {
    if (this.#run.stopReason) {
      this.#refusal = this.#run.stopReason
      return null
    }
    try {
      return this.#options.bind!(types)
    } catch (error) {
      this.#refusal = error
      return null
    }
  }

  /** A warning stands before the rows: too late for one is too late for the answer. */
  #warn(sentence: string): void {
    if (this.#target) this.#refuse(errors.badRequest(sentence))
    else this.#options.warn?.(sentence)
  }

  #send(chunk: Buffer): void {
    this.#target ??= this.#options.open()
    this.#unsent += 1
    this.#target.sink.write(chunk, (error) => this.#sent(chunk, error))
    if (this.#unsent < mostUnsent || this.#isHeldBack) return
    // A server blocked by backpressure does not see the cancel.
    if (this.#run.stopReason) this.#isDropping = true
    if (this.#isDropping) return
    this.#isHeldBack = true
    if (this.#run.isOver) return
    this.#run.wire.pause()
    this.#target.wait.begin(() => this.#refuse(errors.clientLeft()))
  }

  #sent(chunk: Buffer, error: Error | null | undefined): void {
    // After an error it is unknown which chunks are still being sent.
    if (!error) giveBackChunk(chunk)
    this.#unsent -= 1
    if (!this.#isHeldBack || this.#unsent >= mostUnsent) return
    this.#isHeldBack = false
    // After the statement has ended, the connection may be in use elsewhere.
    if (this.#run.isOver) return
    this.#target?.wait.end()
    if (this.#longRow) setImmediate(this.#longRow.goOn)
    else {
      this.#run.flowed()
      this.#run.wire.resume()
    }
  }

  /** Nothing more is read from the wire until the row is written. */
  #writeInSteps(steps: Generator<void>): void {
    this.#run.wire.hold()
    this.#longRow = new SteppedRow(
      steps,
      () => this.#isHeldBack,
      (error) => (error === undefined ? this.#goOn() : this.#break(error)),
    )
    this.#longRow.goOn()
  }

  /** Reads on; drops the rest of a long row. */
  #goOn(): void {
    if (this.#longRow) {
      this.#isSpoilt ||= this.#isDropping
      this.#longRow.drop()
      this.#longRow = null
      this.#run.flowed()
      this.#run.wire.goOn()
    } else this.#run.wire.resume()
  }

  #break(error: unknown): void {
    this.#fail(error)
    this.#run.session.destroy()
  }

  #finish(): void {
    const { format, typeNames } = this.#options
    const hidden = hiddenColumns(this.#columns)
    if (hidden !== undefined) this.#notices.add({ severity: 'WARNING', message: hidden })
    const fields = format.hasFields ? typeNames.describe(this.#run.session.target, this.#shownColumns()) : []
    if (fields && !this.#evadedTriggers) this.#conclude(fields)
    else this.#isUnconcluded = true
  }

  #conclude(fields: readonly Field[]): void {
    try {
      this.#end(fields)
    } catch (error) {
      // The last rows cannot be written in this format.
      this.#fail(error)
    }
  }

  #end(fields: readonly Field[]): void {
    this.#options.format.end(this.#out, {
      seconds: Math.round(this.#run.elapsedMs) / 1000,
      fields,
      totalRows: this.#totalRows,
      total: this.#options.total,
      notices: this.#notices.byKind,
    })
    const rest = this.#out.finish()
    this.#target?.sink.end(rest, 'latin1')
    this.#settle.resolve(this.#target ? null : rest)
  }

  #shownColumns(): readonly Column[] {
    return shownColumns(this.#columns, this.#options.skippedFields)
  }

  /** The wire is idle. */
  #release(): void | Promise<void> {
    const { session } = this.#run
    const [, ...cleaning] = this.#run.wire.outcomes
    if (cleaning.length > 0 && cleaning.every(({ error }) => error === null)) session.noteClean()
    return this.#evadedTriggers || this.#isUnconcluded
      ? this.#concludeLate().finally(() => this.#run.release())
      : this.#run.release()
  }

  async #concludeLate(): Promise<void> {
    if (this.#evadedTriggers) await this.#options.checkMade?.()
    if (!this.#isUnconcluded) return
    this.#conclude(await this.#options.typeNames.lookUp(this.#run.session, this.#shownColumns()))
  }

  /** The connection is lost, or there is a bug. */
  #lose(error: unknown): void {
    this.#run.end()
    this.#longRow?.drop()
    // Without a final answer from the server the statement may have been applied: a client must not retry it blindly.
    const isUnknown = this.#isUnconfirmed || hasSqlstate(error, sqlstate.connectionFailure)
    const { endReason } = this.#run.session
    this.#fail(
      endReason ?? (isUnknown ? errors.statementOutcomeUnknown(error) : (this.#run.stopReason ?? error)),
    )
    void this.#options.checkMade?.()
  }

  #fail(error: unknown): void {
    this.#out.finish()
    this.#settle.reject(error)
  }
}

/** How many chunks may wait for a slow client before the server is paused: the result of one or two reads. */
const mostUnsent = 8
/** A longer row is also longer than any read. */
const longRowBytes = 1024 ** 2

/** The answer exceeded a limit, but the statement had already completed. */
export function completed({ code, kind, message, extras }: AppError): AppError {
  const detail = 'The statement itself has completed: what it wrote is stored'
  return new AppError(code, kind, message, { ...extras, detail })
}
