import { CsvError, type CsvForm, type CsvRecord, CsvRecords, fieldBytes } from './csv-records.ts'
import {
  ALL_TYPES,
  BIGINT,
  BOOL,
  DATE,
  DOUBLE,
  GEOMETRY,
  JSON_TEXT,
  NUMERIC,
  TIMESTAMPTZ,
  typesOf,
  UUID,
} from './value-types.ts'

export const columnTypes = [
  'bool',
  'bigint',
  'double precision',
  'numeric',
  'date',
  'timestamptz',
  'uuid',
  'json',
  'geometry',
  'text',
] as const
export type ColumnType = (typeof columnTypes)[number]

export type InferredColumn = Readonly<{
  type: ColumnType
  /** Why, in one sentence for people. */
  reason: string
  /** Empty values stand in quotes: for COPY they are '' then, unless it is told to take them for NULL. */
  hasQuotedEmpty: boolean
}>

/** A line that COPY will refuse. */
export type BadLine = Readonly<{ line: number; message: string }>

export type Inference = Readonly<{
  columns: readonly InferredColumn[]
  /** Records without the header. */
  rows: number
  badLine: BadLine | undefined
  /** In a file with tabs: NULL is written `\N`, as by COPY and by `--format tsv`, and what is empty is an empty text. */
  hasNullMark: boolean
}>

/**
 * The types of all columns, found while the bytes of a file pass: `push` each chunk, then `end`. `result` tells what is
 * known so far. A type is one that COPY accepts for every value seen, and that keeps each value as it is.
 */
export class TypeInference {
  readonly #records: CsvRecords
  readonly #columns: SeenColumn[] = []
  #isHeaderNext: boolean
  readonly #marksNull: boolean
  #hasNullMark = false
  #rows = 0
  #badLine: BadLine | undefined
  readonly #utf8: InstanceType<typeof TextDecoder> | undefined
  #isUtf8 = true

  constructor({
    hasHeader,
    encoding,
    ...form
  }: CsvForm & Readonly<{ hasHeader: boolean; encoding: string }>) {
    this.#isHeaderNext = hasHeader
    this.#marksNull = form.delimiter === '\t'
    this.#records = new CsvRecords(form, (record) => this.#see(record))
    if (encoding === 'UTF8') this.#utf8 = new TextDecoder('utf-8', { fatal: true })
  }

  /** False once bytes have passed that are not of the encoding. */
  get isEncodingRight(): boolean {
    return this.#isUtf8
  }

  /** Nothing more needs to be read: COPY will fail. */
  get isOver(): boolean {
    return this.#badLine !== undefined || !this.#isUtf8
  }

  push(chunk: Uint8Array): void {
    if (this.isOver) return
    this.#checkEncoding(chunk)
    this.#orBadLine(() => this.#records.push(chunk))
  }

  end(): void {
    if (this.isOver) return
    this.#checkEncoding(undefined)
    this.#orBadLine(() => this.#records.end())
  }

  get result(): Inference {
    const columns = this.#columns.map((column) => inferredOf(column, this.#hasNullMark))
    return { columns, rows: this.#rows, badLine: this.#badLine, hasNullMark: this.#hasNullMark }
  }

  #checkEncoding(chunk: Uint8Array | undefined): void {
    try {
      this.#utf8?.decode(chunk, { stream: chunk !== undefined })
    } catch {
      this.#isUtf8 = false
    }
  }

  #orBadLine(read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof CsvError)) throw error
      this.#badLine = { line: error.line, message: error.message }
    }
  }

  #see(record: CsvRecord): void {
    const { bytes, starts, ends, quotes, count, line } = record
    if (this.#columns.length === 0) for (let at = 0; at < count; at++) this.#columns.push(new SeenColumn())
    if (count !== this.#columns.length) {
      const isEmpty = count === 1 && starts[0] === ends[0]
      throw new CsvError(line, isEmpty ? emptyLine : wrongCount(count, this.#columns.length))
    }
    if (count === 1 && isEndMark(record)) throw new CsvError(line, 'For PostgreSQL a line of \\. is the end.')
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
      if (quotes[at] === 0) column.see(bytes, start, end, line)
      else column.seeQuoted(fieldBytes(record, at), line)
    }
  }
}

