/** A column as PostgreSQL keeps its statistics, or as rows that were read have them. */
export type ColumnStatistics = Readonly<{
  name: string
  type: string
  nullShare: number
  /** Undefined if it is not known. */
  distinct: number | undefined
  /** There are more distinct values than were counted. */
  hasMoreDistinct?: boolean
  /** The most frequent values, each with its share of all rows. */
  common: readonly Readonly<{ value: string; share: number }>[]
  /** Values between which equally many rows lie, without the most frequent ones if these were counted apart. */
  bounds: readonly string[]
  /** West, south, east, north, in the reference system of the column. */
  extent: readonly number[] | undefined
}>

/** `all`: all rows were read. */
export type StatisticsSource = 'analyze' | 'sample' | 'all'

/** Of a result. */
export type ResultStatistics = Readonly<{
  rows: number
  /** Rows that distributions and extents are of. */
  sampled: number
  columns: readonly ColumnStatistics[]
  leftOut: number
}>

export const mostCommon = 5
/** Of longer texts only the beginning is shown. */
export const longestText = 100
export const mostStatisticsColumns = 100
