import type { TilePlace } from '../contract/documents.ts'
import { quoteLiteral, quoteName } from '../contract/text/quote.ts'
import type { Geometry, Layer, Property } from './tile-layer.ts'

/** Rows that can be drawn. `from`: what they are selected from, as SQL. */
export type DrawnLayer = Pick<Layer, 'kind' | 'geometry' | 'hasId'> &
  Readonly<{
    from: string
    /** Around the tile, in the SRID of the geometry: an index finds the rows. Null: rows are transformed one by one. */
    box?: Box | null
  }>

export type Box = readonly [west: number, south: number, east: number, north: number]

/** How fine a tile is. */
export type TileGrid = Readonly<{
  extent: number
  /** Cells of the extent around the tile, on each side. */
  buffer: number
  /** Shapes are simplified to one of so many parts of the tile; null: not at all. */
  simplifiedCells: number | null
}>

/** What a tile shows of a layer. */
export type TileContent = Readonly<{
  layer: DrawnLayer
  /** The name of the layer in the tile. */
  name: string
  properties: readonly Property[]
  place: TilePlace
  grid: TileGrid
  maxFeatures: number
  maxBytes: number
}>

/** The grid for tiles of tables. */
export const tableGrid: TileGrid = { extent: 4096, buffer: 64, simplifiedCells: 2048 }

/**
 * The SQL of vector tiles. Names are quoted, and nothing else comes from a caller. On a tenant's session a bare
 * name may be the tenant's, so every function and operator has its schema.
 */

/**
 * Makes a tile. Answers one row: `found`, which is more than `maxFeatures` if the
 * tile has too many, `bytes`, and `tile`, which is null if there are too many features or bytes.
 */
export function tileSql(content: TileContent): string {
  const { layer, maxFeatures } = content
  return aggregated(
    content,
    `select ${columnsOf(content, 't')} from ${layer.from} as t where ${isInTile(content, 't')} limit ${maxFeatures + 1}`,
    maxFeatures,
  )
}

/** Answers whether the first features of a tile are points. */
export function arePointsSql({ layer, ...content }: TileContent): string {
  const g = `t.${quoteName(layer.geometry.name)}`
  return `select pg_catalog.max(postgis.st_dimension(s.g)) operator(pg_catalog.=) 0 as are_points
from (select ${g} as g from ${layer.from} as t where ${isInTile({ layer, ...content }, 't')} limit 1000) as s`
}

/** Takes the shapes with the largest bounding boxes, or one point for each cell. Answers like `tileSql`. */
export const truncatedTileSql = (content: TileContent, isPoints: boolean) =>
  aggregated(content, isPoints ? pointInEachCell(content) : largest(content), content.maxFeatures)

/**
 * In one pass: to keep the rows of a tile and count them first takes half as long again. ST_AsMVT leaves out rows without a
 * geometry; a FILTER would compute each geometry twice.
 */
function aggregated(content: TileContent, rows: string, mostFeatures: number): string {
  const { layer, properties, place, maxBytes } = content
  const { extent, buffer } = content.grid
  const g = geometryName(content)
  const columns = [
    `postgis.st_asmvtgeom(${simplified(content, `s.${g}`)}, ${envelope(place)}, ${extent}, ${buffer}, true) as ${g}`,
    ...properties.map(({ name }) => `s.${quoteName(name)}`),
    ...(layer.hasId ? [`s.${idName(content)}`] : []),
  ]
  const id = layer.hasId ? `, ${asLiteral(idName(content))}` : ''
  return `with made as materialized (
  select pg_catalog.count(*) as found, postgis.st_asmvt(r.*, ${quoteLiteral(content.name)}, ${extent}, ${asLiteral(g)}${id}) as tile
  from (select ${columns.join(', ')} from (${rows}) as s) as r
) select m.found, pg_catalog.octet_length(m.tile) as bytes,
  case when m.found operator(pg_catalog.<=) ${mostFeatures} and pg_catalog.octet_length(m.tile) operator(pg_catalog.<=) ${maxBytes} then m.tile end as tile
from made as m`
}

