import type { AppError } from '../../errors.ts'
import { sridOf, writeWkb } from '../arrow/wkb.ts'
import { columnsByPlace, type FileColumn, note, type Seen } from '../files/file-columns.ts'
import { kindOfCode, unfitGeometry, type WkbKind } from '../files/file-geometry.ts'
import { fileRules } from '../files/file-rules.ts'
import type { FileShape } from '../files/file-shape.ts'
import { tableOf, type WrittenTable } from '../files/file-table.ts'
import { FileValues } from '../files/file-values.ts'
import type { ByteWriter } from '../rows/byte-writer.ts'
import type { Column } from '../rows/columns.ts'
import type { RowFormat } from '../rows/row-format.ts'
import { type DbfField, dbfFields } from './dbf.ts'
import { emptyBox, type ShapeBox, ShapeEncoder, shapeType } from './shape-encoder.ts'

/** A shapefile: the shapes of one kind. The first also has the rows without a geometry. */
export type ShapeLayer = {
  readonly kind: string
  readonly type: number
  readonly box: ShapeBox
  rows: number
  /** Of all records, without their headings. */
  shapeBytes: number
}

/** What the files must know before their first row is written. */
export type ShapeTable = Pick<WrittenTable, 'notes' | 'warnings'> &
  Readonly<{ layers: readonly ShapeLayer[]; fields: readonly DbfField[] }>

/**
 * The rows of shapefiles, to be written when all widths are known. Of each row: a byte with the number of its layer, four with the
 * length of its shape, the shape, and for each column a byte with the length of its value, `isNull` for none, and the value.
 */
export class ShapeRows implements RowFormat {
  readonly hasFields = false
  readonly #shape: FileShape
  readonly #values = new FileValues('shp', rules)
  readonly #encoder = new ShapeEncoder()
  #wkb = Buffer.allocUnsafeSlow(usualBytes)
  #wkbView = new DataView(this.#wkb.buffer)
  #columns: readonly FileColumn[] = []
  #byPlace: readonly (FileColumn | undefined)[] = []
  readonly #layers: ShapeLayer[] = []
  readonly #layerOf = new Map<string, number>()
  /** Rows without a geometry. */
  #nulls = 0
  /** The layer of the row. */
  #layer = 0
  readonly #far: Seen = { count: 0, row: 0 }

  constructor(shape: FileShape) {
    this.#shape = shape
  }

  begin(_out: ByteWriter, refuse: (reason: AppError) => void): void {
    this.#values.refuse = refuse
  }

  columns(_out: ByteWriter, columns: readonly Column[]): void {
    const places = columns.map((_, place) => place).slice(1)
    this.#columns = this.#values.columns(columns, places, [])
    this.#byPlace = columnsByPlace(columns, this.#columns)
  }

