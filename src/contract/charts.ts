/** How the rows of a query are drawn. */

import { isJsonObject, unknownMember } from './text/json-object.ts'

export const chartKinds = ['bar', 'stacked', 'line', 'area', 'scatter', 'histogram', 'pie'] as const
export type ChartKind = (typeof chartKinds)[number]

/** What is drawn of the rows with one x: each row, their number, or a figure of their values. */
export const chartAggregates = ['none', 'count', 'sum', 'average', 'minimum', 'maximum'] as const
export type ChartAggregate = (typeof chartAggregates)[number]

/** The order of names on the x axis: by their values, by name, or as the rows come. */
export const chartOrders = ['largest', 'name', 'result'] as const
export type ChartOrder = (typeof chartOrders)[number]

export const maxChartValues = 7
/** The length of a column name. */
export const maxChartName = 63

export type ChartDefinition = Readonly<{
  kind: ChartKind
  /** A column of names, times or numbers. */
  x: string
  /** Columns of numbers. Without one, rows are counted. */
  y?: readonly string[] | undefined
  /** A column whose values are drawn as series of their own. */
  series?: string | undefined
  aggregate?: ChartAggregate | undefined
  order?: ChartOrder | undefined
}>

/** Left out: the rows are counted without y; with it, lines, areas and points show each row, and all else the sum. */
export const aggregateOf = ({ aggregate, kind, y }: ChartDefinition): ChartAggregate =>
  aggregate ?? (!y || y.length === 0 ? 'count' : drawsRows(kind) ? 'none' : 'sum')

/** Whether each row can be a point. */
export const drawsRows = (kind: ChartKind) => kind === 'line' || kind === 'area' || kind === 'scatter'

const members: readonly string[] = ['kind', 'x', 'y', 'series', 'aggregate', 'order']

/** What is wrong with a definition; undefined if nothing is. */
export function chartProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'chart must be an object'
  const unknown = unknownMember(value, members)
  if (unknown !== undefined) return `chart has no member '${unknown.slice(0, 100)}'`
  const { kind, x, y = [], series, aggregate, order } = value
  if (!isOneOf(chartKinds, kind)) return `chart.kind must be one of ${chartKinds.join(', ')}`
  if (!isName(x)) return `chart.x must be ${nameRule}`
  if (!Array.isArray(y) || y.length > maxChartValues || !y.every(isName) || new Set(y).size < y.length)
    return `chart.y must be an array of at most ${maxChartValues} different names of columns`
  if (series !== undefined && !isName(series)) return `chart.series must be ${nameRule}`
  if (aggregate !== undefined && !isOneOf(chartAggregates, aggregate))
    return `chart.aggregate must be one of ${chartAggregates.join(', ')}`
  if (order !== undefined && !isOneOf(chartOrders, order))
    return `chart.order must be one of ${chartOrders.join(', ')}`
  return contradiction(value as ChartDefinition)
}

/** What contradicts itself, in a chart with valid members. */
function contradiction(chart: ChartDefinition): string | undefined {
  const { kind, y = [], series } = chart
  const aggregate = aggregateOf(chart)
  if (aggregate === 'count' && y.length > 0) return 'chart.y must be left out where rows are counted'
  if (aggregate !== 'count' && y.length === 0) return `chart.y must name a column for ${aggregate}`
  if (series !== undefined && y.length > 1) return 'chart.y must be one column where chart.series splits it'
  if (aggregate === 'none' && !drawsRows(kind)) return `chart.aggregate cannot be none for a ${kind} chart`
  if (kind === 'histogram' && aggregate !== 'count') return 'a histogram counts rows: leave chart.y out'
  if (kind !== 'pie') return undefined
  if (series !== undefined || y.length > 1) return 'a pie shows one series'
  return aggregate === 'count' || aggregate === 'sum' ? undefined : 'a pie shows count or sum'
}

const nameRule = `the name of a column: 1 to ${maxChartName} characters`

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= maxChartName

const isOneOf = <T>(values: readonly T[], value: unknown): value is T => values.includes(value as T)
