import { mercatorGeometry, usualGeometry } from '../geometry-column.ts'
import type { ByteWriter } from './byte-writer.ts'
import { type Column, hiddenColumns } from './columns.ts'
import { type ObjectPlan, planObjects, writeLongObject, writeObject } from './json-objects.ts'
import type { FormatOptions, RowFormat } from './row-format.ts'

/** The geometry is `the_geom` if no other column is named. */
export type GeojsonOptions = FormatOptions & Readonly<{ geometryColumn?: string | undefined }>

/**
 * A FeatureCollection. The statement has been wrapped so that the first column is the geometry as GeoJSON; the other
 * columns, except the geometry columns themselves, become the properties.
 */
export class GeojsonFormat implements RowFormat {
  readonly hasFields = false
  readonly #skipped: ReadonlySet<string>
  #plan: ObjectPlan | null = null
  #warn: (sentence: string) => void = () => undefined
  #rows = 0

  constructor({ skippedFields, geometryColumn }: GeojsonOptions) {
    const geometries = geometryColumn === undefined ? [usualGeometry, mercatorGeometry] : [geometryColumn]
    this.#skipped = new Set([...skippedFields, geojsonColumn, ...geometries])
  }

  begin(out: ByteWriter, _refuse: unknown, warn: (sentence: string) => void): void {
    this.#warn = warn
    out.ascii('{"type":"FeatureCollection","features":[')
  }

  columns(_out: ByteWriter, columns: readonly Column[]): void {
    const hidden = hiddenColumns(columns.filter(({ name }) => !this.#skipped.has(name)))
    if (hidden !== undefined) this.#warn(hidden)
    this.#plan = planObjects(columns, this.#skipped)
  }

  row(out: ByteWriter, row: Buffer, start: number, end: number): void {
    this.#geometry(out, row, start)
    writeObject(out, this.#plan!, row, start, end)
    out.ascii('}')
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    this.#geometry(out, row, start)
    yield* writeLongObject(out, this.#plan!, row, start)
    out.ascii('}')
  }

  #geometry(out: ByteWriter, row: Buffer, start: number): void {
    out.ascii(this.#rows > 0 ? ',{"type":"Feature","geometry":' : '{"type":"Feature","geometry":')
    this.#rows += 1
    const length = row.readInt32BE(start + 2)
    const [from, to] = [start + 6, start + 6 + length]
    if (length < 0) out.ascii('null')
    else if (needsRepair(row, from, to)) out.utf8(repaired(row.toString('utf8', from, to)))
    else out.copy(row, from, to)
    out.ascii(',"properties":')
  }

  end(out: ByteWriter): void {
    out.ascii(']}')
  }
}

/**
 * PostGIS writes NaN and Infinity as they are, and for an empty point in a collection nothing, `[,[1,1]]`, or from 3.5 on a
 * point without coordinates, `[[],[1,1]]`.
 */
function needsRepair(text: Buffer, start: number, end: number): boolean {
  let before = 0
  let earlier = 0
  for (let at = start; at < end; at += 1) {
    const byte = text[at]!
    if (byte === capitalN || byte === capitalI) return true
    if (before === comma ? byte === comma || byte === closing : before === opening && byte === comma)
      return true
    if (byte === closing && before === opening && (earlier === opening || earlier === comma)) return true
    earlier = before
    before = byte
  }
  return false
}

/** Removes empty points. If a coordinate is not a number the geometry is null, as GeoJSON prescribes. */
function repaired(text: string): string {
  const dense = text.replace(/(?<=[[,])\[\]/g, '').replace(/(?<=\[),+|,+(?=[,\]])/g, '')
  try {
    JSON.parse(dense)
    return dense
  } catch {
    return 'null'
  }
}

const [comma, capitalI, capitalN, opening, closing] = [44, 73, 78, 91, 93] as const

export const geojsonColumn = 'cartage_geojson'
