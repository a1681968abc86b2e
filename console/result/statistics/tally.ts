import { readEwkb } from '../../geo/ewkb.ts'
import { boundsOf } from '../../geo/shapes.ts'
import type { ResultColumn } from '../worker/protocol.ts'
import { shownTime } from '../worker/shown-cell.ts'
import {
  type ColumnStatistics,
  longestText,
  mostCommon,
  mostStatisticsColumns,
  type ResultStatistics,
} from './column-statistics.ts'
import { readerFor } from './distribution.ts'

/** Rows of any holder. A value is its text; null is NULL. */
type Rows = Readonly<{ count: number; row: (at: number) => readonly (string | null)[] }>

const mostSampled = 10_000
const mostDistinct = 10_000
/** With both ends. */
const bounds = 41

/** Reads all rows. */
export function readStatistics(columns: readonly ResultColumn[], { count, row }: Rows): ResultStatistics {
  const tallies = columns.slice(0, mostStatisticsColumns).map((column) => new Tally(column))
  const step = Math.max(1, Math.ceil(count / mostSampled))
  for (let at = 0; at < count; at++) {
    const values = row(at)
    const isSampled = at % step === 0
    for (const [place, tally] of tallies.entries()) tally.add(values[place] ?? null, isSampled)
  }
  return {
    rows: count,
    sampled: Math.ceil(count / step),
    columns: tallies.map((tally) => tally.statistics(count)),
    leftOut: Math.max(0, columns.length - mostStatisticsColumns),
  }
}

type Ordered = Readonly<{ at: number; value: string }>

/** A value is counted by its key: itself, or of a long text the beginning, the length and a checksum. */
class Tally {
  readonly #column: ResultColumn
  readonly #type: string
  readonly #read: ((text: string) => number) | undefined
  readonly #hasValues: boolean
  readonly #counts = new Map<string, number>()
  readonly #sample: string[] = []
  #hasMoreDistinct = false
  #nulls = 0
  /** The least and the largest number or time. Only the database can order texts. */
  #least: Ordered | undefined
  #largest: Ordered | undefined
  #box: number[] | undefined

  constructor(column: ResultColumn) {
    this.#column = column
    this.#type = column.pgtype ?? column.type
    this.#read = readerFor(this.#type) ?? (column.type === 'number' ? Number : undefined)
    this.#hasValues = column.type !== 'geometry' && this.#type !== 'bytea'
  }

  add(value: string | null, isSampled: boolean): void {
    if (value === null) this.#nulls++
    else if (this.#hasValues) this.#count(this.#keyOf(value), isSampled)
    else if (isSampled) this.#extend(value)
  }

  statistics(rows: number): ColumnStatistics {
    return {
      name: this.#column.name,
      type: this.#type,
      nullShare: rows === 0 ? 0 : this.#nulls / rows,
      distinct: this.#hasValues ? this.#counts.size : undefined,
      hasMoreDistinct: this.#hasMoreDistinct,
      common: this.#common(rows),
      bounds: this.#bounds(),
      extent: this.#box,
    }
  }

  /** Numbers and times are as PostgreSQL writes them. */
  #keyOf(value: string): string {
    if (this.#column.type === 'date') return shownTime(value, this.#column.pgtype).replace(/ UTC$/, '+00')
    return this.#read ? value : keyOf(value)
  }

  #count(value: string, isSampled: boolean): void {
    const known = this.#counts.get(value)
    if (known !== undefined || this.#counts.size < mostDistinct) this.#counts.set(value, (known ?? 0) + 1)
    else this.#hasMoreDistinct = true
    if (isSampled) this.#sample.push(value)
    if (!this.#read) return
    const one = { at: this.#read(value), value }
    if (!Number.isFinite(one.at)) return
    if (!this.#least || this.#isLess(one, this.#least)) this.#least = one
    if (!this.#largest || this.#isLess(this.#largest, one)) this.#largest = one
  }

  #isLess(one: Ordered, other: Ordered): boolean {
    if (one.at !== other.at) return one.at < other.at
    // Whole numbers of which JavaScript keeps too few digits.
    const areWhole = one.value !== other.value && isWhole.test(one.value) && isWhole.test(other.value)
    return areWhole && BigInt(one.value) < BigInt(other.value)
  }

  /** Values that came after too many others were not counted: then the sample tells. */
  #common(rows: number): ColumnStatistics['common'] {
    const counts = this.#hasMoreDistinct ? countsOf(this.#sample) : this.#counts
    const all = this.#hasMoreDistinct ? this.#sample.length / (1 - this.#nulls / rows) : rows
    return [...counts]
      .filter(([, count]) => count > 1)
      .sort(([, a], [, b]) => b - a)
      .slice(0, mostCommon)
      .map(([key, count]) => ({ value: shownKey(key), share: count / all }))
  }

  #bounds(): readonly string[] {
    const read = this.#read
    if (!read || !this.#least || !this.#largest) return []
    const sorted = this.#sample
      .map((value) => ({ at: read(value), value }))
      .filter(({ at }) => Number.isFinite(at))
      .sort((a, b) => a.at - b.at)
    const between = Array.from(
      { length: sorted.length === 0 ? 0 : bounds - 2 },
      (_, at) => sorted[Math.round(((at + 1) / (bounds - 1)) * (sorted.length - 1))]!.value,
    )
    return [this.#least.value, ...between, this.#largest.value]
  }

  #extend(hex: string): void {
    const found = this.#column.type === 'geometry' ? readEwkb(hex) : undefined
    if (!found) return
    const [west, south, east, north] = boundsOf(found.geometry)
    const box = this.#box
    this.#box = box
      ? [Math.min(box[0]!, west), Math.min(box[1]!, south), Math.max(box[2]!, east), Math.max(box[3]!, north)]
      : [west, south, east, north]
  }
}

const isWhole = /^-?\d+$/

const keyOf = (text: string) =>
  text.length > longestText ? `${text.slice(0, longestText)} ${text.length} ${checksum(text)}` : text

const shownKey = (key: string) => (key.length > longestText ? `${key.slice(0, longestText)}…` : key)

/** Of 64 bits. */
function checksum(text: string): string {
  let [one, other] = [0xdeadbeef, 0x41c6ce57]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    one = Math.imul(one ^ code, 2654435761)
    other = Math.imul(other ^ code, 1597334677)
  }
  return `${one} ${other}`
}

function countsOf(values: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
