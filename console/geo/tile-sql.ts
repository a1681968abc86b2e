import { quoteLiteral, quoteName } from '../../src/contract/text/quote.ts'

/** The SQL for the map of a table: facts about it, its vector tiles, and the rows at a position. Runs with the key of the session. */

export type TableName = Readonly<{ schema: string; name: string }>

/** What is drawn: a geometry column with SRID 3857 or 4326. */
export type TileSource = TableName &
  Readonly<{
    column: string
    srid: 3857 | 4326
    /** Dense points are counted in cells; lines and areas are simplified. */
    isPoints: boolean
    /** The share of rows that is read: 100, or less for a table of millions. */
    percent: number
  }>

export type Tile = Readonly<{ z: number; x: number; y: number }>
export type Box = readonly [west: number, south: number, east: number, north: number]

/** A tile with more rows is counted in cells, or cut off. */
export const mostInTile = 20_000
/** A table with more rows is sampled in dense areas: about half as many rows are read. */
export const mostInTable = 2_000_000
/** A tile with more rows is sampled; others use the index. */
export const mostByIndex = 1_000_000
const cellsAcross = 256
/** The size of a tile of MapLibre, in pixels. */
const pixelsAcross = 512
const worldMetres = 2 * Math.PI * 6378137

/** Returns one row `{isMany, tile}`, base64. `isMany`: points became cells with a count `n`, or shapes were cut off. */
export const tileSql = (source: TileSource, tile: Tile) =>
  source.isPoints ? pointTileSql(source, tile) : shapeTileSql(source, tile)

function pointTileSql(source: TileSource, tile: Tile): string {
  const [west, south] = cornerOf(tile)
  const cell = worldMetres / 2 ** tile.z / cellsAcross
  const place = `st_setsrid(st_point(${west} + (x + 0.5) * ${cell}, ${south} + (y + 0.5) * ${cell}), 3857)`
  const inTile = `from ${sampled(source)} where ${overlaps(source, tile, 0)}`
  return `with found as materialized (select ${inMercator(source, tile)} as g ${inTile} limit ${mostInTile + 1}),
cells as (
  select floor((st_xmin(g) - ${west}) / ${cell}) as x, floor((st_ymin(g) - ${south}) / ${cell}) as y,
    round(count(*) * 100 / ${source.percent}::numeric)::bigint as n
  from (select ${inMercator(source, tile)} as g ${inTile}) as all_of_it group by 1, 2)
select has.many as "isMany", encode(case when has.many
  then (select st_asmvt(c, 'cells', 4096, 'g') from (select st_asmvtgeom(${place}, ${envelope(tile)}) as g, n from cells) as c)
  else (select st_asmvt(p, 'points', 4096, 'g') from (select st_asmvtgeom(g, ${envelope(tile)}) as g from found) as p)
end, 'base64') as tile from (select count(*) > ${mostInTile} as many from found) as has`
}

/** Drops shapes smaller than a pixel, and simplifies the others to pixels. */
function shapeTileSql(source: TileSource, tile: Tile): string {
  const { column, srid } = source
  const g = quoteName(column)
  const world = srid === 3857 ? worldMetres : 360
  const extent = `greatest(st_xmax(${g}) - st_xmin(${g}), st_ymax(${g}) - st_ymin(${g}))`
  const isSeen = `(st_dimension(${g}) = 0 or ${extent} >= ${pixelOf(world, tile)})`
  return `with found as materialized (select ${inMercator(source, tile)} as g from ${sampled(source)}
  where ${overlaps(source, tile, margin)} and ${isSeen} limit ${mostInTile + 1})
select (select count(*) > ${mostInTile} from found) as "isMany", encode((select st_asmvt(s, 'shapes', 4096, 'g') from (
  select st_asmvtgeom(st_simplify(g, ${pixelOf(worldMetres, tile)}, true), ${envelope(tile)}, 4096, 64) as g
  from found limit ${mostInTile}) as s), 'base64') as tile`
}

/** The share of rows to read from a table of this size. */
export function percentFor(rows: number): number {
  if (rows <= mostInTable) return 100
  const wanted = (mostInTable / 2 / rows) * 100
  return [50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1].find((step) => step <= wanted) ?? 0.05
}

