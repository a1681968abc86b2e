import { elementsOf, membersOf, type RawMember, shownValue } from '../contract/text/json-rows.ts'

/** What is no GeoJSON, or none that can become rows. */
export class GeojsonError extends Error {
  override readonly name = 'GeojsonError'
}

/** More is for the service: all of it has to be in memory. */
export const maxGeojsonBytes = 256 * 1024 * 1024

/** How the CSV is written that geojsonToCsv makes. */
export const geojsonDialect = { delimiter: ',', quote: '"', hasHeader: true, encoding: 'UTF8' } as const

/**
 * Features as CSV, in pieces: `the_geom` in EWKT, then a column for every property that any of them has. Numbers keep all
 * their digits; nested values are JSON.
 */
export function* geojsonToCsv(text: string): Generator<string> {
  const { features, srid } = readCollection(text)
  const names = propertyNames(features())
  yield `${['the_geom', ...names].map(csvValue).join(',')}\n`
  let piece = ''
  let number = 0
  for (const { geometry, properties } of features()) {
    const values = new Map(properties)
    const cells = names.map((name) => csvValue(shownValue(values.get(name) ?? 'null')))
    number++
    piece += `${[geometry === null ? '' : `"SRID=${srid};${readable(geometry, number)}"`, ...cells].join(',')}\n`
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield piece
}

const pieceLength = 1 << 20

function readable(geometry: unknown, number: number): string {
  try {
    return wktOf(geometry)
  } catch (error) {
    if (!(error instanceof GeojsonError)) throw error
    throw new GeojsonError(`Feature ${number} has no geometry that can be read: ${error.message}`)
  }
}

type Feature = Readonly<{ geometry: unknown; properties: readonly RawMember[] }>
type UncheckedGeometry = Readonly<{ type?: unknown; coordinates?: unknown; geometries?: unknown }>

function readCollection(text: string): { features: () => Generator<Feature>; srid: number } {
  const trimmed = text.trim()
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}'))
    throw new GeojsonError('This is not a whole GeoJSON file.')
  const members = new Map(membersOf(trimmed))
  const type = members.get('type')
  const list = type === '"Feature"' ? `[${trimmed}]` : members.get('features')
  if (list === undefined || !list.startsWith('[') || !list.endsWith(']')) {
    throw new GeojsonError(`The file has no features: its type is ${type ?? 'not said'}.`)
  }
  return {
    srid: sridOf(members.get('crs')),
    features: function* () {
      let number = 0
      for (const raw of elementsOf(list)) yield readFeature(raw, ++number)
      if (number === 0) throw new GeojsonError('The file has no features.')
    },
  }
}

/** Old files may say in which system they are; today it is always WGS 84. */
function sridOf(crs = ''): number {
  return Number(/EPSG:(?::|[\d.]+:)?(\d+)/.exec(crs)?.[1] ?? 4326)
}

function readFeature(raw: string, number: number): Feature {
  try {
    const { geometry = null } = JSON.parse(raw) as { geometry?: unknown }
    const members = new Map(membersOf(raw))
    const properties = membersOf(members.get('properties') ?? '{}')
    const id = members.get('id')
    const hasId = id !== undefined && !properties.some(([name]) => name === 'id')
    return { geometry, properties: hasId ? [['id', id], ...properties] : properties }
  } catch (error) {
    throw new GeojsonError(`Feature ${number} is not JSON: ${(error as Error).message}`, { cause: error })
  }
}

function propertyNames(features: Iterable<Feature>): string[] {
  const names = new Set<string>()
  for (const { properties } of features) for (const [name] of properties) names.add(name)
  return [...names]
}

/** NULL is nothing at all, '' is two quotes. */
function csvValue(value: string | null): string {
  if (value === null) return ''
  return value === '' || /[",\r\n\\]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

/** How deep the positions of a type lie. */
const depths: ReadonlyMap<unknown, number> = new Map([
  ['Point', 0],
  ['MultiPoint', 1],
  ['LineString', 1],
  ['MultiLineString', 2],
  ['Polygon', 2],
  ['MultiPolygon', 3],
])

function wktOf(geometry: unknown): string {
  const { type, coordinates, geometries } = (geometry ?? {}) as UncheckedGeometry
  if (type === 'GeometryCollection') {
    if (!Array.isArray(geometries)) throw new GeojsonError('its geometries are not a list')
    return `GEOMETRYCOLLECTION${listOf(geometries, wktOf)}`
  }
  const depth = depths.get(type)
  if (depth === undefined) throw new GeojsonError(`its type is ${JSON.stringify(type) ?? 'not said'}`)
  if (!Array.isArray(coordinates)) throw new GeojsonError('its coordinates are not a list')
  const isSingle = depth === 0 && coordinates.length > 0
  return String(type).toUpperCase() + (isSingle ? `(${positionOf(coordinates)})` : nested(coordinates, depth))
}

function nested(coordinates: unknown, depth: number): string {
  if (!Array.isArray(coordinates)) throw new GeojsonError(`${JSON.stringify(coordinates)} is not a list`)
  return listOf(coordinates, (each) => (depth === 1 ? positionOf(each) : nested(each, depth - 1)))
}

const listOf = (members: readonly unknown[], textOf: (member: unknown) => string) =>
  members.length === 0 ? ' EMPTY' : `(${members.map(textOf).join(',')})`

function positionOf(value: unknown): string {
  const isPosition =
    Array.isArray(value) && value.length >= 2 && value.every((each) => typeof each === 'number')
  if (!isPosition) throw new GeojsonError(`${JSON.stringify(value)} is not a position`)
  return value.join(' ')
}
