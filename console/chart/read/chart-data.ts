import type { ChartKind } from '../../../src/contract/charts.ts'

/** What is drawn: small enough for one picture, whatever the number of rows. */

export const mostBars = 50
export const mostPoints = 100_000
export const mostParts = 6
/** Including "others". */
export const mostSeries = 8

/** `type` is that of the SQL endpoint: number, date, string, boolean, geometry. */
export type ChartColumn = Readonly<{ name: string; type: string; pgtype?: string | undefined }>

/** Rows from any source. `row` has the values of the requested columns as text, in that order; null is NULL. */
export type ChartRows = Readonly<{
  count: number
  row: (at: number, columns: readonly number[]) => readonly (string | null)[]
}>

/** A name on an axis or in the legend. `isSaid`: words of the chart (NULL, others), not of the data. */
export type ChartLabel = Readonly<{ text: string; isSaid: boolean }>

/**
 * `names`: x is an index in `labels`. `ranges`: x is the index of a range between two edges. `line`: x is a number or a
 * time.
 */
export type ChartX =
  | Readonly<{ form: 'names'; labels: readonly ChartLabel[]; areNumbers: boolean }>
  | Readonly<{ form: 'ranges'; type: 'number' | 'time'; edges: Float64Array; hasZone: boolean }>
  | Readonly<{ form: 'line'; type: 'number' | 'time'; hasZone: boolean }>

/** Times are milliseconds since 1970. A `y` of NaN has no value. `x` ascends. */
export type ChartSeries = Readonly<{ label: ChartLabel; x: Float64Array; y: Float64Array }>

export type ChartData = Readonly<{
  kind: ChartKind
  /** `sum of n by city` */
  title: string
  xName: string
  yName: string
  x: ChartX
  series: readonly ChartSeries[]
  /** What was left out, grouped or thinned. */
  notes: readonly string[]
}>

/** Why nothing can be drawn, in words for the user. */
export type ChartProblem = Readonly<{ problem: string }>
