import { type FileTable, type GdalFormat, geometryField } from '../../convert/gdal-formats.ts'
import { type AppError, errors } from '../../errors.ts'
import type { ByteWriter } from '../rows/byte-writer.ts'
import type { Column } from '../rows/columns.ts'
import type { RowFormat } from '../rows/row-format.ts'
import { readTimestamp } from '../rows/timestamps.ts'
import { type FileColumn, fileColumns, note, type Seen } from './file-columns.ts'
import { unfitGeometry, wkbKind } from './file-geometry.ts'
import { digitsAround, exactDigits, heldByDouble, significantDigits } from './file-numbers.ts'
import { type FileRules, fileRules } from './file-rules.ts'
import type { FileShape } from './file-shape.ts'
import { tableOf } from './file-table.ts'

export type FileRowsOptions = Readonly<{
  format: GdalFormat
  /** If it has a geometry, the first two columns are that as hexadecimal WKB, and its traits. */
  shape: FileShape
}>

/**
 * The rows as CSV for GDAL: the kind of the geometry, its WKB, and the columns `c0`, `c1`, ... A text has an `x` before it, so
 * that an empty text is not NULL. Refuses values that the format cannot hold, and notes those that it changes.
 */
export class FileRows implements RowFormat {
  readonly hasFields = false
  readonly #options: FileRowsOptions
  readonly #rules: FileRules
  #refuse: (reason: AppError) => void = () => undefined
  #columns: readonly FileColumn[] = []
  /** For each column of the result; undefined: it is not written. */
  #byPlace: readonly (FileColumn | undefined)[] = []
  /** Kinds of geometries, and the row that has each first. */
  readonly #kinds = new Map<string, number>()
  /** Geometries that are not in longitude and latitude. */
  readonly #far: Seen = { count: 0, row: 0 }
  /** Geometries whose longitudes are changed. */
  readonly #turned: Seen = { count: 0, row: 0 }
  #rows = 0

  constructor(options: FileRowsOptions) {
    this.#options = options
    this.#rules = fileRules[options.format]
  }

  begin(_out: ByteWriter, refuse: (reason: AppError) => void): void {
    this.#refuse = refuse
  }

