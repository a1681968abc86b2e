import { readRows } from '../../api/sql.ts'
import {
  type AboutTable,
  aboutColumnSql,
  aboutTableSql,
  type Box,
  type DrawnColumn,
  mostLookedAt,
  nameOf,
  sampled,
  type TableName,
} from '../../geo/rows-sql.ts'
import { type TileSource, tilesOfTable } from './tile-source.ts'

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

type Drawable = Readonly<{ source?: TileSource; from?: DrawnColumn; bounds?: Box; why?: string }>

/** How a column is drawn, or why it cannot be. */
export async function readTileSource(
  table: AboutTable,
  column: string,
  signal: AbortSignal,
): Promise<Drawable> {
  type AboutRow = { srid: number | null; dimension: number; box: Box | null }
  const share = table.isStored ? Math.min(100, (mostLookedAt / table.rows) * 100) : 100
  const [row] = await readRows<AboutRow>(aboutColumnSql(sampled(table, share), column), { signal })
  const { srid, dimension, box } = row!
  if (srid === null || !box) return { why: 'No row of this table has a geometry yet.' }
  const [west, south, east, north] = box
  const bounds: Box = [west, Math.max(south, -85), east, Math.min(north, 85)]
  const drawn = { column, srid, isPoints: dimension === 0, bounds }
  return {
    source: await tilesOfTable(table, drawn, signal),
    from: { from: nameOf(table), column, srid },
    bounds,
  }
}
