import type { ChartDefinition } from '../../../src/contract/charts.ts'
import { plural } from '../../parts/format.ts'
import { bandsOf } from './bands.ts'
import type { ChartColumn, ChartData, ChartProblem, ChartRows, ChartX } from './chart-data.ts'
import { type Found, findColumns, hasZone } from './found.ts'
import { labelOf } from './labels.ts'
import { topSeries } from './names.ts'
import { inOrder, thinned, thinnedNote } from './points.ts'
import { Tally, type XValue } from './tally.ts'
import { titleOf } from './title.ts'

const rowsAtOnce = 5_000

/**
 * Reads all rows of a chart. A generator that pauses every 5,000 rows: a worker runs it to its end, a page in slices,
 * so that the page stays responsive.
 */
export function* readChart(
  spec: ChartDefinition,
  columns: readonly ChartColumn[],
  rows: ChartRows,
): Generator<void, ChartData | ChartProblem> {
  const found = findColumns(spec, columns)
  if ('problem' in found) return found
  if (rows.count === 0) return { problem: 'No rows.' }
  return yield* found.aggregate === 'none' ? readPoints(found, rows) : readTally(found, rows)
}

/** Runs a generator to its end. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Beyond this, sums of numbers become infinite. */
const largest = 1e300

const numberOf = (value: string | null): number => {
  const number = value === null || value === '' ? Number.NaN : Number(value)
  return Math.abs(number) <= largest ? number : Number.NaN
}

const readX = (value: string | null, xType: Found['xType']): XValue =>
  xType === 'name'
    ? value
    : xType === 'number'
      ? numberOf(value)
      : value === null
        ? Number.NaN
        : Date.parse(value)

function* readTally(found: Found, rows: ChartRows): Generator<void, ChartData | ChartProblem> {
  const { xType, places, y, spec } = found
  const tally = new Tally(y.length)
  let leftOut = 0
  for (let at = 0; at < rows.count; at++) {
    if (at % rowsAtOnce === 0) yield
    const values = rows.row(at, places)
    const x = readX(values[0]!, xType)
    if (typeof x === 'number' && Number.isNaN(x)) leftOut++
    else
      tally.add(
        x,
        spec.series === undefined ? '' : values[1 + y.length]!,
        y.map((_, of) => numberOf(values[1 + of]!)),
      )
  }
  if (tally.xs.length === 0) return nothingToDraw(found)
  const { x, series, notes, problem } = bandsOf(found, tally)
  if (problem !== undefined) return { problem }
  return drawn(found, x, series, [...leftOutNote(found, leftOut), ...notes])
}

function* readPoints(found: Found, rows: ChartRows): Generator<void, ChartData | ChartProblem> {
  const { xType, places, y, spec, x } = found
  const names = new Map<string | null, number>()
  const clouds: { x: number[]; y: number[] }[] = []
  const cloud = (name: string | null) => {
    const known = names.get(name) ?? names.size
    if (known === names.size) names.set(name, clouds.push({ x: [], y: [] }) - 1)
    return clouds[known]!
  }
  let leftOut = 0
  for (let at = 0; at < rows.count; at++) {
    if (at % rowsAtOnce === 0) yield
    const values = rows.row(at, places)
    const place = readX(values[0]!, xType) as number
    if (Number.isNaN(place)) {
      leftOut++
      continue
    }
    for (let of = 0; of < y.length; of++) {
      const { x, y } = cloud(spec.series === undefined ? String(of) : values[2]!)
      x.push(place)
      y.push(numberOf(values[1 + of]!))
    }
  }
  if (clouds.length === 0) return nothingToDraw(found)
  const { labels, points } =
    spec.series === undefined ? { labels: y.map(labelOf), points: clouds } : merged(names, clouds)
  const all = points.map((one) => inOrder(one.x, one.y))
  const drawnPoints = thinned(all, spec.kind !== 'scatter')
  const axis = { form: 'line', type: xType === 'time' ? 'time' : 'number', hasZone: hasZone(x) } as const
  const series = drawnPoints.map((one, at) => ({ label: labels[at]!, ...one }))
  return drawn(found, axis, series, [
    ...leftOutNote(found, leftOut),
    ...thinnedNote(all, drawnPoints, spec.kind),
  ])
}

/** The series with the fewest rows become one. */
function merged(names: ReadonlyMap<string | null, number>, clouds: readonly { x: number[]; y: number[] }[]) {
  const { labels, places } = topSeries(
    [...names.keys()],
    Float64Array.from(clouds, ({ x }) => x.length),
  )
  const points = labels.map(() => ({ x: [] as number[], y: [] as number[] }))
  clouds.forEach(({ x, y }, at) => {
    const into = points[places[at]!]!
    for (let of = 0; of < x.length; of++) {
      into.x.push(x[of]!)
      into.y.push(y[of]!)
    }
  })
  return { labels, points }
}

const nothingToDraw = ({ x, xType }: Found): ChartProblem => ({
  problem: `No row has a ${xType === 'time' ? 'time' : 'number'} in ${x.name} that can be drawn.`,
})

function drawn(
  { spec, x: { name }, aggregate, y }: Found,
  x: ChartX,
  series: ChartData['series'],
  notes: readonly string[],
): ChartData | ChartProblem {
  if (series.every(({ y }) => y.every(Number.isNaN)))
    return { problem: `No row has a number in ${y.join(' or ')}.` }
  const yName = aggregate === 'count' ? 'rows' : y.join(', ')
  return { kind: spec.kind, title: titleOf(spec), xName: name, yName, x, series, notes }
}

const leftOutNote = ({ x, xType }: Found, count: number): string[] =>
  count === 0
    ? []
    : [
        `${plural(count, 'row')} without a ${xType === 'time' ? 'time' : 'number'} in ${x.name} ${count === 1 ? 'is' : 'are'} left out.`,
      ]
