import type { ChartAggregate } from '../../../src/contract/charts.ts'

/** A value on the x axis: a name, or a number or time. */
export type XValue = string | number | null

type Sums = Readonly<{ numbers: number[]; sum: number[]; least: number[]; largest: number[] }>

/** The limit of series while rows are read. */
const mostKnown = 2 ** 21

/** Counts and sums of rows by x and series, in arrays of numbers, because there can be millions of pairs. */
export class Tally {
  /** The different values, in order of arrival. */
  readonly xs: XValue[] = []
  readonly names: (string | null)[] = []
  /** By pair of x and series. */
  readonly group: number[] = []
  readonly series: number[] = []
  readonly rows: number[] = []
  readonly ys: readonly Sums[]
  readonly #groups = new Map<XValue, number>()
  readonly #series = new Map<string | null, number>()
  readonly #pairs = new Map<number, number>()
  /** The pairs of the first series by group: most charts have only that one. */
  readonly #first: number[] = []

  constructor(ys: number) {
    this.ys = Array.from({ length: ys }, () => ({ numbers: [], sum: [], least: [], largest: [] }))
  }

  /** `values` are those of the y columns; NaN means no value. */
  add(x: XValue, name: string | null, values: readonly number[]): void {
    const pair = this.#pair(placeOf(this.#groups, this.xs, x), placeOf(this.#series, this.names, name))
    this.rows[pair]!++
    for (let y = 0; y < values.length; y++) {
      const value = values[y]!
      if (Number.isNaN(value)) continue
      const { numbers, sum, least, largest } = this.ys[y]!
      numbers[pair]!++
      sum[pair]! += value
      if (value < least[pair]!) least[pair] = value
      if (value > largest[pair]!) largest[pair] = value
    }
  }

  #pair(group: number, series: number): number {
    const key = group * mostKnown + series
    const known = series === 0 ? this.#first[group] : this.#pairs.get(key)
    if (known !== undefined) return known
    const made = this.group.push(group) - 1
    this.series.push(series)
    this.rows.push(0)
    for (const { numbers, sum, least, largest } of this.ys) {
      numbers.push(0)
      sum.push(0)
      least.push(Number.POSITIVE_INFINITY)
      largest.push(Number.NEGATIVE_INFINITY)
    }
    if (series === 0) this.#first[group] = made
    else this.#pairs.set(key, made)
    return made
  }
}

function placeOf<T>(known: Map<T, number>, list: T[], value: T): number {
  const found = known.get(value)
  if (found !== undefined) return found
  const made = list.push(value) - 1
  known.set(value, made)
  return made
}

/** The places of the groups and series of a tally. A group at -1 is left out. */
export type Places = Readonly<{
  bands: number
  band: ArrayLike<number>
  series: number
  name: ArrayLike<number>
}>

/** One figure for each band of each series. Several y columns are separate series. */
export function measured(tally: Tally, aggregate: ChartAggregate, places: Places): Float64Array[] {
  if (aggregate === 'count') return [...Array(places.series).keys()].map((one) => counted(tally, places, one))
  return tally.ys.flatMap((sums) =>
    [...Array(places.series).keys()].map((one) => figures(tally, sums, aggregate, places, one)),
  )
}

function counted(tally: Tally, { bands, band, name }: Places, one: number): Float64Array {
  const made = new Float64Array(bands)
  tally.rows.forEach((count, pair) => {
    const at = band[tally.group[pair]!]!
    if (at >= 0 && name[tally.series[pair]!] === one) made[at]! += count
  })
  return made.map((count) => (count === 0 ? Number.NaN : count))
}

function figures(
  tally: Tally,
  sums: Sums,
  aggregate: ChartAggregate,
  { bands, band, name }: Places,
  one: number,
): Float64Array {
  const numbers = new Float64Array(bands)
  const made = new Float64Array(bands).fill(start[aggregate] ?? 0)
  for (let pair = 0; pair < tally.rows.length; pair++) {
    const at = band[tally.group[pair]!]!
    if (at < 0 || name[tally.series[pair]!] !== one || sums.numbers[pair] === 0) continue
    numbers[at]! += sums.numbers[pair]!
    if (aggregate === 'minimum') made[at] = Math.min(made[at]!, sums.least[pair]!)
    else if (aggregate === 'maximum') made[at] = Math.max(made[at]!, sums.largest[pair]!)
    else made[at]! += sums.sum[pair]!
  }
  return made.map((figure, at) => {
    const shown = aggregate === 'average' ? figure / numbers[at]! : figure
    return numbers[at] === 0 || !Number.isFinite(shown) ? Number.NaN : shown
  })
}

const start: Readonly<Partial<Record<ChartAggregate, number>>> = {
  minimum: Number.POSITIVE_INFINITY,
  maximum: Number.NEGATIVE_INFINITY,
}
