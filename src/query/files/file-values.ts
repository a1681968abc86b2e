import { type AppError, errors } from '../../errors.ts'
import type { ByteWriter } from '../rows/byte-writer.ts'
import type { Column } from '../rows/columns.ts'
import { readTimestamp } from '../rows/timestamps.ts'
import { type FileColumn, fileColumns, note } from './file-columns.ts'
import { digitsAround, exactDigits, heldByDouble, significantDigits } from './file-numbers.ts'
import type { FileRules } from './file-rules.ts'

/** Writes values in the form that a file has them. Refuses those that the format cannot hold, and notes those that it changes. */
export class FileValues {
  readonly #format: string
  readonly #rules: FileRules
  refuse: (reason: AppError) => void = () => undefined
  /** The number of the row that is being written. */
  rows = 0

  constructor(format: string, rules: FileRules) {
    this.#format = format
    this.#rules = rules
  }

  /** The columns at these places; none if the format cannot have them. */
  columns(columns: readonly Column[], places: readonly number[], taken: readonly string[]): FileColumn[] {
    try {
      if (columns.some(({ isBinary }) => isBinary)) throw errors.valueUnfit(this.#format, 'binary rows')
      return fileColumns(this.#format, columns, places, this.#rules, taken)
    } catch (error) {
      this.refuse(error as AppError)
      return []
    }
  }

  newRow(): void {
    const { maxRows } = this.#rules
    this.rows += 1
    if (maxRows !== undefined && this.rows > maxRows) this.unfit(`more than ${maxRows} rows`)
  }

  unfit(what: string): void {
    this.refuse(errors.valueUnfit(this.#format, what))
  }

  unfitValue(what: string, { queryName }: FileColumn): void {
    this.unfit(`${what} in column ${queryName}, row ${this.rows}`)
  }

  /** Where a text ends in the file. */
  textEnd(column: FileColumn, row: Buffer, start: number, end: number): number {
    const { cutBytes = end - start, maxCharacters, isXml, blanks } = this.#rules
    let to = end
    if (end - start > cutBytes) {
      to = start + cutBytes
      while ((row[to]! & 0xc0) === 0x80) to -= 1
      note(column.cut, this.rows)
    }
    if (
      maxCharacters !== undefined &&
      to - start > maxCharacters &&
      row.toString('utf8', start, to).length > maxCharacters
    )
      this.unfitValue(`a text of more than ${maxCharacters} characters`, column)
    if (isXml && hasControl(row, start, to)) this.unfitValue('a control character', column)
    if (!blanks && (to === start || row[to - 1] === space)) note(column.blank, this.rows)
    return to
  }

  /** Any value but a text. */
  write(out: ByteWriter, column: FileColumn, row: Buffer, start: number, end: number): void {
    switch (column.kind) {
      case 'boolean':
        out.byte(row[start] === letterT ? digitOne : digitZero)
        break
      case 'date':
      case 'timestamp':
      case 'timestamptz':
        this.#time(out, column, row, start, end)
        break
      default:
        this.#checkNumber(column, row, start, end)
        out.copy(row, start, end)
    }
  }

  #time(out: ByteWriter, column: FileColumn, row: Buffer, start: number, end: number): void {
    const { kind } = column
    const isText = this.#rules[kind === 'date' ? 'dates' : 'times'] === 'text'
    const parts = readTimestamp(row, start, end)
    if (!parts || parts.dateEnd - start > usualDate) {
      if (!isText) this.unfitValue(`the ${kind} ${row.toString('latin1', start, end)}`, column)
      out.copy(row, start, end)
      return
    }
    const { dateEnd, timeEnd, zone } = parts
    out.copy(row, start, dateEnd)
    if (kind === 'date') return
    const milliseconds = dateEnd + ' 00:00:00.000'.length
    const isCut = !isText && timeEnd > milliseconds
    if (isCut) note(column.cut, this.rows)
    out.ascii('T')
    out.copy(row, dateEnd + 1, isCut ? milliseconds : timeEnd)
    if (kind === 'timestamptz') out.ascii(zone)
  }

  #checkNumber(column: FileColumn, row: Buffer, start: number, end: number): void {
    const { numbers } = this.#rules
    if (column.kind === 'short' || column.kind === 'whole') {
      if (end - start > (wholeLengths[numbers] ?? end - start)) column.isText = true
    } else if (numbers !== 'text') {
      if (row[row[start] === minus ? start + 1 : start]! > digitNine)
        this.unfitValue(`the number ${row.toString('latin1', start, end)}`, column)
      else if (end - start > exactDigits || (numbers === 'dbf' && !notePlainDigits(column, row, start, end)))
        this.#checkDigits(column, row.toString('latin1', start, end))
    }
  }

  #checkDigits(column: FileColumn, text: string): void {
    const { numbers } = this.#rules
    if (numbers === 'dbf') {
      const { whole, decimals } = digitsAround(text)
      if (whole > column.wholeDigits) column.wholeDigits = whole
      if (decimals > column.decimals) column.decimals = decimals
    }
    const held = column.kind === 'numeric' ? heldByDouble(text) : 'exact'
    const isLong = numbers === 'digits15' && significantDigits(text).length > exactDigits
    if (held === 'whole') column.isText = true
    else if (held === 'rounded' || isLong) note(column.rounded, this.rows)
  }
}

/** Notes the digits of a number so short that it is held exactly. False: it has an exponent. */
function notePlainDigits(column: FileColumn, row: Buffer, start: number, end: number): boolean {
  let point = end
  let last = end
  for (let at = row[start] === minus ? start + 1 : start; at < end; at += 1) {
    const byte = row[at]!
    if (byte > digitNine) return false
    if (byte === dot) point = last = at
    else if (byte !== digitZero && at > point) last = at
  }
  const whole = point - start - (row[start] === minus ? 1 : 0)
  if (whole > column.wholeDigits) column.wholeDigits = whole
  if (last - point > column.decimals) column.decimals = last - point
  return true
}

/** Control characters that XML 1.0 does not allow: all but tab and line ends. */
function hasControl(row: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = row[at]!
    if (byte < space && byte !== tab && byte !== lineFeed && byte !== carriageReturn) return true
  }
  return false
}

const [tab, lineFeed, carriageReturn, space, minus, dot] = [9, 10, 13, 32, 45, 46] as const
const [digitZero, digitOne, digitNine, letterT] = [48, 49, 57, 116] as const
/** A field of more characters is no whole number to readers of DBF. */
const wholeLengths: Readonly<Record<string, number>> = { digits15: exactDigits, dbf: 18 }
const usualDate = '2026-01-31'.length
