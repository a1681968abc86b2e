import { quoteLiteral, quoteName } from '../../api/sql.ts'
import { oidOf, quotedTable, type TableId } from '../../api/tables.ts'
import { longestText, mostCommon } from '../../result/statistics/column-statistics.ts'

export const mostSampled = 10_000

type Named = Readonly<{ name: string; type: string }>

/** Types whose values PostgreSQL and people order alike. Others are compared as texts. */
export const isComparable = (type: string) =>
  /^(smallint|integer|bigint|numeric|real|double precision|money|date|time|interval|uuid|text|character|name|boolean)\b/.test(
    type,
  ) && !type.endsWith('[]')

export const hasExtent = ({ type }: Named) => /^geometry\b/.test(type)
/** The text of other types is hex, which is not readable. */
export const hasValues = ({ type }: Named) => !/^(geometry|geography|raster|bytea)\b/.test(type)
const isText = (type: string) => /^(text|character|name)\b/.test(type) || !isComparable(type)

/** Returns one row: when the table was analyzed, what has changed since, and the statistics of each column. */
export const aboutSql = (table: TableId) => `
select c.reltuples::pg_catalog.float8 as rows, c.relkind as kind,
  greatest(c.reltuples::pg_catalog.float8, pg_catalog.pg_relation_size(c.oid)::pg_catalog.float8 / 8192::pg_catalog.float8
    * case when c.reltuples >= 0::pg_catalog.float4 and c.relpages > 0
      then c.reltuples::pg_catalog.float8 / c.relpages::pg_catalog.float8 else 60::pg_catalog.float8 end) as estimate,
  coalesce(pg_catalog.pg_stat_get_mod_since_analyze(c.oid), 0) as changed,
  greatest(pg_catalog.pg_stat_get_last_analyze_time(c.oid), pg_catalog.pg_stat_get_last_autoanalyze_time(c.oid)) as "analyzedAt",
  (select coalesce(pg_catalog.json_agg(f order by f.attnum), '[]') from (
    select a.attnum, a.attname as name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
      s.null_frac as "nullShare", nullif(s.n_distinct, 0::pg_catalog.float4) as "distinct",
      array(select pg_catalog.left(v, ${longestText}) from pg_catalog.unnest(
        s.most_common_vals::pg_catalog.text::pg_catalog.text[]) v) as common,
      s.most_common_freqs as shares,
      array(select pg_catalog.left(v, ${longestText}) from pg_catalog.unnest(
        s.histogram_bounds::pg_catalog.text::pg_catalog.text[]) v) as bounds
    from pg_catalog.pg_attribute a
    left join pg_catalog.pg_stats s on s.schemaname = ${quoteLiteral(table.schema)} and s.tablename = ${quoteLiteral(table.name)}
      and s.attname = a.attname and not s.inherited
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) f) as columns
from pg_catalog.pg_class c where c.oid = ${oidOf(table)}`

const corners = (box: string) =>
  `pg_catalog.json_build_array(${['xmin', 'ymin', 'xmax', 'ymax'].map((of) => `postgis.st_${of}(${box})`).join(', ')})`

type Sampled = Readonly<{ estimate: number; kind: string }>

/** Returns one row: an object for each column, of up to 10,000 rows. */
export function sampleSql(table: TableId, about: Sampled, columns: readonly Named[]): string {
  const { estimate, kind } = about
  // Half more, because blocks differ in their number of rows.
  const percent = Math.min(100, Math.max(0.001, (mostSampled / estimate) * 150))
  const isSampled = /^[rmp]$/.test(kind) && estimate > mostSampled
  const some = isSampled ? ` tablesample system (${percent})` : ''
  const read = columns.map((column, at) => `${readValue(column)} as c${at}`)
  const parts = columns.map((column, at) => aboutColumn(column, `c${at}`))
  return `with s as materialized (select ${['1 as one', ...read].join(', ')} from ${quotedTable(table)}${some} limit ${mostSampled})
select pg_catalog.json_build_array(${parts.join(',\n')}) as sample`
}

function readValue(column: Named): string {
  const name = quoteName(column.name)
  if (hasExtent(column)) return name
  if (!hasValues(column)) return `(${name} is not null or null)`
  return isText(column.type)
    ? `case when pg_catalog.pg_column_size(${name}) > 8000 then '(long)' else pg_catalog.left(${name}::pg_catalog.text, ${longestText}) end`
    : name
}

function aboutColumn(column: Named, name: string): string {
  const facts = [
    `'n', pg_catalog.count(*)`,
    `'nulls', pg_catalog.count(*) filter (where ${name} is null)`,
    ...(hasValues(column) ? valueFacts(column, name) : []),
    ...(hasExtent(column) ? [`'extent', ${extentOf(name)}`] : []),
  ]
  return `(select pg_catalog.json_build_object(${facts.join(', ')}) from s)`
}

const extentOf = (name: string) =>
  `(select ${corners('b')} from (select postgis.st_extent(${name}) as b from s) e)`

function valueFacts({ type }: Named, name: string): readonly string[] {
  const top = `(select pg_catalog.json_agg(pg_catalog.json_build_object('v', pg_catalog.left(v::pg_catalog.text, ${longestText}), 'c', c) order by c desc)
  from (select ${name} as v, pg_catalog.count(*) as c from s where ${name} is not null
    group by ${name} having pg_catalog.count(*) > 1 order by 2 desc limit ${mostCommon}) t)`
  return [
    `'distinct', pg_catalog.count(distinct ${name})`,
    `'top', ${top}`,
    ...(isComparable(type) ? [`'bounds', ${bounds(name)}`] : []),
  ]
}

/** The same form as `histogram_bounds`: between two values are equally many rows. */
const bounds = (name: string) =>
  `(pg_catalog.percentile_disc(array[${shares}]::pg_catalog.float8[]) within group (order by ${name}))::pg_catalog.text[]`

const shares = Array.from({ length: 41 }, (_, at) => at / 40).join(', ')
