import { AppError } from '../../errors.ts'
import { sqlstate } from '../../postgres/sqlstate.ts'
import type { WireError } from '../../postgres/wire/wire-error.ts'
import type { CopyDialect } from '../../sql/copy-load.ts'
import type { CopyAttempt, CopyRun } from '../copy-run.ts'
import { type FoundRecord, type Part, recordsOf } from './part-reader.ts'
import { aboutLine, copyLineOf, type RejectedRows } from './rejected-rows.ts'

/** The connection that parts are sent on. */
export type PartCopies = Pick<CopyRun, 'attempt' | 'refuse' | 'refusal'> &
  Readonly<{ run: Readonly<{ wire: Pick<CopyRun['run']['wire'], 'sendCopyData' | 'finishCopy'> }> }>

type PartLoaderOptions = Readonly<{
  /** The COPY, and what is to be done with its rows. */
  text: string
  dialect: CopyDialect
  header: () => Buffer
  rejected: RejectedRows
  /** The error in the words of the caller's table. */
  name: (error: WireError) => WireError
  /** A part is stored. */
  onStored: (attempt: CopyAttempt) => void
  /** The COPY has one column more, the first: it gets the line of the row. */
  numbering?: LineNumbering | undefined
}>

/** `linesBefore`: are added to the line in the data. */
export type LineNumbering = Readonly<{ delimiter: string; linesBefore: number }>

/**
 * Loads parts of a file in one transaction, each under a savepoint. Where PostgreSQL refuses a row, the rows before it are
 * loaded again without it, and those after it for the first time. If the error does not name a row, as that of a foreign
 * key, the part is halved until one is left.
 */
export class PartLoader {
  readonly #copy: PartCopies
  readonly #options: PartLoaderOptions
  #savepoint: 'none' | 'set' | 'failed' = 'none'
  /** How much is sent at once: less after an error, as bad rows often stand together. */
  #stepBytes = Number.POSITIVE_INFINITY

  constructor(copy: PartCopies, options: PartLoaderOptions) {
    this.#copy = copy
    this.#options = options
  }

  /** Has PostgreSQL check the statement before any data is read. */
  async probe(): Promise<void> {
    const attempt = await this.#send(null)
    if (attempt.error) this.#copy.refuse(attempt.error)
    this.#options.onStored(attempt)
  }