  columns(out: ByteWriter, columns: readonly Column[]): void {
    const { format, shape } = this.#options
    const places = columns.map((_, place) => place).slice(this.#first)
    const taken = shape.geometry === undefined ? [] : [geometryField]
    try {
      if (columns.some(({ isBinary }) => isBinary)) throw errors.valueUnfit(format, 'binary rows')
      this.#columns = fileColumns(format, columns, places, this.#rules, taken)
    } catch (error) {
      this.#refuse(error as AppError)
    }
    this.#byPlace = columns.map((_, place) => this.#columns.find((column) => column.place === place))
    out.ascii(`kind,${geometryField}${this.#columns.map((_, at) => `,c${at}`).join('')}\n`)
  }

  row(out: ByteWriter, row: Buffer, start: number): void {
    for (const _ of this.longRow(out, row, start));
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    this.#rows += 1
    if (this.#rows > (this.#rules.maxRows ?? this.#rows)) this.#unfit(`more than ${this.#rules.maxRows} rows`)
    let at = start + 2
    const { geometry } = this.#options.shape
    if (geometry !== undefined) at = this.#geometry(out, row, at, geometry)
    else out.byte(comma)
    for (let place = this.#first; place < this.#byPlace.length; place += 1) {
      const length = row.readInt32BE(at)
      const from = at + 4
      at = length < 0 ? from : from + length
      const column = this.#byPlace[place]
      if (!column) continue
      out.byte(comma)
      if (length < 0) column.nulls += 1
      else {
        if (length > column.longestBytes) column.longestBytes = length
        this.#value(out, column, row, from, at)
      }
      if (length > longBytes) yield
    }
    out.byte(lineFeed)
  }

  end(): void {}

  /** What the converter must know of the rows. Call it when they are written. */
  table(): FileTable & Readonly<{ warnings: readonly string[] }> {
    const { format, shape } = this.#options
    return tableOf(format, this.#rules, {
      columns: this.#columns,
      kinds: [...this.#kinds.keys()],
      geometry: shape.geometry,
      far: this.#far,
      turned: this.#turned,
      shapes: this.#columns.filter(({ place }) => shape.texts.has(place - this.#first)),
      leftOut: shape.leftOut,
    })
  }

  /** The place of the first column that is not about the geometry of the file. */
  get #first(): number {
    return this.#options.shape.geometry === undefined ? 0 : 2
  }

  /** Writes the kind and the WKB, and returns where the traits end. */
  #geometry(out: ByteWriter, row: Buffer, start: number, name: string): number {
    const length = row.readInt32BE(start)
    const from = start + 4
    const end = length < 0 ? from : from + length
    const traitsLength = row.readInt32BE(end)
    const traitsEnd = end + 4 + Math.max(0, traitsLength)
    if (length < 0) {
      if (!this.#rules.nulls) this.#unfit(`NULL in column ${name}, row ${this.#rows}`)
      out.byte(comma)
      return traitsEnd
    }
    const kind = wkbKind(row, from)
    const traits = row.toString('latin1', end + 4, traitsEnd)
    if (/o.*[xy]/.test(traits)) note(this.#far, this.#rows)
    if (this.#rules.isLonLat && traits.includes('x')) note(this.#turned, this.#rows)
    const unfit = unfitGeometry(kind, traits, this.#rules)
    if (unfit) this.#unfit(`${unfit} in column ${name}, row ${this.#rows}`)
    if (!this.#kinds.has(kind.name)) this.#newKind(kind.name)
    out.ascii(kind.name)
    out.byte(comma)
    out.copy(row, from, end)
    return traitsEnd
  }

  #newKind(name: string): void {
    const dimensions = (kind: string) => /(zm|z|m)?$/.exec(kind)![0]
    for (const [kind, row] of this.#kinds) {
      if (!this.#rules.oneDimension || dimensions(kind) === dimensions(name)) continue
      this.#unfit(`geometries with and without Z or M: those of rows ${row} and ${this.#rows}`)
    }
    this.#kinds.set(name, this.#rows)
  }

  #value(out: ByteWriter, column: FileColumn, row: Buffer, start: number, end: number): void {
    switch (column.kind) {
      case 'text':
        this.#text(out, column, row, start, end)
        break
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

  #text(out: ByteWriter, column: FileColumn, row: Buffer, start: number, end: number): void {
    const { cutBytes = end - start, maxCharacters = Number.POSITIVE_INFINITY, isXml } = this.#rules
    let to = end
    if (end - start > cutBytes) {
      to = start + cutBytes
      while ((row[to]! & 0xc0) === 0x80) to -= 1
      note(column.cut, this.#rows)
    }
    if (to - start > maxCharacters && row.toString('utf8', start, to).length > maxCharacters)
      this.#unfitValue(`a text of more than ${maxCharacters} characters`, column)
    if (isXml && hasControl(row, start, to)) this.#unfitValue('a control character', column)
    if (!this.#rules.blanks && (to === start || row[to - 1] === space)) note(column.blank, this.#rows)
    out.ascii('"x')
    for (let from = start; from < to; from += sliceBytes)
      writeEscaped(out, row, from, Math.min(to, from + sliceBytes))
    out.byte(quote)
  }

  #time(out: ByteWriter, column: FileColumn, row: Buffer, start: number, end: number): void {
    const { kind } = column
    const isText = this.#rules[kind === 'date' ? 'dates' : 'times'] === 'text'
    const parts = readTimestamp(row, start, end)
    if (!parts || parts.dateEnd - start > usualDate) {
      if (!isText) this.#unfitValue(`the ${kind} ${row.toString('latin1', start, end)}`, column)
      out.copy(row, start, end)
      return
    }
    const { dateEnd, timeEnd, zone } = parts
    out.copy(row, start, dateEnd)
    if (kind === 'date') return
    const milliseconds = dateEnd + ' 00:00:00.000'.length
    const isCut = !isText && timeEnd > milliseconds
    if (isCut) note(column.cut, this.#rows)
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
        this.#unfitValue(`the number ${row.toString('latin1', start, end)}`, column)
      else if (numbers === 'dbf' || end - start > exactDigits)
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
    else if (held === 'rounded' || isLong) note(column.rounded, this.#rows)
  }

  #unfitValue(what: string, { queryName }: FileColumn): void {
    this.#unfit(`${what} in column ${queryName}, row ${this.#rows}`)
  }

  #unfit(what: string): void {
    this.#refuse(errors.valueUnfit(this.#options.format, what))
  }
}

function writeEscaped(out: ByteWriter, row: Buffer, start: number, end: number): void {
  out.ensure(2 * (end - start))
  const { bytes } = out
  let to = out.at
  for (let from = start; from < end; from += 1) {
    const byte = row[from]!
    bytes[to++] = byte
    if (byte === quote) bytes[to++] = quote
  }
  out.at = to
}

/** Control characters that XML 1.0 does not allow: all but tab and line ends. */
function hasControl(row: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = row[at]!
    if (byte < space && byte !== tab && byte !== lineFeed && byte !== carriageReturn) return true
  }
  return false
}

const [tab, lineFeed, carriageReturn, space, quote, comma, minus] = [9, 10, 13, 32, 34, 44, 45] as const
const [digitZero, digitOne, digitNine, letterT] = [48, 49, 57, 116] as const
/** A field of more characters is no whole number to readers of DBF. */
const wholeLengths: Readonly<Record<string, number>> = { digits15: exactDigits, dbf: 18 }
const usualDate = '2026-01-31'.length
const sliceBytes = 8192
const longBytes = 64 * 1024