function simplified({ layer, place, grid }: TileContent, g: string): string {
  const { simplifiedCells } = grid
  if (isPointType(layer.geometry.type) || simplifiedCells === null) return g
  return `case when ${isSmall(g)} then ${g} else postgis.st_simplify(${g}, ${sizeOf(place) / simplifiedCells}, true) end`
}

/** True of a point, and of nothing that has to be checked or simplified. Reads no coordinate. */
const isSmall = (g: string) => `pg_catalog.pg_column_size(${g}) operator(pg_catalog.<) 60`

function largest(content: TileContent): string {
  const g = `t.${quoteName(content.layer.geometry.name)}`
  const size = `greatest(postgis.st_xmax(${g}) operator(pg_catalog.-) postgis.st_xmin(${g}), postgis.st_ymax(${g}) operator(pg_catalog.-) postgis.st_ymin(${g}))`
  return `select ${columnsOf(content, 't')} from ${content.layer.from} as t where ${isInTile(content, 't')}
  order by ${size} desc limit ${content.maxFeatures}`
}

/** The rows of a table are found by their place, which needs no sort. */
function pointInEachCell(content: TileContent): string {
  const { layer, place, maxFeatures } = content
  const cell = sizeOf(place) / Math.max(1, Math.floor(Math.sqrt(maxFeatures)))
  const g = inMercator(layer.geometry, 't')
  const cells = `pg_catalog.floor(postgis.st_xmin(${g}) operator(pg_catalog./) ${cell}), pg_catalog.floor(postgis.st_ymin(${g}) operator(pg_catalog./) ${cell})`
  const inTile = `from ${layer.from} as t where ${isInTile(content, 't')}`
  const columns = columnsOf(content, 't')
  if (layer.kind !== 'r' && layer.kind !== 'm')
    return `select distinct on (${cells}) ${columns} ${inTile} limit ${maxFeatures}`
  return `select ${columns} ${inTile} and t.ctid operator(pg_catalog.=) any (array(
    select pg_catalog.min(t.ctid) ${inTile} group by ${cells})) limit ${maxFeatures}`
}

/** Geometry in Web Mercator, properties, and the id of the feature. */
function columnsOf(content: TileContent, t: string): string {
  const { layer, properties } = content
  return [
    `${inMercator(layer.geometry, t)} as ${geometryName(content)}`,
    ...properties.map(({ name, kind }) => `${shown(`${t}.${quoteName(name)}`, kind)} as ${quoteName(name)}`),
    ...(layer.hasId ? [`${t}.${quoteName('cartodb_id')}::pg_catalog.int8 as ${idName(content)}`] : []),
  ].join(', ')
}

/** A value as one of the types that a tile has. */
function shown(column: string, kind: Property['kind']): string {
  switch (kind) {
    case 'boolean':
      return `${column}::pg_catalog.bool`
    case 'integer':
      return `${column}::pg_catalog.int8`
    case 'float':
      return `${column}::pg_catalog.float8`
    case 'numeric':
      // Beyond this a float8 has no value for it.
      return `case when pg_catalog.abs(${column}) operator(pg_catalog.<) 1e-300 then 0
        when pg_catalog.abs(${column}) operator(pg_catalog.<) 1e308 then ${column}::pg_catalog.float8 end`
    case 'date':
      return `pg_catalog.to_json(${column}) operator(pg_catalog.#>>) '{}'`
    default:
      return `${column}::pg_catalog.text`
  }
}

