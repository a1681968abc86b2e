import type { SqlAnswer } from '../../src/contract/documents.ts'
import { requestJson } from '../api/request.ts'
import { quoteName, readRows } from '../api/sql.ts'
import { quotedTable, type TableId } from '../api/tables.ts'
import type { DraftLayer, Kind } from './draft-layer.ts'
import type { MapBox } from './map-draft.ts'
import {
  categoriesSql,
  isTooSmall,
  numbersSql,
  type Sampled,
  type Stored,
  sampleOf,
  storedSql,
  tableIn,
  wholeOf,
} from './sample-sql.ts'

export type LayerColumn = Readonly<{ name: string; isNumber: boolean }>

/** What the rows of a query contain. */
export type LayerData = Readonly<{
  columns: readonly LayerColumn[]
  geomColumn: string
  srid: number
  kind: Kind
  bounds: MapBox | undefined
}>

export const tableSql = (table: TableId) => `select * from ${quotedTable(table)}`

/** Throws if the query has no geometry that can be drawn. */
export async function describeSql(sql: string, signal: AbortSignal): Promise<LayerData> {
  const q = `select * from ${wholeOf(sql)} limit 0`
  const { fields } = await requestJson<SqlAnswer>('query', { json: { q }, isRepeatable: true, signal })
  const types = Object.entries(fields as Record<string, { type: string }>)
  const geometries = types.filter(([, { type }]) => type === 'geometry').map(([name]) => name)
  const geomColumn = geometries.find((name) => name === 'the_geom_webmercator') ?? geometries[0]
  if (geomColumn === undefined) throw new Error('These rows have no geometry.')
  const [about] = await readRows<About>(aboutSql(sql, geomColumn), { signal })
  const { srid, dimension, west, south, east, north } = about!
  if (srid === null) throw new Error('No row has a geometry.')
  if (srid === 0) throw new Error(`The geometries of ${geomColumn} have no SRID. Use ST_SetSRID in a query.`)
  return {
    geomColumn,
    srid,
    kind: kinds[dimension ?? 0] ?? 'area',
    bounds: west === null ? undefined : [west, south, east, north],
    columns: types
      .filter(([, { type }]) => shownTypes.has(type))
      .map(([name, { type }]) => ({ name, isNumber: type === 'number' })),
  }
}

type About = Readonly<{
  srid: number | null
  dimension: number | null
  west: number | null
  south: number
  east: number
  north: number
}>

const kinds: readonly Kind[] = ['point', 'line', 'area']
const shownTypes: ReadonlySet<string> = new Set(['number', 'string', 'boolean', 'date'])

const aboutSql = (sql: string, column: string) => `
select pg_catalog.min(srid) as srid, pg_catalog.max(dimension) as dimension, postgis.st_xmin(postgis.st_extent(box)) as west,
  greatest(postgis.st_ymin(postgis.st_extent(box)), -85) as south,
  postgis.st_xmax(postgis.st_extent(box)) as east, least(postgis.st_ymax(postgis.st_extent(box)), 85) as north
from (
  select postgis.st_srid(geom) as srid, postgis.st_dimension(geom) as dimension,
    case when postgis.st_srid(geom) <> 0 then postgis.st_transform(postgis.st_envelope(geom), 4326) end as box
  from (select ${quoteName(column)} as geom from ${wholeOf(sql)} where ${quoteName(column)} is not null limit ${mostLookedAt}) as looked_at
) as told`

/** The first rows of a larger query give its extent; the viewer can move the map. */
const mostLookedAt = 100_000

/** A sample of the numbers of a column. */
export async function readNumbers({ sql }: Sql, column: string, signal: AbortSignal) {
  const rows = await readSample<number>(sql, (from) => numbersSql(from, column), signal)
  return rows.map(({ value }) => Number(value))
}

type Sql = Pick<DraftLayer, 'sql'>

/** The most frequent values of a column, as text. */
export async function readCategories({ sql }: Sql, column: string, most: number, signal: AbortSignal) {
  const rows = await readSample<string>(sql, (from) => categoriesSql(from, column, most), signal)
  return rows.map(({ value }) => value)
}

async function readSample<V>(
  sql: string,
  statement: (from: string) => string,
  signal: AbortSignal,
): Promise<readonly Sampled<V>[]> {
  const table = tableIn(sql)
  const [stored] = table === undefined ? [] : await readRows<Stored>(storedSql(table), { signal })
  const sample = sampleOf(sql, stored)
  const rows = await readRows<Sampled<V>>(statement(sample), { signal })
  if (sample === wholeOf(sql) || !isTooSmall(rows)) return rows
  return readRows<Sampled<V>>(statement(wholeOf(sql)), { signal })
}
