import type { ChartKind } from '../../../src/contract/charts.ts'
import { formatCount } from '../../parts/format.ts'
import { type ChartLabel, type ChartSeries, type ChartX, mostBars, mostParts } from './chart-data.ts'
import { type Found, hasZone } from './found.ts'
import { labelOf } from './labels.ts'
import { type Named, namesOf, seriesOf } from './names.ts'
import { inOrder, thinned, thinnedNote } from './points.ts'
import { numberRanges, type Ranges, rangeOf, timeRanges } from './ranges.ts'
import { measured, type Tally } from './tally.ts'

type Bands = Readonly<{
  x: ChartX
  series: readonly ChartSeries[]
  notes: readonly string[]
  problem?: string
}>

/** A line of more values is drawn in ranges of time. */
const mostTimes = 2_000

/** The grouped rows as bars, parts or points. */
export function bandsOf(found: Found, tally: Tally): Bands {
  const { kind } = found.spec
  const { xType } = found
  if (kind === 'pie') return parts(found, tally)
  if (xType === 'name') return named(found, tally, mostBars)
  if (isLine(kind)) return line(found, tally)
  const isFew = xType === 'number' && kind !== 'histogram' && tally.xs.length <= mostBars
  return isFew ? named(found, tally, mostBars) : ranged(found, tally)
}

const isLine = (kind: ChartKind) => kind === 'line' || kind === 'area' || kind === 'scatter'

function named(found: Found, tally: Tally, most: number): Bands {
  const { spec, aggregate, xType, x } = found
  const usual = spec.kind === 'line' || spec.kind === 'area' ? 'result' : 'largest'
  const order = xType === 'number' && spec.kind !== 'pie' ? 'name' : (spec.order ?? usual)
  const names = namesOf(tally, { aggregate, order, most, isTime: xType === 'time' })
  return {
    x: { form: 'names', labels: names.labels, areNumbers: xType === 'number' },
    series: figures(found, tally, names.labels.length, names.places),
    notes: [...othersNote(names, x.name), ...seriesNote(found, tally)],
  }
}

function parts(found: Found, tally: Tally): Bands {
  const bands = named(found, tally, mostParts)
  const { y } = bands.series[0]!
  if (y.some((value) => value < 0))
    return { ...bands, problem: 'A pie shows parts of a whole, and some are negative. Choose a bar chart.' }
  if (!y.some((value) => value > 0))
    return { ...bands, problem: 'A pie shows parts of a whole, and all are zero. Choose a bar chart.' }
  return bands
}

function ranged(found: Found, tally: Tally): Bands {
  const { xType, spec, x } = found
  const values = tally.xs as number[]
  const { edges, note } =
    xType === 'time' ? timeRanges(values, mostBars) : numberRanges(values, rangesFor(found, tally))
  const count = edges.length - 1
  const isTold = spec.kind !== 'histogram' || xType === 'time'
  return {
    x: { form: 'ranges', type: xType === 'time' ? 'time' : 'number', edges, hasZone: hasZone(x) },
    series: figures(found, tally, count, placesIn(edges, values)),
    notes: [...(note !== undefined && isTold ? [note] : []), ...seriesNote(found, tally)],
  }
}

/** By Rice's rule for a histogram. */
function rangesFor({ spec }: Found, tally: Tally): number {
  if (spec.kind !== 'histogram') return mostBars
  const rows = tally.rows.reduce((sum, count) => sum + count, 0)
  return Math.max(5, Math.min(mostBars, Math.ceil(2 * Math.cbrt(rows))))
}

const placesIn = (edges: Float64Array, values: readonly number[]) =>
  Int32Array.from(values, (value) => rangeOf(edges, value))

/** Points at each number or time, or at the starts of ranges of time if there are many. */
function line(found: Found, tally: Tally): Bands {
  const { xType, x, spec } = found
  const values = tally.xs as number[]
  const isRanged = xType === 'time' && values.length > mostTimes
  const ranges: Ranges | undefined = isRanged ? timeRanges(values, mostTimes) : undefined
  const at = ranges ? ranges.edges.slice(0, -1) : Float64Array.from(values)
  const places = ranges ? placesIn(ranges.edges, values) : Int32Array.from(values.keys())
  const all = figures(found, tally, at.length, places).map(({ y, label }) => {
    const kept = [...at.keys()].filter((place) => !Number.isNaN(y[place]))
    return {
      label,
      ...inOrder(
        kept.map((place) => at[place]!),
        kept.map((place) => y[place]!),
      ),
    }
  })
  const kept = thinned(all, spec.kind !== 'scatter')
  return {
    x: { form: 'line', type: xType === 'time' ? 'time' : 'number', hasZone: hasZone(x) },
    series: kept.map((points, one) => ({ label: all[one]!.label, ...points })),
    notes: [
      ...(ranges?.note ? [ranges.note] : []),
      ...seriesNote(found, tally),
      ...thinnedNote(all, kept, spec.kind),
    ],
  }
}

function figures(found: Found, tally: Tally, bands: number, band: Int32Array): ChartSeries[] {
  const { spec, aggregate, y } = found
  const split = spec.series === undefined ? undefined : seriesOf(tally)
  const places = {
    bands,
    band,
    series: split?.labels.length ?? 1,
    name: split?.places ?? new Int32Array(tally.names.length),
  }
  const labels: readonly ChartLabel[] =
    split?.labels ?? (aggregate === 'count' ? [{ text: 'rows', isSaid: true }] : y.map(labelOf))
  const x = Float64Array.from({ length: bands }, (_, at) => at)
  return measured(tally, aggregate, places).map((values, at) => ({ label: labels[at]!, x, y: values }))
}

const othersNote = ({ others, labels }: Named, name: string): string[] =>
  others === 0
    ? []
    : [
        `${name} has ${formatCount(labels.length - 1 + others)} values: ${formatCount(others)} of them are drawn as “others”.`,
      ]

function seriesNote({ spec }: Found, tally: Tally): string[] {
  if (spec.series === undefined) return []
  const { others, labels } = seriesOf(tally)
  if (others === 0) return []
  return [
    `${spec.series} has ${formatCount(others + labels.length - 1)} values: the ${labels.length - 1} with the most rows are series of their own.`,
  ]
}
