import { hasCode } from '../../../src/client/cartage-error.ts'
import { quoteName } from '../../../src/contract/text/quote.ts'
import type { Credential } from '../../api/credential.ts'
import { rowsOf } from '../../api/sql.ts'
import {
  type AboutTable,
  type Box,
  type DrawnColumn,
  percentFor,
  sampled,
  type TileAt,
} from '../../geo/rows-sql.ts'
import { makeMap, readMapTile, readTableTile } from './service-tiles.ts'

/**
 * A tile, and how it was drawn. `isTruncated`: it has too many rows to draw each. `percent`: the share of rows that was
 * read.
 */
export type ReadTile = Readonly<{ bytes: ArrayBuffer; isTruncated: boolean; percent: number }>

/** Tiles of the service. */
export type TileSource = Readonly<{
  /** The name of the layer in its tiles. */
  layer: string
  isPoints: boolean
  /** The smallest share of rows that a tile reads. */
  percent: number
  read: (tile: TileAt, signal: AbortSignal) => Promise<ReadTile>
}>

/** A tile of a table shows this many rows. */
export const mostInTile = 20_000
/** A tile with more rows is sampled; others use the index. */
const mostByIndex = 1_000_000

type Drawn = Readonly<{ column: string; srid: number; isPoints: boolean; bounds: Box }>

/** Many points are counted in cells, by a map of SQL; so is a column that table tiles do not show. */
export async function tilesOfTable(
  table: AboutTable,
  drawn: Drawn,
  signal: AbortSignal,
): Promise<TileSource> {
  const { isPoints, column } = drawn
  const isCounted = isPoints && table.rows > mostInTile
  if (!isCounted && column === table.geometries[0]) {
    const name = `${table.schema}.${table.name}`
    const read = async (tile: TileAt, stop: AbortSignal) => ({
      ...(await readTableTile(name, tile, mostInTile, { signal: stop })),
      percent: 100,
    })
    return { layer: table.name, isPoints, percent: 100, read }
  }
  const percent = table.isStored && isPoints ? percentFor(table.rows) : 100
  const [whole, some] = await Promise.all(
    [100, percent].map((share) =>
      mapOf(pointsSql(sampled(table, share), drawn, share), drawn, isCounted, { signal }),
    ),
  )
  const deepest = percent === 100 ? -1 : deepestSampled(table.rows, drawn.bounds)
  const read = ({ z, ...at }: TileAt, stop: AbortSignal) =>
    z <= deepest ? some!({ z, ...at }, stop, percent) : whole!({ z, ...at }, stop, 100)
  return { layer: layerId, isPoints, percent, read }
}

type QueryDrawn = Readonly<{
  text: string
  column: string
  srid: number
  isPoints: boolean
  /** The name of a column. */
  colourBy: string | null
  as: Credential
}>

/** All rows of a query. Undefined if the service cannot make a map of the statement. */
export async function tilesOfQuery(query: QueryDrawn, signal: AbortSignal): Promise<TileSource | undefined> {
  const { text, column, isPoints, colourBy, as } = query
  const colour = colourBy === null ? '' : `, q.${quoteName(colourBy)}::text as colour`
  const sql = `select q.${quoteName(column)} as g, 1::float8 as n${colour} from ${rowsOf(text)}`
  try {
    const read = await mapOf(sql, query, isPoints && colourBy === null, { as, signal })
    return { layer: layerId, isPoints, percent: 100, read: (tile, stop) => read(tile, stop, 100) }
  } catch (error) {
    if (noMap.some((code) => hasCode(error, code))) return undefined
    throw error
  }
}

/** The statement is no SELECT, or does not run outside its session. */
const noMap = ['map-invalid', 'database', 'not-found', 'api-forbidden'] as const

const layerId = 'rows'

/** `n`: how many rows of the table each row stands for. */
const pointsSql = (from: string, { column }: Drawn, percent: number) =>
  `select ${quoteName(column)} as g, ${100 / percent}::float8 as n from ${from}`

type MapCall = Readonly<{ as?: Credential; signal: AbortSignal }>

async function mapOf(
  sql: string,
  { srid }: Pick<DrawnColumn, 'srid'>,
  isCounted: boolean,
  { as, signal }: MapCall,
) {
  const options = {
    sql,
    geom_column: 'g',
    srid: srid || 4326,
    aggregation: isCounted && {
      ...cells,
      columns: { n: { aggregate_function: 'sum', aggregated_column: 'n' } },
    },
  }
  const buffersize = { mvt: isCounted ? 0 : 4 }
  const config = { buffersize, layers: [{ id: layerId, type: 'mapnik', options }] }
  const { layergroupid } = await makeMap(config, { as, signal })
  return async (tile: TileAt, stop: AbortSignal, percent: number): Promise<ReadTile> => ({
    ...(await readMapTile(layergroupid, tile, { as, signal: stop })),
    percent,
  })
}

/** Two pixels wide on a MapLibre tile. */
const cells = { threshold: 1, resolution: 1, placement: 'centroid' }

/** The last zoom whose tiles have too many rows to read, assuming evenly spread rows. */
function deepestSampled(rows: number, [west, south, east, north]: Box): number {
  const part = Math.max((east - west) / 360, (north - south) / 170, 2 ** -20)
  const wholeZoom = Math.floor(-Math.log2(Math.min(1, part)))
  return wholeZoom + Math.ceil(Math.log(rows / mostByIndex) / Math.log(4)) - 1
}
