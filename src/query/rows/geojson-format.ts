import type { ByteWriter } from './byte-writer.ts'
import type { Column } from './columns.ts'
import { type ObjectPlan, planObjects, writeLongObject, writeObject } from './json-objects.ts'
import type { FormatOptions, RowFormat } from './row-format.ts'

/**
 * A FeatureCollection. The statement has been wrapped so that the first column is the geometry as GeoJSON; the
 * other columns, without the geometry columns themselves, become the properties.
 */
export class GeojsonFormat implements RowFormat {
  readonly hasFields = false
  readonly #skipped: readonly string[]
  #plan: ObjectPlan | null = null
  #rows = 0

  constructor(options: FormatOptions) {
    this.#skipped = [...options.skippedFields, geojsonColumn, geometryColumn, 'the_geom_webmercator']
  }

  begin(out: ByteWriter): void {
    out.ascii('{"type":"FeatureCollection","features":[')
  }

  columns(_out: ByteWriter, columns: readonly Column[]): void {
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
    if (length < 0) out.ascii('null')
    else out.copy(row, start + 6, start + 6 + length)
    out.ascii(',"properties":')
  }

  end(out: ByteWriter): void {
    out.ascii(']}')
  }
}

export const geometryColumn = 'the_geom'
export const geojsonColumn = 'cartage_geojson'
