import { open } from 'node:fs/promises'
import { type DbfField, dbfHeading, endOfDbf, recordBytes, rowNumber, writeField } from './dbf.ts'
import { GrowingFile } from './growing-file.ts'
import type { ShapeBox } from './shape-encoder.ts'
import type { ShapeLayer } from './shape-rows.ts'

/** The three files of a shapefile that is being written. */
export class ShapeFiles {
  readonly #shp: GrowingFile
  readonly #shx: GrowingFile
  readonly #dbf: GrowingFile
  readonly #layer: ShapeLayer
  readonly #fields: readonly DbfField[]
  readonly #recordBytes: number
  #rows = 0
  /** Where the next record begins in the .shp, in units of two bytes. */
  #place = headingBytes / 2

  static async open(path: string, layer: ShapeLayer, fields: readonly DbfField[]): Promise<ShapeFiles> {
    const [shp, shx, dbf] = await openAll(['shp', 'shx', 'dbf'].map((ending) => `${path}.${ending}`))
    const files = new ShapeFiles([shp!, shx!, dbf!], layer, fields)
    shp!.add(heading(layer, shpBytes(layer)))
    shx!.add(heading(layer, shxBytes(layer)))
    dbf!.add(dbfHeading(fields, layer.rows, new Date()))
    return files
  }

  private constructor(
    [shp, shx, dbf]: readonly [GrowingFile, GrowingFile, GrowingFile],
    layer: ShapeLayer,
    fields: readonly DbfField[],
  ) {
    this.#shp = shp
    this.#shx = shx
    this.#dbf = dbf
    this.#layer = layer
    this.#fields = fields
    this.#recordBytes = recordBytes(fields)
  }

  /** Writes a row. Its shape and values are in `source`; a length below 0 is a NULL. */
  add(source: Buffer, shapeAt: number, shapeLength: number, starts: Int32Array, lengths: Int32Array): void {
    this.#addShape(source, shapeAt, shapeLength)
    const at = this.#dbf.room(this.#recordBytes)
    const { bytes } = this.#dbf
    bytes.fill(space, at, at + this.#recordBytes)
    let to = at + 1
    for (const [place, field] of this.#fields.entries()) {
      if (field !== rowNumber) writeField(bytes, to, field, source, starts[place]!, lengths[place]!)
      else bytes.write(String(this.#rows).padStart(field.width), to, 'latin1')
      to += field.width
    }
    this.#rows += 1
  }

  #addShape(source: Buffer, shapeAt: number, shapeLength: number): void {
    const content = shapeLength === 0 ? nullShapeBytes : shapeLength
    const at = this.#shp.room(8 + content)
    const { bytes } = this.#shp
    bytes.writeInt32BE(this.#rows + 1, at)
    bytes.writeInt32BE(content / 2, at + 4)
    if (shapeLength === 0) bytes.writeInt32LE(0, at + 8)
    else source.copy(bytes, at + 8, shapeAt, shapeAt + shapeLength)
    const place = this.#shx.room(8)
    this.#shx.bytes.writeInt32BE(this.#place, place)
    this.#shx.bytes.writeInt32BE(content / 2, place + 4)
    this.#place += 4 + content / 2
  }

  /** Bytes that wait to be written. */
  get waiting(): number {
    return this.#shp.length + this.#shx.length + this.#dbf.length
  }

  async flush(): Promise<void> {
    await Promise.all([this.#shp, this.#shx, this.#dbf].map((file) => file.flush()))
  }

  /** Writes the rest. Fails if there are fewer or more rows than the headings say. */
  async end(): Promise<void> {
    const { kind, rows } = this.#layer
    if (this.#rows !== rows) throw new Error(`${this.#rows} rows instead of ${rows} in layer ${kind}`)
    this.#dbf.add(Buffer.of(endOfDbf))
    await this.flush()
  }

  async close(): Promise<void> {
    await Promise.all([this.#shp, this.#shx, this.#dbf].map((file) => file.close()))
  }
}

/** All of them, or none. */
async function openAll(paths: readonly string[]): Promise<readonly GrowingFile[]> {
  const opened = await Promise.allSettled(paths.map((path) => open(path, 'w')))
  const files = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const failed = opened.find((one) => one.status === 'rejected')
  if (!failed) return files.map((file) => new GrowingFile(file))
  await Promise.all(files.map((file) => file.close()))
  throw failed.reason
}

/** The sizes of the .shp, the .shx and, at most, the .dbf of a layer. */
export const fileSizes = (layer: ShapeLayer, fields: readonly DbfField[]): readonly number[] => [
  shpBytes(layer),
  shxBytes(layer),
  headingBytes + 32 * fields.length + layer.rows * recordBytes(fields),
]

const shpBytes = ({ rows, shapeBytes }: ShapeLayer) => headingBytes + 8 * rows + shapeBytes
const shxBytes = ({ rows }: ShapeLayer) => headingBytes + 8 * rows

/** Of a .shp or .shx with so many bytes. */
function heading({ type, box }: ShapeLayer, fileBytes: number): Buffer {
  const bytes = Buffer.alloc(headingBytes)
  bytes.writeInt32BE(9994, 0)
  bytes.writeInt32BE(fileBytes / 2, 24)
  bytes.writeInt32LE(1000, 28)
  bytes.writeInt32LE(type, 32)
  for (const [at, place] of boxOrder.entries()) bytes.writeDoubleLE(sideOf(box, place), 36 + 8 * at)
  return bytes
}

/** A box without any shape is 0. */
const sideOf = (box: ShapeBox, place: number) => (Number.isFinite(box[place]) ? box[place]! : 0)

/** First the corners, then the ranges of Z and M. */
const boxOrder = [0, 2, 1, 3, 4, 5, 6, 7] as const
const headingBytes = 100
export const nullShapeBytes = 4
const space = 0x20