/** Returns the plan, with the estimated number of rows in a tile, in `QUERY PLAN`. */
export const rowsInTileSql = (source: TileSource, tile: Tile) =>
  `explain (format json) select from ${nameOf(source)} where ${overlaps(source, tile, 0)}`

/** Returns the first rows in a box, each as an array of texts in the order of `columns`. */
export function rowsAtSql(source: TileSource, columns: readonly string[], box: Box, most: number): string {
  const g = quoteName(source.column)
  const here = boxIn(source, box)
  const values = columns.map((name) => `left(${quoteName(name)}::text, ${longestValue + 1})`)
  return `select array[${values.join(', ')}]::text[] as "values" from ${nameOf(source)}
where ${g} && ${here} and st_intersects(${g}, ${here}) limit ${most}`
}

export const longestValue = 1000

/** Returns one row: the kind of the table, its estimated rows, and its columns. */
export const aboutTableSql = (table: TableName) => `
select c.relkind as kind, greatest(c.reltuples, 0)::float8 as rows, (
  select coalesce(json_agg(json_build_object('name', a.attname, 'isGeometry', t.typname = 'geometry') order by a.attnum), '[]')
  from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
from pg_catalog.pg_class c where c.oid = ${quoteLiteral(nameOf(table))}::regclass`

/** Returns one row: the SRID, dimension and bounding box of the geometries, from a sample of `percent`. */
export const aboutColumnSql = (table: TableName, column: string, percent: number) =>
  `with some_rows as (select ${quoteName(column)} as g from ${sampled({ ...table, percent })} where ${quoteName(column)} is not null limit ${mostLookedAt}),
about as (select st_extent(g) as box, min(st_srid(g)) as srid, max(st_dimension(g)) as dimension from some_rows)
select srid, dimension, case when box is not null then array[st_xmin(box), st_ymin(box), st_xmax(box), st_ymax(box)] end as box
from about`

/** Enough rows to find the bounding box of a table. */
export const mostLookedAt = 200_000

/** Adds the column and the index that make the map fast. To be run as a job. */
export const prepareSql = (table: TableName) =>
  `select CDB_CartodbfyTable(${quoteLiteral(nameOf(table))}::regclass)`

const nameOf = ({ schema, name }: TableName) => `${quoteName(schema)}.${quoteName(name)}`

/** Samples blocks of the table: the same blocks for every tile. */
const sampled = (source: TableName & Readonly<{ percent: number }>) =>
  source.percent < 100
    ? `${nameOf(source)} tablesample system (${source.percent}) repeatable (1)`
    : nameOf(source)

const margin = 64 / 4096

const overlaps = (source: TileSource, tile: Tile, more: number) =>
  `${quoteName(source.column)} && ${tileIn(source, tile, more)}`

/** Web Mercator has no poles, so geometries are clipped to the tile before they are transformed. */
function inMercator(source: TileSource, tile: Tile): string {
  const g = quoteName(source.column)
  return source.srid === 3857
    ? g
    : `st_transform(st_clipbybox2d(${g}, ${tileIn(source, tile, margin)}), 3857)`
}

const tileIn = ({ srid }: TileSource, tile: Tile, more: number) =>
  srid === 3857 ? envelope(tile, more) : `st_transform(${envelope(tile, more)}, 4326)`

const envelope = ({ z, x, y }: Tile, more = 0) =>
  more === 0 ? `st_tileenvelope(${z}, ${x}, ${y})` : `st_tileenvelope(${z}, ${x}, ${y}, margin => ${more})`

function boxIn({ srid }: TileSource, [west, south, east, north]: Box): string {
  const box = `st_makeenvelope(${west}, ${limited(south)}, ${east}, ${limited(north)}, 4326)`
  return srid === 3857 ? `st_transform(${box}, 3857)` : box
}

const limited = (latitude: number) => Math.max(-85.05, Math.min(85.05, latitude))

const pixelOf = (world: number, { z }: Tile) => world / 2 ** z / pixelsAcross

/** The south-west corner, in metres. */
function cornerOf({ z, x, y }: Tile): readonly [number, number] {
  const size = worldMetres / 2 ** z
  return [x * size - worldMetres / 2, worldMetres / 2 - (y + 1) * size]
}