/** Also excludes empty geometries, and those with coordinates that are infinite or not numbers. */
export function isInTile(
  { layer, place, grid }: Pick<TileContent, 'layer' | 'place' | 'grid'>,
  t: string,
): string {
  const { geometry } = layer
  const margin = grid.buffer / grid.extent
  const g = `${t}.${quoteName(geometry.name)}`
  const span = `(postgis.st_xmax(${g}) operator(pg_catalog.-) postgis.st_xmin(${g})) operator(pg_catalog.+) (postgis.st_ymax(${g}) operator(pg_catalog.-) postgis.st_ymin(${g}))`
  const isFiniteBox = `${span} operator(pg_catalog.<) 'Infinity'::pg_catalog.float8`
  // A point is in the tile or not.
  const isDrawable = `(${isSmall(g)} or ${isFiniteBox})`
  const near = envelope(place, margin)
  const inDegrees = `${g} operator(postgis.&&) ${degrees(place, margin)}`
  if (geometry.srid === mercator) return `${g} operator(postgis.&&) ${near} and ${isDrawable}`
  if (geometry.srid === lonLat) return `${inDegrees} and ${isDrawable}`
  const transformed = `${inMercator(geometry, t)} operator(postgis.&&) ${near}`
  if (geometry.srid !== 0) {
    const isTransformed = `case when ${isFiniteBox} then ${transformed} end`
    const { box } = layer
    if (!box) return isTransformed
    return `${g} operator(postgis.&&) postgis.st_makeenvelope(${box.join(', ')}, ${geometry.srid}) and ${isTransformed}`
  }
  return `case when not (${isFiniteBox}) then false when postgis.st_srid(${g}) in (0, ${lonLat}) then ${inDegrees} else ${transformed} end`
}

/** Rows of a column without a declared SRID may have one each; without any it is taken for 4326. */
export function inMercator({ name, srid, type }: Geometry, t: string): string {
  const g = curvesAsLines(`${t}.${quoteName(name)}`, type)
  if (srid === mercator) return g
  if (srid !== 0) return `postgis.st_transform(${srid === lonLat ? withoutPoles(g, type) : g}, ${mercator})`
  const degrees = `postgis.st_transform(${withoutPoles(`postgis.st_setsrid(${g}, ${lonLat})`, type)}, ${mercator})`
  return `case postgis.st_srid(${g}) when ${mercator} then ${g} when 0 then ${degrees} when ${lonLat} then ${degrees}
    else postgis.st_transform(${g}, ${mercator}) end`
}

function curvesAsLines(g: string, type: string): string {
  if (straightTypes.has(type)) return g
  return `case when ${isSmall(g)} then ${g} when postgis.st_hasarc(${g}) then postgis.st_curvetoline(${g}) else ${g} end`
}

/** Web Mercator has no poles, and PROJ refuses what is no longitude. */
function withoutPoles(g: string, type: string): string {
  if (isPointType(type)) return g
  const isBeyond = `postgis.st_ymax(${g}) operator(pg_catalog.>) ${poles} or postgis.st_ymin(${g}) operator(pg_catalog.<) ${-poles} or postgis.st_xmax(${g}) operator(pg_catalog.>) 360 or postgis.st_xmin(${g}) operator(pg_catalog.<) -360`
  return `case when ${isBeyond} then postgis.st_clipbybox2d(${g}, postgis.st_makeenvelope(-360, ${-poles}, 360, ${poles}, ${lonLat})) else ${g} end`
}

export const tableOf = ({ schema, name }: Pick<Layer, 'schema' | 'name'>) =>
  `${quoteName(schema)}.${quoteName(name)}`

/** A quoted name as a literal: only the quotes need to change. */
const asLiteral = (quotedName: string) => `'${quotedName.slice(1, -1)}'`

const geometryName = (content: TileContent) => quoteName(freeName('geom', content))
const idName = (content: TileContent) => quoteName(freeName('feature_id', content))

/** A name that no column of the tile has. */
function freeName(wanted: string, { properties }: TileContent): string {
  const isTaken = (name: string) => properties.some((property) => property.name === name)
  let name = wanted
  while (isTaken(name)) name += '_'
  return name
}

const isPointType = (type: string) => /^(MULTI)?POINT/.test(type)
const straightTypes: ReadonlySet<string> = new Set(
  ['POINT', 'LINESTRING', 'POLYGON'].flatMap((type) =>
    [type, `MULTI${type}`].flatMap((each) => [each, `${each}Z`, `${each}M`, `${each}ZM`]),
  ),
)

const mercator = 3857
const lonLat = 4326
const worldMetres = 2 * Math.PI * 6378137
const poles = 89.9

export const sizeOf = ({ z }: TilePlace) => worldMetres / 2 ** z

