import { membersOf, type RawMember, RowScanner, shownValue } from '../../../src/contract/text/json-rows.ts'
import type { ResultColumn, ResultOrder, ResultRow } from './protocol.ts'
import { guessColumn, shownCell, shownTime } from './shown-cell.ts'

/** The bytes of an answer with the position of each row. Rows are parsed when they are read. */
export class StoredRows {
  readonly #scanner = new RowScanner()
  readonly #chunks: Uint8Array[] = []
  readonly #chunkStarts: number[] = []
  readonly #decoder = new TextDecoder()
  #columns: ResultColumn[] = []
  #order: Uint32Array | null = null
  bytes = 0

  get count(): number {
    return this.#scanner.count
  }

  /** The columns seen so far. Their types are final when the answer is complete. */
  get columns(): readonly ResultColumn[] {
    return this.#columns
  }

  get isComplete(): boolean {
    return this.#scanner.tailStart !== undefined
  }

  add(chunk: Uint8Array): void {
    this.#chunkStarts.push(this.bytes)
    this.#chunks.push(chunk)
    this.bytes += chunk.length
    this.#scanner.feed(chunk)
    if (this.#columns.length === 0 && this.count > 0) this.#read(0)
  }

  /** The answer as it arrived. */
  get answer(): Blob {
    return new Blob(this.#chunks as Uint8Array<ArrayBuffer>[])
  }

  /** Parses what comes after the rows. Throws if the answer was cut off. */
  readTail(): Readonly<{ time: number; total_rows: number; notices?: string[]; warnings?: string[] }> {
    const start = this.#scanner.tailStart
    if (start === undefined) throw new Error('The answer was cut off')
    const text = `{${this.#text(start, this.bytes).slice(1)}`
    const fields = membersOf(text).find(([name]) => name === 'fields')?.[1] ?? '{}'
    this.#takeFields(membersOf(fields))
    return JSON.parse(text)
  }

  /** A row in the current order, as the grid shows it. `cell` returns full values. */
  row(at: number): ResultRow {
    return this.#read(this.#order?.[at] ?? at).map((raw, column) => shownCell(raw, this.#columns[column]!))
  }

  /** The JSON of each value of a row, in the original order. */
  raw(row: number): readonly (string | undefined)[] {
    return this.#read(row)
  }

  wholeRow(at: number): ResultRow {
    return this.#read(this.#order?.[at] ?? at).map((raw) => (raw === undefined ? null : shownValue(raw)))
  }

  cell(at: number, column: number): string | null {
    const raw = this.#read(this.#order?.[at] ?? at)[column]
    return raw === undefined ? null : shownValue(raw)
  }

  /** Full values of some columns; the row is read once. */
  cells(at: number, columns: readonly number[]): readonly (string | null)[] {
    const row = this.wholeRow(at)
    return columns.map((column) => row[column] ?? null)
  }

  sort(order: ResultOrder | null): void {
    this.#order = null
    if (!order) return
    const isNumber = this.#columns[order.column]?.type === 'number'
    const values = Array.from({ length: this.count }, (_, at) => this.cell(at, order.column))
    const numbers = isNumber ? Float64Array.from(values, Number) : undefined
    const sign = order.isDescending ? -1 : 1
    const compare = (a: number, b: number) => {
      const [one, other] = [values[a]!, values[b]!]
      // As in PostgreSQL: NULL last, or first if descending.
      if (one === null || other === null) return sign * (Number(one === null) - Number(other === null))
      if (numbers) return sign * (numbers[a]! - numbers[b]!)
      return sign * (one < other ? -1 : one > other ? 1 : 0)
    }
    this.#order = new Uint32Array(this.count).map((_, at) => at).sort((a, b) => compare(a, b) || a - b)
  }

  /** Searches from a row on, wrapping around. */
  find(text: string, from: number): { row: number; column: number } | null {
    const wanted = this.#wanted(text.toLowerCase())
    const first = Math.min(from, this.count)
    return this.#findBetween(wanted, first, this.count) ?? this.#findBetween(wanted, 0, first)
  }

  /** A time is also found in the form that is shown: `2026-01-31 10:00`. */
  #wanted(text: string): Wanted {
    const times = this.#columns.flatMap(({ type }, at) => (type === 'date' && /\d/.test(text) ? [at] : []))
    const sent = text.replace(/(\d) (\d)/, '$1t$2').replace(/ .*/, '')
    return { text, times, sent: times.length > 0 ? sent : text }
  }

  #findBetween(wanted: Wanted, from: number, to: number): { row: number; column: number } | null {
    for (let batch = from; batch < to; batch += findRows) {
      const end = Math.min(batch + findRows, to)
      if (!this.#order && !this.#mayHave(wanted, batch, end)) continue
      for (let row = batch; row < end; row++) {
        const values = this.wholeRow(row)
        const column = values.findIndex((value, at) => this.#has(wanted, value, at))
        if (column >= 0) return { row, column }
      }
    }
    return null
  }

  #has({ text, times }: Wanted, value: string | null, column: number): boolean {
    const { type, pgtype } = this.#columns[column]!
    // Short texts occur in most geometries, whose digits are not shown.
    if (value === null || (type === 'geometry' && text.length < shortestHex)) return false
    if (value.toLowerCase().includes(text)) return true
    return times.includes(column) && shownTime(value, pgtype).toLowerCase().includes(text)
  }

  /** A quick check of many rows at once: a value appears as it is, or escaped as in JSON. */
  #mayHave({ text: wanted, sent }: Wanted, from: number, to: number): boolean {
    const text = this.#text(this.#scanner.start(from), this.#scanner.end(to - 1)).toLowerCase()
    return [wanted, sent, JSON.stringify(wanted).slice(1, -1)].some((each) => text.includes(each))
  }

