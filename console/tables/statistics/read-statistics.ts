import { readRows } from '../../api/sql.ts'
import type { Table } from '../../api/tables.ts'
import {
  type ColumnStatistics,
  mostStatisticsColumns,
  type StatisticsSource,
} from '../../result/statistics/column-statistics.ts'
import { aboutSql, hasExtent, hasValues, isComparable, mostSampled, sampleSql } from './statistics-sql.ts'

export type Statistics = Readonly<{
  source: StatisticsSource
  /** How many rows were read; for `analyze` an estimate of all. */
  rows: number
  analyzedAt: string | null
  columns: readonly ColumnStatistics[]
  /** Columns that are left out. */
  leftOut: number
}>

/** PostgreSQL's own statistics if they are good; undefined if the rows must be read. */
export async function readKeptStatistics(table: Table, signal: AbortSignal): Promise<Statistics | undefined> {
  const about = await readAbout(table, signal)
  if (!isGood(about)) return undefined
  const extents = await readExtents(table, about, signal)
  const all = about.columns.map((column): ColumnStatistics => {
    const { name, type, common, shares, distinct } = column
    const known = (values: Column['common']) => (hasValues(column) && values) || []
    return {
      name,
      type,
      nullShare: column.nullShare ?? 0,
      distinct: distinct === null ? undefined : Math.round(distinct < 0 ? -distinct * about.rows : distinct),
      common: known(common).map((value, at) => ({ value, share: shares?.[at] ?? 0 })),
      bounds: known(column.bounds),
      extent: extents.get(name),
    }
  })
  return {
    source: 'analyze',
    rows: about.rows,
    analyzedAt: about.analyzedAt,
    columns: all,
    leftOut: about.leftOut,
  }
}

/** Reads up to 10,000 rows. */
export async function readSampledStatistics(table: Table, signal: AbortSignal): Promise<Statistics> {
  const about = await readAbout(table, signal)
  const columns = about.columns
  const sampled = await readSample(table, about, columns, signal)
  const rows = sampled[0]?.n ?? 0
  return {
    source: rows < mostSampled && !isLarge(about) ? 'all' : 'sample',
    rows,
    analyzedAt: null,
    columns: columns.map((column, at) => ofSample(column, sampled[at]!)),
    leftOut: about.leftOut,
  }
}

function ofSample(
  { name, type }: Column,
  { n, nulls, distinct, top, bounds, extent }: Sampled,
): ColumnStatistics {
  return {
    name,
    type,
    nullShare: n === 0 ? 0 : nulls / n,
    distinct: distinct ?? undefined,
    common: (top ?? []).map(({ v, c }) => ({ value: v, share: c / n })),
    bounds: isComparable(type) ? (bounds ?? []) : [],
    extent: extent && extent[0] !== null ? (extent as readonly number[]) : undefined,
  }
}

type Sampled = Readonly<{
  n: number
  nulls: number
  distinct: number | null
  top: readonly Readonly<{ v: string; c: number }>[] | null
  bounds: readonly string[] | null
  extent: readonly (number | null)[] | null
}>

type Column = Readonly<{
  name: string
  type: string
  nullShare: number | null
  distinct: number | null
  common: readonly string[] | null
  shares: readonly number[] | null
  bounds: readonly string[] | null
}>

export type AboutStatistics = Readonly<{
  /** At the last ANALYZE. */
  rows: number
  /** By the current size of the table. */
  estimate: number
  kind: string
  changed: number
  analyzedAt: string | null
  columns: readonly Column[]
  leftOut: number
}>

async function readAbout(table: Table, signal: AbortSignal): Promise<AboutStatistics> {
  const [about] = await readRows<AboutStatistics>(aboutSql(table), { signal })
  if (!about) throw new Error('The table was not found. It may have been dropped.')
  const { length } = about.columns
  return {
    ...about,
    columns: about.columns.slice(0, mostStatisticsColumns),
    leftOut: Math.max(0, length - mostStatisticsColumns),
  }
}

/** Up to a fifth of the rows may have changed since. Columns added later have none. */
const isGood = ({ kind, rows, changed, analyzedAt, columns }: AboutStatistics) =>
  (kind === 'r' || kind === 'm') &&
  analyzedAt !== null &&
  rows > 0 &&
  changed <= rows / 5 &&
  columns.every(({ nullShare }) => nullShare !== null)

export const isLarge = ({ estimate, kind }: AboutStatistics) =>
  (kind === 'r' || kind === 'm' || kind === 'p') && estimate > mostSampled

/** PostgreSQL's statistics have no extents that tenants may read, so some rows are read for them. */
async function readExtents(
  table: Table,
  about: AboutStatistics,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const shapes = about.columns.filter(hasExtent)
  if (shapes.length === 0 || table.isOfAnother) return new Map()
  const sampled = await readSample(table, about, shapes, signal)
  const extents = shapes.map((column, at) => [column.name, ofSample(column, sampled[at]!).extent] as const)
  return new Map(extents.flatMap(([name, extent]) => (extent ? [[name, extent] as const] : [])))
}

async function readSample(
  table: Table,
  about: AboutStatistics,
  columns: readonly Column[],
  signal: AbortSignal,
): Promise<readonly Sampled[]> {
  const [row] = await readRows<{ sample: readonly Sampled[] }>(sampleSql(table, about, columns), { signal })
  return row?.sample ?? []
}
