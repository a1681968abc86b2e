import { unescaped } from './copy-text.ts'
import { CsvError, type CsvForm, type CsvRecord, fieldBytes } from './csv-records.ts'
import { encodings } from './encodings.ts'
import { type BadRow, FittingRecords } from './fitting-records.ts'
import { decideColumns, type InferredColumn } from './values/decide-types.ts'
import { SeenColumn } from './values/seen-column.ts'

/** A line that COPY will refuse. */
export type BadLine = Readonly<{ line: number; message: string }>

export type Inference = Readonly<{
  columns: readonly InferredColumn[]
  /** Records without the header and without bad rows. */
  rows: number
  /** The first one. */
  badLine: BadLine | undefined
  /** How many rows COPY will refuse. */
  badRows: number
  /** Nothing is known of what follows the bad line. */
  isCutShort: boolean
  /** In a file with tabs: NULL is written `\N`, as by COPY and by `--format tsv`, and what is empty is an empty text. */
  hasNullMark: boolean
}>

type WrittenForm = CsvForm &
  Readonly<{
    hasHeader: boolean
    encoding: keyof typeof encodings
    nulls?: readonly string[] | undefined
    isCopyText?: boolean | undefined
    /** A column with a value in quotes is text. */
    areQuotedText?: boolean | undefined
  }>

/**
 * The types of all columns, found while the bytes of a file pass: `push` each chunk, then `end`. `result` has what is
 * known so far. A type is one that COPY accepts for every value so far, once rewriteRows has rewritten it, and that
 * keeps each value as it is.
 */
export class TypeInference {
  readonly #records: FittingRecords
  readonly #columns: SeenColumn[] = []
  readonly #form: WrittenForm
  readonly #nulls: readonly Uint8Array[]
  #isHeaderNext: boolean
  readonly #marksNull: boolean
  #hasNullMark = false
  #rows = 0
  #badLine: BadLine | undefined
  #badRows = 0
  #isCutShort = false
  readonly #utf8: InstanceType<typeof TextDecoder> | undefined
  #isUtf8 = true

  constructor(form: WrittenForm) {
    this.#form = form
    this.#isHeaderNext = form.hasHeader
    this.#marksNull = form.delimiter === '\t'
    this.#nulls = (form.nulls ?? []).map((text) => new TextEncoder().encode(text))
    this.#records = new FittingRecords(
      form,
      (record) => this.#see(record),
      (row) => this.#seeBad(row),
    )
    if (form.encoding === 'UTF8') this.#utf8 = new TextDecoder('utf-8', { fatal: true })
  }

  /** False once bytes have passed that are not of the encoding. */
  get isEncodingRight(): boolean {
    return this.#isUtf8
  }

  /** Nothing more needs to be read: COPY will fail. */
  get isOver(): boolean {
    return this.#isCutShort || !this.#isUtf8
  }

  push(chunk: Uint8Array): void {
    if (this.isOver) return
    this.#checkEncoding(chunk)
    this.#orCutShort(() => this.#records.push(chunk))
  }

  end(): void {
    if (this.isOver) return
    this.#checkEncoding(undefined)
    this.#orCutShort(() => this.#records.end())
  }

  get result(): Inference {
    return {
      columns: decideColumns(this.#columns, this.#hasNullMark),
      rows: this.#rows,
      badLine: this.#badLine,
      badRows: this.#badRows,
      isCutShort: this.#isCutShort,
      hasNullMark: this.#hasNullMark,
    }
  }

  #checkEncoding(chunk: Uint8Array | undefined): void {
    try {
      this.#utf8?.decode(chunk, { stream: chunk !== undefined })
    } catch {
      this.#isUtf8 = false
    }
  }

  #orCutShort(read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof CsvError)) throw error
      this.#badLine ??= { line: error.line, message: error.message }
      this.#isCutShort = true
    }
  }

  #seeBad({ line, message }: BadRow): void {
    this.#badLine ??= { line, message }
    if (++this.#badRows > mostBadRows) throw new CsvError(line, message)
  }

  #see(record: CsvRecord): void {
    const { bytes, starts, ends, quotes, count, line } = record
    const { encoding } = this.#form
    if (this.#columns.length === 0)
      for (let at = 0; at < count; at++)
        this.#columns.push(new SeenColumn(encodings[encoding], this.#marksNull))
    if (this.#isHeaderNext) {
      this.#isHeaderNext = false
      return
    }
    this.#rows++
    for (let at = 0; at < count; at++) {
      const column = this.#columns[at]!
      const start = starts[at]!
      const end = ends[at]!
      if (start === end) column.hasEmpty = true
      else if (this.#marksNull && end - start === 2 && bytes[start] === BACKSLASH && bytes[start + 1] === N) {
        this.#hasNullMark = true
        continue
      }
      if (start === end || column.isSettled) continue
      if (quotes[at] === 0 && !this.#form.isCopyText) {
        if (!this.#isNull(bytes, start, end)) column.see(bytes, start, end, line)
        continue
      }
      const meant = this.#form.isCopyText ? unescaped(bytes.subarray(start, end)) : fieldBytes(record, at)
      if (this.#isNull(meant, 0, meant.length)) continue
      if (this.#form.areQuotedText && meant.length > 0) column.types = 0
      else column.seeQuoted(meant, line)
    }
  }

  #isNull(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#nulls.length === 0) return false
    return this.#nulls.some((mark) => {
      if (mark.length !== end - start || mark.length === 0) return false
      for (let at = 0; at < mark.length; at++) if (mark[at] !== bytes[start + at]) return false
      return true
    })
  }
}

const BACKSLASH = 92
const N = 78

/** More of them, and the file is read the wrong way. */
export const mostBadRows = 1_000