  /** The raw JSON values of a row, one per column. */
  #read(row: number): (string | undefined)[] {
    const members = membersOf(this.#text(this.#scanner.start(row), this.#scanner.end(row)))
    const isUsual =
      members.length === this.#columns.length &&
      members.every(([name], at) => name === this.#columns[at]!.name)
    return isUsual ? members.map(([, raw]) => raw) : this.#readUnusual(members)
  }

  /** Rows of several statements can have different columns, and one row two columns of the same name. */
  #readUnusual(members: readonly RawMember[]): (string | undefined)[] {
    const values: (string | undefined)[] = []
    for (const [name, raw] of members) {
      let place = this.#columns.findIndex((column, at) => column.name === name && values[at] === undefined)
      if (place < 0) place = this.#columns.push(guessColumn(name, raw)) - 1
      values[place] = raw
    }
    return Array.from(this.#columns, (_, at) => values[at])
  }

  #takeFields(fields: readonly RawMember[]): void {
    const known = new Map(fields.map(([name, raw]) => [name, { ...(JSON.parse(raw) as ResultColumn), name }]))
    this.#columns = this.#columns.map((column) => known.get(column.name) ?? column)
    // Without rows only the fields name the columns.
    if (this.count === 0) this.#columns = [...known.values()]
  }

  #text(start: number, end: number): string {
    let index = this.#chunkAt(start)
    const first = this.#chunks[index]!
    const offset = this.#chunkStarts[index]!
    if (end - offset <= first.length)
      return this.#decoder.decode(first.subarray(start - offset, end - offset))
    const bytes = new Uint8Array(end - start)
    for (let at = start; at < end; index++) {
      const from = at - this.#chunkStarts[index]!
      const part = this.#chunks[index]!.subarray(from, from + end - at)
      bytes.set(part, at - start)
      at += part.length
    }
    return this.#decoder.decode(bytes)
  }

  /** The last chunk that begins at or before a position. */
  #chunkAt(position: number): number {
    let [low, high] = [0, this.#chunks.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#chunkStarts[middle]! <= position) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** A text to find; `sent` is how the service may have sent it, `times` are the columns where that differs. */
type Wanted = Readonly<{ text: string; sent: string; times: readonly number[] }>

const findRows = 1000
const shortestHex = 16