const envelope = ({ z, x, y }: TilePlace, margin = 0) =>
  margin === 0
    ? `postgis.st_tileenvelope(${z}, ${x}, ${y})`
    : `postgis.st_tileenvelope(${z}, ${x}, ${y}, margin => ${margin})`

/** Not by PROJ, which would take 181 degrees east for 179 degrees west. */
function degrees({ z, x, y }: TilePlace, margin: number): string {
  const longitude = (at: number) => (at / 2 ** z) * 360 - 180
  const latitude = (at: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * at) / 2 ** z))) * 180) / Math.PI
  const box = [
    longitude(x - margin),
    latitude(y + 1 + margin),
    longitude(x + 1 + margin),
    latitude(y - margin),
  ]
  return `postgis.st_makeenvelope(${box.join(', ')}, ${lonLat})`
}

/** A tile of the deeper zooms is small enough that the edge of its image is the image of its edge. */
export const isBoxed = ({ z }: TilePlace, { srid }: Geometry) =>
  z >= shallowestBoxed && ![0, mercator, lonLat].includes(srid)

const shallowestBoxed = 5

/**
 * Answers a box around a tile in another SRID: `west`, `south`, `east`, `north`; no row if points of it do not come back where
 * they were. Fails where the projection does.
 */
export function boxSql(place: TilePlace, srid: number): string {
  const edge = edgeOf(place).map(([x, y]) => `(${x}, ${y})`)
  return `with edge as (
  select p.g, postgis.st_transform(p.g, ${srid}) as there
  from (select postgis.st_setsrid(postgis.st_point(v.column1, v.column2), ${mercator}) as g from (values ${edge.join(', ')}) as v) as p
), image as (
  select postgis.st_extent(e.there) as box, pg_catalog.max(postgis.st_distance(e.g, postgis.st_transform(e.there, ${mercator}))) as off
  from edge as e
) select postgis.st_xmin(i.box) as west, postgis.st_ymin(i.box) as south, postgis.st_xmax(i.box) as east, postgis.st_ymax(i.box) as north
from image as i where i.off operator(pg_catalog.<) ${sizeOf(place) / 1000}`
}

/** Points around the tile and its surroundings, in metres. */
function edgeOf(place: TilePlace): readonly (readonly [number, number])[] {
  const size = sizeOf(place)
  const west = place.x * size - worldMetres / 2 - size / 10
  const north = worldMetres / 2 - place.y * size + size / 10
  const side = 1.2 * size
  return Array.from({ length: edgePoints }, (_, at) => (at / edgePoints) * side).flatMap((along) => [
    [west + along, north] as const,
    [west + side, north - along] as const,
    [west + side - along, north - side] as const,
    [west, north - side + along] as const,
  ])
}

/** On each side. */
const edgePoints = 16

/** Answers the bounding box in degrees of the first rows, or of a sample of a large table; null for an empty one. */
export function boundsSql(layer: DrawnLayer & Pick<Layer, 'estimatedRows'>): string {
  const { geometry, kind, estimatedRows, from } = layer
  const share = (sampledRows / Math.max(1, estimatedRows)) * 100
  const sample =
    ['r', 'm', 'p'].includes(kind) && share < 50
      ? ` tablesample pg_catalog.system(${share}) repeatable (1)`
      : ''
  const g = `t.${quoteName(geometry.name)}`
  return `with some_rows as materialized (
  select ${inMercator(geometry, 't')} as g from ${from} as t${sample} where ${g} is not null
    and postgis.st_xmax(${g}) operator(pg_catalog.-) postgis.st_xmin(${g}) operator(pg_catalog.<) 'Infinity'::pg_catalog.float8
    and postgis.st_ymax(${g}) operator(pg_catalog.-) postgis.st_ymin(${g}) operator(pg_catalog.<) 'Infinity'::pg_catalog.float8
  limit ${sampledRows}
), whole as (select postgis.st_extent(s.g) as box from some_rows as s)
select postgis.st_xmin(w.box) as west, postgis.st_ymin(w.box) as south, postgis.st_xmax(w.box) as east, postgis.st_ymax(w.box) as north
from whole as w`
}

const sampledRows = 100_000
