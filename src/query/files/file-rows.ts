import { type GdalFormat, geometryField } from '../../convert/gdal-formats.ts'
import type { AppError } from '../../errors.ts'
import type { ByteWriter } from '../rows/byte-writer.ts'
import type { Column } from '../rows/columns.ts'
import type { RowFormat } from '../rows/row-format.ts'
import { columnsByPlace, type FileColumn, note, type Seen } from './file-columns.ts'
import { unfitGeometry, wkbKind } from './file-geometry.ts'
import { type FileRules, fileRules } from './file-rules.ts'
import type { FileShape } from './file-shape.ts'
import { tableOf, type WrittenTable } from './file-table.ts'
import { FileValues } from './file-values.ts'

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
  readonly #values: FileValues
  #columns: readonly FileColumn[] = []
  /** For each column of the result; undefined: it is not written. */
  #byPlace: readonly (FileColumn | undefined)[] = []
  /** Kinds of geometries, and the row that has each first. */
  readonly #kinds = new Map<string, number>()
  /** Geometries that are not in longitude and latitude. */
  readonly #far: Seen = { count: 0, row: 0 }
  /** Geometries whose longitudes are changed. */
  readonly #turned: Seen = { count: 0, row: 0 }

  constructor(options: FileRowsOptions) {
    this.#options = options
    this.#rules = fileRules[options.format]
    this.#values = new FileValues(options.format, this.#rules)
  }

  begin(_out: ByteWriter, refuse: (reason: AppError) => void): void {
    this.#values.refuse = refuse
  }

  columns(out: ByteWriter, columns: readonly Column[]): void {
    const { shape } = this.#options
    const places = columns.map((_, place) => place).slice(this.#first)
    const taken = shape.geometry === undefined ? [] : [geometryField]
    this.#columns = this.#values.columns(columns, places, taken)
    this.#byPlace = columnsByPlace(columns, this.#columns)
    out.ascii(`kind,${geometryField}${this.#columns.map((_, at) => `,c${at}`).join('')}\n`)
  }

  row(out: ByteWriter, row: Buffer, start: number): void {
    for (const _ of this.longRow(out, row, start));
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    this.#values.newRow()
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
  table(): WrittenTable {
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
      if (!this.#rules.nulls) this.#unfit(`NULL in column ${name}, row ${this.#values.rows}`)
      out.byte(comma)
      return traitsEnd
    }
    const kind = wkbKind(row, from)
    const traits = row.toString('latin1', end + 4, traitsEnd)
    if (/o.*[xy]/.test(traits)) note(this.#far, this.#values.rows)
    if (this.#rules.isLonLat && traits.includes('x')) note(this.#turned, this.#values.rows)
    const unfit = unfitGeometry(kind, traits, this.#rules)
    if (unfit) this.#unfit(`${unfit} in column ${name}, row ${this.#values.rows}`)
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
      this.#unfit(`geometries with and without Z or M: those of rows ${row} and ${this.#values.rows}`)
    }
    this.#kinds.set(name, this.#values.rows)
  }

  #value(out: ByteWriter, column: FileColumn, row: Buffer, start: number, end: number): void {
    if (column.kind !== 'text') {
      this.#values.write(out, column, row, start, end)
      return
    }
    const to = this.#values.textEnd(column, row, start, end)
    out.ascii('"x')
    for (let from = start; from < to; from += sliceBytes)
      writeEscaped(out, row, from, Math.min(to, from + sliceBytes))
    out.byte(quote)
  }

  #unfit(what: string): void {
    this.#values.unfit(what)
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

const [lineFeed, quote, comma] = [10, 34, 44] as const
const sliceBytes = 8192
const longBytes = 64 * 1024
