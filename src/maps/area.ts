import { isJsonObject, type JsonObject } from '../contract/text/json-object.ts'
import { errors } from '../errors.ts'
import { worldEdge } from './layer-sql.ts'

/** Where on earth the rows of a dataview are, as the client has sent it. */
export type Area = Readonly<{
  bbox: string | undefined
  circle: string | undefined
  polygon: string | undefined
}>

/** The rows of alias f in all of these. Throws on the first fault. */
export function areaConditions({ bbox, circle, polygon }: Area): readonly string[] {
  return [
    ...(bbox === undefined ? [] : [boxCondition(bbox)]),
    ...(circle === undefined ? [] : [circleCondition(circle)]),
    ...(polygon === undefined ? [] : [polygonCondition(polygon)]),
  ]
}

const geometry = 'f.the_geom_webmercator'

/** West, south, east, north in degrees. It may cross the date line: 170 to 190, or 170 to -170. */
function boxCondition(text: string): string {
  const [west, south, east, north] = text.split(',').map(Number) as [number, number, number, number]
  if (text.split(',').length !== 4 || ![west, south, east, north].every(Number.isFinite))
    throw errors.dataviewInvalid('Invalid bbox filter, expected 4 elements, west,south,east,north')
  const turns = Math.floor((west + 180) / 360) * 360
  const end = east < west ? east + 360 : east
  const [from, to] = end - west >= 360 ? [-180, 180] : [west - turns, end - turns]
  const boxes = to > 180 ? [[from, 180] as const, [-180, to - 360] as const] : [[from, to] as const]
  const inBox = ([left, right]: readonly [number, number]) =>
    `postgis.st_intersects(${geometry}, postgis.st_makeenvelope(${mercatorX(left)}, ${mercatorY(south)}, ${mercatorX(right)}, ${mercatorY(north)}, 3857))`
  return `(${boxes.map(inBox).join(' or ')})`
}

/** `{"lat","lng","radius"}`, in degrees and metres. */
function circleCondition(text: string): string {
  const circle = parsed(text)
  const { lat, lng, radius } = isJsonObject(circle) ? circle : ({} as JsonObject)
  if (!isNumber(lat) || !isNumber(lng) || !isNumber(radius) || radius < 0)
    throw errors.dataviewInvalid('Invalid circle filter, expected "lat", "lng" and "radius"')
  const centre = `postgis.st_setsrid(postgis.st_point(${lng}, ${lat}), 4326)`
  const there = `postgis.st_transform(${geometry}, 4326)`
  return `postgis.st_dwithin(postgis.geography(${there}), postgis.geography(${centre}), ${radius})`
}

/** A polygon of GeoJSON. One without a ring is nowhere. */
function polygonCondition(text: string): string {
  const polygon = parsed(text)
  const { type, coordinates } = isJsonObject(polygon) ? polygon : ({} as JsonObject)
  if (type !== 'Polygon' || !Array.isArray(coordinates) || !coordinates.every(isRing))
    throw errors.dataviewInvalid('Invalid polygon filter, expected a Polygon of GeoJSON with closed rings')
  if (coordinates.length === 0) return 'false'
  const rings = coordinates.map(
    (ring) => `(${ring.map(([x, y]) => `${mercatorX(x)} ${mercatorY(y)}`).join(', ')})`,
  )
  return `postgis.st_intersects(${geometry}, postgis.st_geomfromtext('POLYGON(${rings.join(', ')})', 3857))`
}

type Position = readonly [number, number]

function isRing(ring: unknown): ring is readonly Position[] {
  if (!Array.isArray(ring) || ring.length < 4 || !ring.every(isPosition)) return false
  const [first, last] = [ring[0] as Position, ring.at(-1) as Position]
  return first[0] === last[0] && first[1] === last[1]
}

const isPosition = (position: unknown): position is Position =>
  Array.isArray(position) && isNumber(position[0]) && isNumber(position[1])

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const mercatorX = (longitude: number) => (longitude / 180) * worldEdge

function mercatorY(latitude: number): number {
  const limited = Math.max(-maxLatitude, Math.min(maxLatitude, latitude))
  return (Math.atanh(Math.sin((limited * Math.PI) / 180)) / Math.PI) * worldEdge
}

const maxLatitude = 85.0511287798066
