import {
  aggregateOf,
  type ChartDefinition,
  chartProblem,
  drawsRows,
  maxChartName,
} from '../../src/contract/charts.ts'
import type { ChartColumn } from './read/chart-data.ts'
import { typeOf } from './read/found.ts'

const namesOf = (columns: readonly ChartColumn[]) => [
  ...new Set(
    columns.flatMap(({ name, type }) =>
      type === 'geometry' || name === '' || name.length > maxChartName ? [] : [name],
    ),
  ),
]

/** The columns that fit each place of a chart. */
export function columnsFor(columns: readonly ChartColumn[], { kind, x }: ChartDefinition) {
  const kindOf = (name: string) => {
    const column = columns.find((each) => each.name === name)
    return column && typeOf(column)
  }
  const all = namesOf(columns)
  const needsNumbers = kind === 'scatter' || kind === 'histogram'
  return {
    numbers: all.filter((name) => kindOf(name) === 'number'),
    places: needsNumbers ? all.filter((name) => kindOf(name) !== 'name') : all,
    names: all.filter((name) => name !== x),
    isOfNames: kindOf(x) === 'name' || kind === 'pie',
  }
}

/** A date, else a text, else a number, with the first number as value. Undefined if no column can be drawn. */
export function firstChart(columns: readonly ChartColumn[]): ChartDefinition | undefined {
  const all = namesOf(columns)
  const first = (type: string, but = '') =>
    all.find((name) => name !== but && typeOf(columns.find((column) => column.name === name)!) === type)
  const x = first('time') ?? first('name') ?? first('number')
  if (x === undefined) return undefined
  const isOfNames = first('time') === undefined && first('name') !== undefined
  const y = first('number', x) ?? (isOfNames ? undefined : first('number'))
  return { kind: isOfNames ? 'bar' : 'line', x, ...(y !== undefined && { y: [y] }) }
}

/** Whether the rows have all columns of a chart. */
export const hasColumns = ({ x, y = [], series }: ChartDefinition, columns: readonly ChartColumn[]) =>
  [x, ...y, ...(series === undefined ? [] : [series])].every((name) => namesOf(columns).includes(name))

/** A chart after one choice: contradicting choices are changed too. */
export function changed(
  former: ChartDefinition,
  some: Partial<ChartDefinition>,
  columns: readonly ChartColumn[],
): ChartDefinition {
  const { kind, order } = { ...former, ...some }
  // The points of a scatter chart are rows, unless a figure is chosen then.
  const isNewCloud = some.kind === 'scatter' && former.kind !== 'scatter'
  const asked = { ...former, ...some, ...(isNewCloud && { aggregate: 'none' as const }) }
  const { numbers, places } = columnsFor(columns, asked)
  const x = places.includes(asked.x) ? asked.x : (places[0] ?? asked.x)
  const wanted = { ...asked, x }
  const { isOfNames } = columnsFor(columns, wanted)
  const aggregate = fitting(wanted, isOfNames)
  const isCounted = aggregate === 'count' || numbers.length === 0
  const y = isCounted ? [] : (wanted.y ?? []).filter((name) => numbers.includes(name))
  const values = isCounted || y.length > 0 ? y : [numbers.find((name) => name !== x) ?? numbers[0]!]
  const series = kind === 'pie' || wanted.series === x ? undefined : wanted.series
  const made = {
    kind,
    x,
    ...(values.length > 0 && { y: kind === 'pie' || series !== undefined ? values.slice(0, 1) : values }),
    ...(series !== undefined && { series }),
    aggregate: isCounted ? ('count' as const) : aggregate,
    ...(order !== undefined && { order }),
  }
  return chartProblem(made) === undefined ? made : former
}

function fitting(wanted: ChartDefinition, isOfNames: boolean) {
  const { kind } = wanted
  const aggregate = aggregateOf(wanted)
  if (kind === 'histogram') return 'count'
  if (aggregate === 'none' && (!drawsRows(kind) || isOfNames)) return 'sum'
  return kind === 'pie' && aggregate !== 'count' ? 'sum' : aggregate
}
