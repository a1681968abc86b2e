import { makeData, RecordBatch, RecordBatchStreamWriter, Schema, Struct } from 'apache-arrow'
import { type AppError, errors } from '../../errors.ts'
import type { ByteWriter } from '../rows/byte-writer.ts'
import type { Column } from '../rows/columns.ts'
import type { FormatOptions, RowFormat } from '../rows/row-format.ts'
import { type ArrowColumn, arrowColumn, fieldOf } from './arrow-types.ts'
import { UnfitValue, type Values } from './column-builders.ts'
import type { GeometryOids } from './geometry-types.ts'
import { maxWaiting, WaitingRows } from './waiting-rows.ts'
import { sridOf } from './wkb.ts'

/** An Arrow IPC stream: the schema, then batches of rows as they arrive. */
export class ArrowFormat implements RowFormat {
  readonly hasFields = false
  readonly #options: FormatOptions & { format: string }
  readonly #oids: GeometryOids
  #refuse: (reason: AppError) => void = () => undefined
  #columns: readonly ArrowColumn[] = []
  /** For each column of the result, its place in `#columns`, or -1. */
  #places: readonly number[] = []
  #described: readonly Column[] | undefined
  /** The SRID of each geometry column: as declared, or that of its first value; undefined before the first value. */
  #srids: (number | undefined)[] = []
  #writer: BatchWriter | undefined
  readonly #waiting = new WaitingRows()
  #rows = 0
  #allRows = 0
  #refusal: AppError | undefined

  /** `format` is for messages: Parquet is written from Arrow. */
  constructor(options: FormatOptions & { format: string }, oids: GeometryOids) {
    this.#options = options
    this.#oids = oids
  }

  begin(_out: ByteWriter, refuse: (reason: AppError) => void): void {
    this.#refuse = (reason) => {
      this.#refusal ??= reason
      refuse(reason)
    }
  }

  columns(_out: ByteWriter, columns: readonly Column[]): void {
    if (columns.some(({ isBinary }) => isBinary))
      this.#refuse(errors.badRequest(binaryRows(this.#options.format)))
    if (this.#described) {
      if (!sameColumns(this.#described, columns))
        this.#refuse(errors.badRequest(twoResults(this.#options.format)))
      return
    }
    this.#described = columns
    this.#waiting.prepare(columns.length)
    const shown = columns.filter(({ name }) => !this.#options.skippedFields.has(name))
    const names = new Set<string>()
    this.#columns = shown.map((column) =>
      arrowColumn({ ...column, name: freeName(column.name, names) }, this.#oids),
    )
    this.#srids = shown.map(({ modifier }) => sridOfModifier(modifier) || undefined)
    this.#places = columns.map((column) => shown.indexOf(column))
  }

  row(out: ByteWriter, row: Buffer, start: number, end: number): void {
    if (this.#refusal) return
    if (this.#waiting.isFull(end - start)) this.#take(out)
    this.#waiting.add(row, start, end)
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    yield
    this.row(out, row, start, row.length)
  }

  end(out: ByteWriter): void {
    this.#take(out)
    if (this.#refusal) throw this.#refusal
    if (this.#rows > 0) this.#flush(out)
    this.#writerFor(out).finish()
  }

  /** Moves the rows that wait into the batch. */
  #take(out: ByteWriter): void {
    const values = this.#waiting.values(this.#places.length)
    if (this.#refusal || values.count === 0) return
    this.#places.forEach((place, column) => {
      if (place >= 0) this.#append(place, { ...values, first: column * maxWaiting })
    })
    this.#waiting.clear()
    this.#rows += values.count
    this.#allRows += values.count
    const bytes = this.#columns.reduce((sum, { builder }) => sum + builder.bytes, 0)
    const { rows: mostRows, bytes: mostBytes } = batchLimits(this.#options.format)
    if (this.#rows + maxWaiting > mostRows || bytes >= mostBytes) this.#flush(out)
  }

  #append(place: number, values: Values): void {
    const column = this.#columns[place]!
    try {
      if (column.isGeometry) this.#checkSrids(place, values)
      column.builder.append(values)
    } catch (error) {
      if (!(error instanceof UnfitValue)) throw error
      const row = this.#allRows + values.starts.indexOf(error.start, values.first) - values.first + 1
      if (!this.#refusal)
        this.#refuse(
          errors.valueUnfit(this.#options.format, `${error.message} in column ${column.name}, row ${row}`),
        )
    }
  }

  /** The metadata name one reference system for the whole column. */
  #checkSrids(place: number, { bytes, starts, lengths, first, count }: Values): void {
    for (let value = first; value < first + count; value += 1) {
      if (lengths[value]! < 0) continue
      const start = starts[value]!
      const srid = sridOf(bytes, start)
      const known = this.#srids[place] ?? srid
      this.#srids[place] = known
      if (srid !== known) throw new UnfitValue(`SRID ${srid} beside SRID ${known}`, start)
    }
  }

  #flush(out: ByteWriter): void {
    const writer = this.#writerFor(out)
    const children = this.#columns.map(({ builder }) => builder.finish())
    const type = new Struct(writer.fields)
    writer.write(
      new RecordBatch(writer.columns, makeData({ type, length: this.#rows, nullCount: 0, children })),
    )
    this.#rows = 0
  }

  #writerFor(out: ByteWriter): BatchWriter {
    this.#writer ??= new BatchWriter(
      new Schema(this.#columns.map((column, place) => fieldOf(column, this.#srids[place] ?? 0))),
      (bytes) => out.copy(bytes, 0, bytes.length),
    )
    return this.#writer
  }
}

/** The library writes the format; its bytes go straight to the answer. */
class BatchWriter extends RecordBatchStreamWriter {
  readonly columns: Schema
  readonly #onBytes: (bytes: Buffer) => void

  constructor(columns: Schema, onBytes: (bytes: Buffer) => void) {
    super()
    this.columns = columns
    this.#onBytes = onBytes
    this.reset(undefined, columns)
  }

  get fields(): Schema['fields'] {
    return this.columns.fields
  }

  protected override _write(chunk: ArrayBufferView): this {
    const { buffer, byteOffset, byteLength } = chunk
    if (byteLength > 0) this.#onBytes(Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength))
    this._position += byteLength
    return this
  }
}

/** The SRID in a type such as `geometry(Point,4326)`. */
const sridOfModifier = (modifier: number) =>
  modifier < 0 ? 0 : ((modifier & 0x0fffff00) - (modifier & 0x10000000)) >> 8

/** The second column `a` is `a_1`: readers find columns by their names. */
function freeName(name: string, used: Set<string>): string {
  let free = name
  for (let count = 1; used.has(free); count += 1) free = `${name}_${count}`
  used.add(free)
  return free
}

const sameColumns = (one: readonly Column[], other: readonly Column[]) =>
  one.length === other.length &&
  one.every(({ name, typeOid, modifier }, at) => {
    const column = other[at]!
    return column.name === name && column.typeOid === typeOid && column.modifier === modifier
  })

/** The writer of Parquet makes its row groups of many batches: small ones keep it busy, and take less memory here. */
const batchLimits = (format: string) =>
  format === 'parquet' ? { rows: 16 * 1024, bytes: 2 * 1024 ** 2 } : { rows: 64 * 1024, bytes: 7 * 1024 ** 2 }

const twoResults = (format: string) =>
  `The format ${format} has one list of columns: all statements with rows must have the same`
const binaryRows = (format: string) => `The format ${format} cannot read rows of a BINARY cursor`
