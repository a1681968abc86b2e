import { aggregateOf, type ChartAggregate, type ChartDefinition } from '../../../src/contract/charts.ts'
import type { ChartColumn, ChartProblem } from './chart-data.ts'

/** The columns of a chart, found in a result. */
export type Found = Readonly<{
  spec: ChartDefinition
  aggregate: ChartAggregate
  x: ChartColumn
  xType: 'name' | 'number' | 'time'
  /** Indexes in a row that was read: x, then y, then the series. */
  places: readonly number[]
  y: readonly string[]
}>

/** Finds the columns by name: another result of the same query may have others. */
export function findColumns(spec: ChartDefinition, columns: readonly ChartColumn[]): Found | ChartProblem {
  const place = (name: string) =>
    columns.findIndex((column) => column.name === name && column.type !== 'geometry')
  const { x, y = [], series, kind } = spec
  const names = [x, ...y, ...(series === undefined ? [] : [series])]
  const missing = names.find((name) => place(name) < 0)
  if (missing !== undefined) return { problem: `The rows have no column ${missing}. Choose a column.` }
  const noNumber = y.find((name) => columns[place(name)]!.type !== 'number')
  if (noNumber !== undefined)
    return { problem: `${noNumber} is not a column of numbers. Choose another one.` }
  const column = columns[place(x)]!
  const xType = typeOf(column)
  const aggregate = aggregateOf(spec)
  if (xType === 'name' && (aggregate === 'none' || kind === 'histogram' || kind === 'scatter'))
    return { problem: whyNoNames(kind, x) }
  return { spec, aggregate, x: column, xType, places: names.map(place), y }
}

const whyNoNames = (kind: ChartDefinition['kind'], x: string) =>
  kind === 'histogram' || kind === 'scatter'
    ? `A ${kind} needs numbers or times on the x axis, and ${x} has neither. Choose another column or a bar chart.`
    : `${x} has neither numbers nor times: choose a sum, an average or a count for each of its values.`

export const typeOf = ({ type }: ChartColumn) =>
  type === 'number' ? 'number' : type === 'date' ? 'time' : 'name'

export const hasZone = ({ pgtype }: ChartColumn) => pgtype === 'timestamptz'
