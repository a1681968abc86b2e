import { quoteLiteral, quoteName } from '../../src/contract/text/quote.ts'

/** SQL that reads values of a column to choose colours. Of any number of rows it reads at most this many. */
export const mostRead = 100_000
const mostNumbers = 5_000

/** As recorded in the catalog. */
export type Stored = Readonly<{ kind: string; rows: number }>

/** The table of `select * from table`; undefined for any other query. */
export const tableIn = (sql: string): string | undefined => wholeTable.exec(sql)?.[1]

const name = '(?:"(?:[^"]|"")+"|[a-z_][a-z_0-9]*)'
const wholeTable = new RegExp(`^\\s*select \\* from (${name}(?:\\.${name})?)\\s*;?\\s*$`, 'i')

/** Returns a `Stored`, or no row. The rows of a partitioned table are in its partitions. */
export const storedSql = (table: string) =>
  `select c.relkind as kind, case when c.relkind = 'p'
    then (select coalesce(pg_catalog.sum(greatest(l.reltuples, 0)), 0) from pg_catalog.pg_partition_tree(c.oid) p join pg_catalog.pg_class l on l.oid = p.relid::pg_catalog.oid where p.isleaf)
    else c.reltuples end::pg_catalog.float8 as rows
  from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass(${quoteLiteral(table)})::pg_catalog.oid`

/** A large table is sampled over all its blocks, the same each time. Of a query the first rows are read. */
export function sampleOf(sql: string, stored: Stored | undefined): string {
  const table = tableIn(sql)
  const isSampled = table !== undefined && stored && 'rpm'.includes(stored.kind) && stored.rows > 2 * mostRead
  if (!isSampled) return wholeOf(sql)
  return `${table} tablesample system (${(mostRead / stored.rows) * 100}) repeatable (1)`
}

/** Without a sample. */
export const wholeOf = (sql: string) => `(${sql.trim().replace(/;\s*$/, '')}\n) as layer`

/** A value of a sample. `found`: how many values the sample has. */
export type Sampled<V> = Readonly<{ value: V; found: number }>

/** The sample has too few values to represent its table: it may have missed the few rows that have one. */
export const isTooSmall = (sample: readonly Sampled<unknown>[]) => (sample[0]?.found ?? 0) < fewestValues

const fewestValues = 1_000

export const numbersSql = (from: string, column: string) =>
  `select value, (pg_catalog.count(*) over ())::pg_catalog.float8 as found from (${valuesOf(from, column, 'float8')}) as sample_rows order by pg_catalog.random() limit ${mostNumbers}`

/** The most frequent values, as text. */
export const categoriesSql = (from: string, column: string, most: number) =>
  `select value, (pg_catalog.sum(pg_catalog.count(*)) over ())::pg_catalog.float8 as found from (${valuesOf(from, column, 'text')}) as sample_rows group by value order by pg_catalog.count(*) desc, value limit ${most}`

/** The limit is inside: it counts rows without a value too. */
const valuesOf = (from: string, column: string, type: string) =>
  `select ${quoteName(column)}::pg_catalog.${type} as value from (select ${quoteName(column)} from ${from} limit ${mostRead}) as read_rows where ${quoteName(column)} is not null`