  row(out: ByteWriter, row: Buffer, start: number): void {
    this.#values.newRow()
    const { at, length } = this.#beginRow(out, row, start + 2)
    out.copy(this.#encoder.bytes, 0, length)
    this.#writeValues(out, row, at)
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    this.#values.newRow()
    const { at, length } = this.#beginRow(out, row, start + 2)
    for (let from = 0; from < length; from += sliceBytes) {
      out.copy(this.#encoder.bytes, from, Math.min(length, from + sliceBytes))
      yield
    }
    this.#writeValues(out, row, at)
  }

  end(): void {}

  /** Call it when all rows are written. */
  table(): ShapeTable {
    const { geometry, texts, leftOut } = this.#shape
    const { notes, warnings } = tableOf('shp', rules, {
      columns: this.#columns,
      kinds: this.#layers.map(({ kind }) => kind),
      geometry,
      far: this.#far,
      turned: { count: 0, row: 0 },
      shapes: this.#columns.filter(({ place }) => texts.has(place - 1)),
      leftOut,
    })
    const layers = this.#layers.length > 0 ? this.#layers : [newLayer('point', shapeType(plainPoint))]
    layers[0]!.rows += this.#nulls
    layers[0]!.shapeBytes += this.#nulls * nullBytes
    return { layers, fields: dbfFields(this.#columns), notes, warnings }
  }

  /** Encodes the shape and writes what comes before it. */
  #beginRow(out: ByteWriter, row: Buffer, start: number): Readonly<{ at: number; length: number }> {
    const given = row.readInt32BE(start)
    const at = start + 4 + Math.max(0, given)
    this.#layer = 0
    const length = given < 0 ? 0 : this.#encode(row, start + 4, at)
    if (length === 0) this.#nulls += 1
    out.ensure(5)
    const { bytes } = out
    bytes[out.at] = this.#layer
    bytes[out.at + 1] = length
    bytes[out.at + 2] = length >>> 8
    bytes[out.at + 3] = length >>> 16
    bytes[out.at + 4] = length >>> 24
    out.at += 5
    return { at, length }
  }

  /** The length of the shape; 0: it is refused. */
  #encode(row: Buffer, start: number, end: number): number {
    const wkb = this.#room((end - start) / 2)
    writeWkb(wkb, 0, row, start, end)
    const kind = kindOfCode(wkb.readUInt32LE(1))
    const unfit = unfitGeometry(kind, hasArcs(kind) ? 'a' : '', rules)
    const length = unfit === undefined ? this.#encoder.encode(this.#wkbView, kind) : 0
    if (length === 0) {
      const isEmpty = unfit === undefined || wkb.readUInt32LE(5) === 0
      const what = isEmpty ? 'an empty geometry' : unfit
      this.#values.unfit(`${what} in column ${this.#shape.geometry}, row ${this.#values.rows}`)
      return 0
    }
    const { box } = this.#encoder
    if (isBeyond(box) && sridOf(row, start) === 0) note(this.#far, this.#values.rows)
    this.#addTo(this.#layerFor(kind), box, length)
    return length
  }

  #room(bytes: number): Buffer {
    if (bytes > this.#wkb.length || this.#wkb.length > usualBytes) {
      this.#wkb = Buffer.allocUnsafeSlow(Math.max(bytes, usualBytes))
      this.#wkbView = new DataView(this.#wkb.buffer)
    }
    return this.#wkb
  }

  #layerFor(kind: WkbKind): ShapeLayer {
    let number = this.#layerOf.get(kind.name)
    if (number === undefined) {
      number = this.#layers.push(newLayer(kind.name, shapeType(kind))) - 1
      this.#layerOf.set(kind.name, number)
    }
    this.#layer = number
    return this.#layers[number]!
  }

  #addTo(layer: ShapeLayer, box: ShapeBox, length: number): void {
    layer.rows += 1
    layer.shapeBytes += length
    const whole = layer.box
    for (let at = 0; at < whole.length; at += 2) {
      if (box[at]! < whole[at]!) whole[at] = box[at]!
      if (box[at + 1]! > whole[at + 1]!) whole[at + 1] = box[at + 1]!
    }
  }

  #writeValues(out: ByteWriter, row: Buffer, start: number): void {
    let at = start
    for (let place = 1; place < this.#byPlace.length; place += 1) {
      const length = row.readInt32BE(at)
      const from = at + 4
      at = length < 0 ? from : from + length
      const column = this.#byPlace[place]
      if (!column) continue
      out.ensure(roomOfValue)
      if (length < 0) {
        column.nulls += 1
        out.bytes[out.at++] = isNull
      } else this.#writeValue(out, column, row, from, at)
    }
  }

  #writeValue(out: ByteWriter, column: FileColumn, row: Buffer, start: number, end: number): void {
    const lengthAt = out.at++
    if (column.kind === 'text') out.copy(row, start, this.#values.textEnd(column, row, start, end))
    else if (end - start <= mostBytes) this.#values.write(out, column, row, start, end)
    else this.#values.unfitValue(`a number of more than ${mostBytes} digits`, column)
    const length = out.at - lengthAt - 1
    out.bytes[lengthAt] = length
    if (length > column.longestBytes) column.longestBytes = length
  }
}

const newLayer = (kind: string, type: number): ShapeLayer => ({
  kind,
  type,
  box: emptyBox(),
  rows: 0,
  shapeBytes: 0,
})

/** From CIRCULARSTRING to MULTISURFACE. */
const hasArcs = ({ type }: WkbKind) => type >= 8 && type <= 12

/** Beyond the longitudes and latitudes that there are. */
const isBeyond = (box: ShapeBox) =>
  box[0]! < -180.00000001 || box[1]! > 180.00000001 || box[2]! < -90.00000001 || box[3]! > 90.00000001

/** Of a value. */
export const isNull = 255
const mostBytes = 254
/** Its length, the value, and what `copyShort` may write past it. */
const roomOfValue = 512
const rules = fileRules.shp
const plainPoint = { type: 1, dimensions: 0 }
const usualBytes = 64 * 1024
const sliceBytes = 64 * 1024
/** A record with no shape has only its type. */
const nullBytes = 4
