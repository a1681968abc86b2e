import { quoteLiteral, quoteName } from '../../src/contract/text/quote.ts'

/** SQL for what a map draws: facts about a table, and the rows at a position. The service makes the tiles. */

export type TableName = Readonly<{ schema: string; name: string }>

export type AboutTable = TableName &
  Readonly<{
    /** An estimate. */
    rows: number
    /** Not a view: has statistics and can be sampled. */
    isStored: boolean
    /** Has the column and the index that make a map fast. */
    isPrepared: boolean
    /** The geometry columns, fastest first. */
    geometries: readonly string[]
    /** All other columns. */
    columns: readonly string[]
  }>

export type TileAt = Readonly<{ z: number; x: number; y: number }>

export type Box = readonly [west: number, south: number, east: number, north: number]

/** A geometry column of a table or a query. `from`: after FROM. */
export type DrawnColumn = Readonly<{ from: string; column: string; srid: number }>

/** A table with more rows is sampled in dense areas: about half as many rows are read. */
export const mostInTable = 2_000_000

/** The share of rows to read from a table of this size. */
export function percentFor(rows: number): number {
  if (rows <= mostInTable) return 100
  const wanted = (mostInTable / 2 / rows) * 100
  return [50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1].find((step) => step <= wanted) ?? 0.05
}

/** Returns the first rows in a box, each as an array of texts in the order of `columns`. */
export function rowsAtSql(source: DrawnColumn, columns: readonly string[], box: Box, most: number): string {
  const g = quoteName(source.column)
  const here = boxIn(source, box)
  const values = columns.map(
    (name) => `pg_catalog.left(${quoteName(name)}::pg_catalog.text, ${longestValue + 1})`,
  )
  return `select array[${values.join(', ')}]::pg_catalog.text[] as "values" from ${source.from}
where ${g} operator(postgis.&&) ${here} and postgis.st_intersects(${g}, ${here}) limit ${most}`
}

export const longestValue = 1000

/** Returns one row: the kind of the table, its estimated rows, and its columns. */
export const aboutTableSql = (table: TableName) => `
select c.relkind as kind, greatest(c.reltuples, 0)::pg_catalog.float8 as rows, (
  select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', a.attname, 'isGeometry', t.typname = 'geometry') order by a.attnum), '[]')
  from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
from pg_catalog.pg_class c where c.oid = ${quoteLiteral(nameOf(table))}::pg_catalog.regclass::pg_catalog.oid`

/**
 * Returns one row: the SRID, dimension and bounding box in degrees of the geometries of `from`, or of the first ones.
 */
export const aboutColumnSql = (from: string, column: string) =>
  `with some_rows as (select ${quoteName(column)} as g from ${from} where ${quoteName(column)} is not null limit ${mostLookedAt}),
about as (select postgis.st_extent(g) as box, pg_catalog.min(postgis.st_srid(g)) as srid, pg_catalog.max(postgis.st_dimension(g)) as dimension from some_rows),
turned as (select srid, dimension, case when srid in (0, 4326) then box
  else postgis.box2d(postgis.st_transform(postgis.st_setsrid(box::postgis.geometry, srid), 4326)) end as box from about)
select srid, dimension, case when box is not null
  then array[postgis.st_xmin(box), postgis.st_ymin(box), postgis.st_xmax(box), postgis.st_ymax(box)] end as box
from turned`

/** Enough rows to find the bounding box of a table. */
export const mostLookedAt = 200_000

/** Adds the column and the index that make the map fast. To be run as a job. */
export const prepareSql = (table: TableName) =>
  `select cartodb.CDB_CartodbfyTable(${quoteLiteral(nameOf(table))}::pg_catalog.regclass)`

export function nameOf({ schema, name }: TableName): string {
  return `${quoteName(schema)}.${quoteName(name)}`
}

/** Samples blocks of the table: the same blocks each time. */
export const sampled = (table: TableName, percent: number) =>
  percent < 100 ? `${nameOf(table)} tablesample system (${percent}) repeatable (1)` : nameOf(table)

function boxIn({ srid }: DrawnColumn, [west, south, east, north]: Box): string {
  const box = `postgis.st_makeenvelope(${west}, ${limited(south)}, ${east}, ${limited(north)}, ${srid === 0 ? 0 : 4326})`
  return srid === 0 || srid === 4326 ? box : `postgis.st_transform(${box}, ${srid})`
}

const limited = (latitude: number) => Math.max(-85.05, Math.min(85.05, latitude))