  async load(part: Part): Promise<void> {
    const { dialect, header } = this.#options
    if (part.isOpen) return this.#reject(part, { line: part.linesBefore + 1 }, openQuote)
    const todo: Part[] = [part]
    for (let next = todo.pop(); next; next = todo.pop()) {
      if (next.bytes.length > this.#stepBytes) {
        todo.push(...halves(next, recordsOf(next, header(), dialect), this.#stepBytes).reverse())
        next = todo.pop()!
      }
      const attempt = await this.#send(next)
      if (attempt.error) todo.push(...this.#withoutBadRow(next, attempt.error).reverse())
      else {
        this.#options.onStored(attempt)
        this.#stepBytes *= 2
      }
    }
  }

  /** After the last part: the transaction can be committed. */
  async finish(): Promise<void> {
    if (this.#savepoint === 'failed') await this.#copy.attempt([this.#begin()], {})
  }

  async #send(part: Part | null): Promise<CopyAttempt> {
    const { text, header } = this.#options
    const wire = () => this.#copy.run.wire
    const feedCopy = () => {
      if (part) {
        const first = header()
        if (first.length > 0) wire().sendCopyData(first, ignore)
        wire().sendCopyData(this.#toSend(part), ignore)
      }
      wire().finishCopy()
    }
    const { error, ...attempt } = await this.#copy.attempt([this.#begin(), text], { feedCopy })
    this.#savepoint = error ? 'failed' : 'set'
    return { ...attempt, error: error && this.#options.name(error) }
  }

  #toSend(part: Part): Buffer {
    const { numbering, dialect, header } = this.#options
    return numbering ? numbered(part, recordsOf(part, header(), dialect), numbering) : part.bytes
  }

  #begin(): string {
    if (this.#savepoint === 'failed') return `rollback to savepoint ${savepoint}`
    return this.#savepoint === 'none'
      ? `savepoint ${savepoint}`
      : `release savepoint ${savepoint}; savepoint ${savepoint}`
  }

  /** What is left to load of a part with a bad row. Rejects the row, or throws if that is not the reason. */
  #withoutBadRow(part: Part, error: WireError): Part[] {
    const { dialect, header } = this.#options
    const records = recordsOf(part, header(), dialect)
    const line = copyLineOf(error)
    const at = line === undefined ? -1 : records.findIndex(({ copyLine }) => copyLine === line)
    if (!isAboutRow(error, at >= 0, dialect))
      this.#copy.refuse(at < 0 ? error : aboutLine(error, records[at]!.line))
    this.#stepBytes = Math.max(leastStepBytes, Math.min(part.bytes.length, this.#stepBytes) / 4)
    const bad = records.length === 1 ? 0 : at
    if (bad < 0) return halves(part, records, part.bytes.length / 2)
    this.#reject(part, records[bad]!, error)
    return [sliceOf(part, records, 0, bad), sliceOf(part, records, bad + 1, records.length)].filter(
      ({ bytes }) => bytes.length > 0,
    )
  }

  #reject({ bytes }: Part, record: Pick<FoundRecord, 'line'> & Partial<FoundRecord>, error: WireError): void {
    const { rejected } = this.#options
    const told = aboutLine(error, record.line)
    if (rejected.isFull) throw tooManyBadRows(this.#copy.refusal(told), rejected)
    rejected.add(record.line, bytes.subarray(record.start ?? 0, record.end ?? bytes.length), told)
  }
}

/** The part with the line of each record before it. */
export function numbered(
  { bytes }: Part,
  records: readonly FoundRecord[],
  { delimiter, linesBefore }: LineNumbering,
): Buffer {
  const numbers = records.map(({ line }) => `${linesBefore + line}${delimiter}`)
  const result = Buffer.allocUnsafe(numbers.reduce((sum, { length }) => sum + length, bytes.length))
  let length = 0
  records.forEach(({ start, end }, at) => {
    length += result.write(numbers[at]!, length, 'latin1')
    length += bytes.copy(result, length, start, end)
  })
  return result.subarray(0, length)
}

const savepoint = 'cartage_part'
const leastStepBytes = 4 * 1024
const ignore = () => undefined

const openQuote: WireError = {
  severity: 'ERROR',
  sqlstate: '22P04',
  message: 'unterminated CSV quoted field',
}

/** Splits a part into pieces of about this size, or at least in two. */
function halves(part: Part, records: readonly FoundRecord[], pieceBytes: number): Part[] {
  const pieces: Part[] = []
  let first = 0
  records.forEach(({ end }, at) => {
    const isLast = at === records.length - 1
    if (!isLast && end - records[first]!.start < pieceBytes) return
    pieces.push(sliceOf(part, records, first, at + 1))
    first = at + 1
  })
  return pieces
}

function sliceOf(part: Part, records: readonly FoundRecord[], from: number, to: number): Part {
  const start = records[from]?.start ?? part.bytes.length
  const end = records[to - 1]?.end ?? start
  const linesBefore = from === 0 ? part.linesBefore : records[from - 1]!.line
  return { bytes: part.bytes.subarray(start, Math.max(start, end)), linesBefore, isOpen: false }
}

/**
 * Whether an error is about a row of the data. A row can raise any error in a trigger or a type, but not those of classes
 * that speak of the server, of rights or of the transaction. Without a line only constraints and triggers are meant.
 */
function isAboutRow({ sqlstate: state }: WireError, hasLine: boolean, { header }: CopyDialect): boolean {
  if (state === sqlstate.quotaExceeded) return false
  const kind = state.slice(0, 2)
  if (hasLine) return !serverClasses.has(kind) && state !== sqlstate.insufficientPrivilege
  return kind === '23' || kind === 'P0' || (kind === '22' && header !== 'matched')
}

/** Transaction state and rollback, resources, not in the right state, operator, system, configuration. */
const serverClasses: ReadonlySet<string> = new Set(['08', '25', '40', '53', '55', '57', '58', 'F0'])

function tooManyBadRows(error: AppError, rejected: RejectedRows): AppError {
  const hint = `${rejected.count} rows were refused before this one, which max_bad_rows allows: raise max_bad_rows, or repair the file`
  const body = { rejected_rows: rejected.count, rejected: rejected.list }
  return new AppError(error.code, error.kind, error.message, { ...error.extras, hint, body })
}