const BACKSLASH = 92
const N = 78

const emptyLine = 'This line is empty: take it out, PostgreSQL would refuse it.'

const wrongCount = (found: number, wanted: number) =>
  found === 1 ? `This line has one value, not ${wanted}.` : `This line has ${found} values, not ${wanted}.`

const isEndMark = ({ bytes, starts, ends }: CsvRecord) =>
  ends[0]! - starts[0]! === 2 && bytes[starts[0]!] === 92 && bytes[starts[0]! + 1] === 46

class SeenColumn {
  types = ALL_TYPES
  values = 0
  hasEmpty = false
  hasQuotedEmpty = false
  /** The value after which only text was left, and what the column could be before it. */
  last: { types: number; line: number; value: string } | undefined

  /** It is text, and nothing can change that. */
  get isSettled(): boolean {
    return this.types === 0
  }

  seeQuoted(bytes: Uint8Array, line: number): void {
    if (bytes.length === 0) this.hasQuotedEmpty = true
    else this.see(bytes, 0, bytes.length, line)
  }

  see(bytes: Uint8Array, start: number, end: number, line: number): void {
    const types = typesOf(bytes, start, end, this.types) & this.types
    if (types === 0) {
      const value = new TextDecoder().decode(bytes.subarray(start, Math.min(end, start + shownBytes)))
      this.last = { types: this.values === 0 ? 0 : this.types, line, value }
    }
    this.types = types
    this.values++
  }
}

const shownBytes = 40

/** In this order: the first that fits is the one that says most. */
const choices: readonly (readonly [bit: number, type: ColumnType, words: string])[] = [
  [BOOL, 'bool', 'yes or no'],
  [BIGINT, 'bigint', 'a whole number'],
  [DOUBLE, 'double precision', 'a number'],
  [NUMERIC, 'numeric', 'a number'],
  [DATE, 'date', 'a day'],
  [TIMESTAMPTZ, 'timestamptz', 'a time'],
  [UUID, 'uuid', 'a UUID'],
  [JSON_TEXT, 'json', 'JSON'],
  [GEOMETRY, 'geometry', 'a geometry'],
]

function inferredOf(column: SeenColumn, hasNullMark: boolean): InferredColumn {
  const { types, values, hasQuotedEmpty } = column
  if (hasNullMark && (column.hasEmpty || hasQuotedEmpty) && types !== 0)
    return { type: 'text', reason: 'NULL is \\N here, so an empty value is text', hasQuotedEmpty }
  const choice = types === ALL_TYPES ? undefined : choices.find(([bit]) => (types & bit) !== 0)
  const reason = choice ? reasonOf(choice[1], choice[2], values) : reasonForText(column)
  return { type: choice?.[1] ?? 'text', reason, hasQuotedEmpty }
}

function reasonOf(type: ColumnType, words: string, values: number): string {
  const all = values === 1 ? 'The one value is' : `Each of ${values.toLocaleString('en-US')} values is`
  const but = type === 'numeric' ? ', with more digits than double precision keeps' : ''
  const zone = type === 'timestamptz' ? '; without a zone it is UTC' : ''
  return `${all} ${words}${but}${zone}`
}

function reasonForText({ last, hasQuotedEmpty }: SeenColumn): string {
  if (!last) return hasQuotedEmpty ? 'There are only empty values' : 'There is no value'
  const value = `“${last.value}” in line ${last.line.toLocaleString('en-US')}`
  if (/^-?0\d+$/.test(last.value)) return `${value} would lose its zero as a number`
  const words = choices.find(([bit]) => (last.types & bit) !== 0)?.[2]
  return words ? `${value} is not ${words}, as the values before it` : `${value} is text`
}
