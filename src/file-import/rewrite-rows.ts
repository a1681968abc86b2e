import { joinBytes } from '../contract/text/join-bytes.ts'
import { CsvError, type CsvRecord, fieldBytes } from './csv-records.ts'
import { encodings } from './encodings.ts'
import { type BadRow, FittingRecords } from './fitting-records.ts'
import type { ImportPlan } from './import-plan.ts'
import { coordinateOf, hasPointField, pointText } from './point-field.ts'
import { plainValue } from './values/local-values.ts'

/** Whether the file cannot be sent as it is. */
export const isRewritten = (plan: ImportPlan) =>
  plan.columns.some(({ form }) => form !== undefined) ||
  (plan.dialect.nulls?.length ?? 0) > 0 ||
  hasPointField(plan)

/**
 * The rows as COPY reads them: numbers and dates in PostgreSQL's own form, what stands for NULL as NULL, with a point if the plan
 * has one. One line for each line of the file, so that COPY counts as the file does.
 */
export async function* rewriteRows(
  text: AsyncIterable<Uint8Array>,
  plan: ImportPlan,
): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = []
  const rewriter = new RowRewriter(plan, (part) => parts.push(part))
  for await (const chunk of text) {
    rewriter.push(chunk)
    if (parts.length > 0) yield joinBytes(parts)
    parts = []
  }
  rewriter.end()
  if (parts.length > 0) yield joinBytes(parts)
}

class RowRewriter {
  readonly #plan: ImportPlan
  readonly #write: (part: Uint8Array) => void
  readonly #records: FittingRecords
  readonly #decoder: InstanceType<typeof TextDecoder>
  readonly #nulls: ReadonlySet<string>
  readonly #longestNull: number
  readonly #null: Uint8Array
  /** Where longitude and latitude are; undefined: the rows have no point. */
  readonly #pointPlaces: readonly [lon: number, lat: number] | undefined
  readonly #delimiter: Uint8Array
  #isHeaderNext: boolean

  constructor(plan: ImportPlan, write: (part: Uint8Array) => void) {
    this.#plan = plan
    this.#write = write
    const { nulls = [], encoding, hasHeader } = plan.dialect
    this.#decoder = new TextDecoder(encodings[encoding])
    this.#nulls = new Set(nulls)
    // A character has at most 4 bytes.
    this.#longestNull = 4 * Math.max(0, ...nulls.map(({ length }) => length))
    this.#isHeaderNext = hasHeader
    this.#null = plan.hasNullMark === true || plan.dialect.isCopyText === true ? nullMark : nothing
    this.#delimiter = encoder.encode(plan.dialect.delimiter)
    const placeOf = (wanted: string) => plan.columns.findIndex(({ name }) => name === wanted)
    const { points } = plan
    this.#pointPlaces = points && hasPointField(plan) ? [placeOf(points.lon), placeOf(points.lat)] : undefined
    this.#records = new FittingRecords(
      plan.dialect,
      (record) => this.#take(record),
      (row) => this.#takeBad(row),
    )
  }

  push(chunk: Uint8Array): void {
    this.#records.push(chunk)
  }

  end(): void {
    this.#records.end()
  }

  #takeBad({ line, message, bytes }: BadRow): void {
    if (!this.#plan.sendsBad) throw new CsvError(line, message)
    if (this.#pointPlaces) this.#writePoint(this.#null)
    this.#write(bytes.slice())
    this.#write(lineEnd)
  }

  #take(record: CsvRecord): void {
    const { bytes, starts, ends, count } = record
    const whole = bytes.subarray(starts[0]!, ends[count - 1]!)
    const isHeader = this.#isHeaderNext
    this.#isHeaderNext = false
    if (isHeader) this.#write(whole)
    else this.#writeRow(record, whole)
    this.#write(lineEnd)
  }

  #writeRow(record: CsvRecord, whole: Uint8Array): void {
    const { bytes, starts, ends, count } = record
    if (this.#pointPlaces) this.#writePoint(this.#pointOf(record, this.#pointPlaces))
    let from = starts[0]!
    for (let at = 0; at < count; at++) {
      const changed = this.#changed(record, at)
      if (changed === undefined) continue
      if (starts[at]! > from) this.#write(bytes.subarray(from, starts[at]!))
      if (changed.length > 0) this.#write(changed)
      from = ends[at]!
    }
    if (from === starts[0]!) this.#write(whole)
    else if (from < ends[count - 1]!) this.#write(bytes.subarray(from, ends[count - 1]!))
  }

  /** The bytes of a field that cannot stay as they are. */
  #changed(record: CsvRecord, at: number): Uint8Array | undefined {
    const { form } = this.#plan.columns[at]!
    const length = record.ends[at]! - record.starts[at]!
    if (length === 0 || (form === undefined && length > this.#longestNull)) return undefined
    const text = this.#decoder.decode(fieldBytes(record, at))
    if (this.#nulls.has(text)) return this.#null
    if (form === undefined) return undefined
    const plain = plainValue(text, form)
    return plain === text ? undefined : encoder.encode(plain)
  }

  #writePoint(point: Uint8Array): void {
    this.#write(point)
    this.#write(this.#delimiter)
  }

  #pointOf(record: CsvRecord, [lonPlace, latPlace]: readonly [lon: number, lat: number]): Uint8Array {
    const lon = this.#coordinate(record, lonPlace)
    const lat = this.#coordinate(record, latPlace)
    return lon === undefined || lat === undefined ? this.#null : encoder.encode(pointText(lon, lat))
  }

  #coordinate(record: CsvRecord, at: number): number | undefined {
    const text = this.#decoder.decode(fieldBytes(record, at))
    if (this.#nulls.has(text)) return undefined
    const { form } = this.#plan.columns[at]!
    return coordinateOf(form === undefined ? text : plainValue(text, form))
  }
}

const lineEnd = new Uint8Array([10])
const nothing = new Uint8Array()
const encoder = new TextEncoder()
const nullMark = encoder.encode('\\N')
