import type { ChartAggregate, ChartOrder } from '../../../src/contract/charts.ts'
import { formatCount } from '../../parts/format.ts'
import { type ChartLabel, mostSeries } from './chart-data.ts'
import { labelOf, placeText, saidLabel, timeText } from './labels.ts'
import { measured, type Tally, type XValue } from './tally.ts'

/** The names on an axis, and the place of each group of the tally; the last name may be "others". */
export type Named = Readonly<{
  labels: readonly ChartLabel[]
  places: Int32Array
  /** How many values "others" stands for. */
  others: number
}>

type Options = Readonly<{ aggregate: ChartAggregate; order: ChartOrder; most: number; isTime: boolean }>

/** The first names in the order, the rest as one. */
export function namesOf(tally: Tally, { aggregate, order, most, isTime }: Options): Named {
  const { xs } = tally
  const all = [...xs.keys()]
  if (order === 'name') all.sort((one, other) => compare(xs[one]!, xs[other]!))
  if (order === 'largest') {
    const [figures] = totals(tally, aggregate)
    const of = (at: number) => (Number.isNaN(figures![at]) ? Number.NEGATIVE_INFINITY : figures![at]!)
    all.sort((one, other) => of(other) - of(one) || one - other)
  }
  const kept = all.length > most ? all.slice(0, most - 1) : all
  const others = all.length - kept.length
  const places = new Int32Array(xs.length).fill(kept.length)
  kept.forEach((group, at) => {
    places[group] = at
  })
  const labels = kept.map((group) => labelOfX(xs[group]!, isTime))
  return { labels: others > 0 ? [...labels, othersLabel(others)] : labels, places, others }
}

const othersLabel = (count: number) => saidLabel(`others (${formatCount(count)})`)

const labelOfX = (value: XValue, isTime: boolean): ChartLabel =>
  typeof value !== 'number' ? labelOf(value) : saidLabelOfNumber(value, isTime)

const saidLabelOfNumber = (value: number, isTime: boolean): ChartLabel => ({
  text: isTime ? timeText(value, false) : placeText(value),
  isSaid: false,
})

const totals = (tally: Tally, aggregate: ChartAggregate) =>
  measured(tally, aggregate, {
    bands: tally.xs.length,
    band: Int32Array.from(tally.xs.keys()),
    series: 1,
    name: new Int32Array(tally.names.length),
  })

const byName = new Intl.Collator('en', { numeric: true })

/** NULL is last. */
function compare(one: XValue, other: XValue): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  return typeof one === 'number' ? one - Number(other) : byName.compare(one, String(other))
}

/** The series with the most rows, the rest as one. */
export function seriesOf(tally: Tally): Named {
  const { names } = tally
  const rows = new Float64Array(names.length)
  tally.rows.forEach((count, pair) => {
    rows[tally.series[pair]!]! += count
  })
  return topSeries(names, rows)
}

export function topSeries(names: readonly (string | null)[], rows: Float64Array): Named {
  const byRows = [...names.keys()].sort((one, other) => rows[other]! - rows[one]!)
  const kept = byRows
    .slice(0, names.length > mostSeries ? mostSeries - 1 : mostSeries)
    .sort((one, other) => compare(names[one]!, names[other]!))
  const places = new Int32Array(names.length).fill(kept.length)
  kept.forEach((name, at) => {
    places[name] = at
  })
  const others = names.length - kept.length
  const labels = kept.map((name) => labelOf(names[name]!))
  return { labels: others > 0 ? [...labels, othersLabel(others)] : labels, places, others }
}
