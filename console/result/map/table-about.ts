import { readRows } from '../../api/sql.ts'
import { fromWebMercator } from '../../geo/ewkb.ts'
import {
  aboutColumnSql,
  aboutTableSql,
  type Box,
  mostLookedAt,
  percentFor,
  type TableName,
  type TileSource,
} from '../../geo/tile-sql.ts'

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

const mercator = 'the_geom_webmercator'

export async function readAboutTable(table: TableName, signal: AbortSignal): Promise<AboutTable> {
  type AboutRow = { kind: string; rows: number; columns: readonly { name: string; isGeometry: boolean }[] }
  const [row] = await readRows<AboutRow>(aboutTableSql(table), { signal })
  const { kind, rows, columns } = row!
  const names = columns.filter(({ isGeometry }) => isGeometry).map(({ name }) => name)
  const isPrepared = names.includes(mercator)
  return {
    ...table,
    rows,
    isStored: 'rpm'.includes(kind),
    isPrepared,
    // the_geom shows the same as the_geom_webmercator.
    geometries: isPrepared
      ? [mercator, ...names.filter((name) => name !== mercator && name !== 'the_geom')]
      : names,
    columns: columns.filter(({ isGeometry }) => !isGeometry).map(({ name }) => name),
  }
}

type Drawable = Readonly<{ source?: TileSource; bounds?: Box; why?: string }>

/** How a column is drawn, or why it cannot be. */
export async function readTileSource(
  table: AboutTable,
  column: string,
  signal: AbortSignal,
): Promise<Drawable> {
  type AboutRow = { srid: number | null; dimension: number; box: Box | null }
  const share = table.isStored ? Math.min(100, (mostLookedAt / table.rows) * 100) : 100
  const [row] = await readRows<AboutRow>(aboutColumnSql(table, column, share), { signal })
  const { srid, dimension, box } = row!
  if (srid === null || !box) return { why: 'No row of this table has a geometry yet.' }
  if (srid !== 3857 && srid !== 4326) {
    return { why: `SRID ${srid} cannot be drawn, only 4326 and 3857. Prepare the table for maps.` }
  }
  const { schema, name } = table
  const percent = table.isStored ? percentFor(table.rows) : 100
  return {
    source: { schema, name, column, srid, isPoints: dimension === 0, percent },
    bounds: inDegrees(box, srid),
  }
}

function inDegrees([west, south, east, north]: Box, srid: number): Box {
  if (srid === 4326) return [west, Math.max(south, -85), east, Math.min(north, 85)]
  return [...fromWebMercator([west, south]), ...fromWebMercator([east, north])]
}
