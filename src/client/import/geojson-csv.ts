import { elementsOf, membersOf, type RawMember, shownValue } from '../json-rows.ts'

/** What is no GeoJSON, or none that can become rows. */
export class GeojsonError extends Error {
  override readonly name = 'GeojsonError'
}

/** More is for ogr2ogr: all of it has to be in memory. */
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
  for (const { geometry, properties } of features()) {
    const values = new Map(properties)
    const cells = names.map((name) => csvValue(shownValue(values.get(name) ?? 'null')))
    piece += `${[geometry ? `"SRID=${srid};${wktOf(geometry)}"` : '', ...cells].join(',')}\n`
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield piece
}

const pieceLength = 1 << 20

type Feature = Readonly<{ geometry: Geometry | null; properties: readonly RawMember[] }>
type Geometry = Readonly<{ type: string; coordinates?: unknown; geometries?: readonly Geometry[] }>

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
    const { geometry = null } = JSON.parse(raw) as { geometry?: Geometry | null }
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

function wktOf({ type, coordinates, geometries }: Geometry): string {
  const name = type.toUpperCase()
  if (geometries)
    return geometries.length === 0 ? `${name} EMPTY` : `${name}(${geometries.map(wktOf).join(',')})`
  if (!Array.isArray(coordinates) || coordinates.length === 0) return `${name} EMPTY`
  return name === 'POINT' ? `${name}(${coordinates.join(' ')})` : name + nested(coordinates)
}

const nested = (coordinates: readonly unknown[]): string =>
  `(${coordinates.map((each) => (isPosition(each) ? each.join(' ') : nested(each as unknown[]))).join(',')})`

const isPosition = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && typeof value[0] === 'number'
