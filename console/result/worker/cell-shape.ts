import { type Geometry, hasMore, type Position, readEwkb, toLonLat } from '../../geo/ewkb.ts'
import { boundsOf } from '../../geo/shapes.ts'
import { writeWkt } from '../../geo/wkt.ts'

/** A geometry as the panel of a cell shows it. */
export type CellShape = Readonly<{
  srid: number
  wkt: string
  /** It has Z or M, which the WKT and the map leave out. */
  hasMore: boolean
  points: number
  /** In longitude and latitude, for a small map; undefined for other SRIDs than 4326 and 3857. */
  drawn: Readonly<{ shape: Geometry; points: number }> | undefined
}>

/** Null for an empty geometry, a curve or other text. */
export function readCellShape(hex: string): CellShape | null {
  const found = readEwkb(hex)
  if (!found) return null
  const shape = toLonLat(found)
  const points = pointsOf(found.geometry)
  return {
    srid: found.srid,
    wkt: writeWkt(found.geometry),
    hasMore: hasMore(hex),
    points,
    drawn: shape && (points > mostWhole ? thinned(shape) : { shape, points }),
  }
}

/** Of more points those are left out that a small map does not show: they would block the page. */
const mostWhole = 10_000

function pointsOf(geometry: Geometry): number {
  if (geometry.type === 'Point') return 1
  let count = 0
  mapLines(geometry, (line) => {
    count += line.length
    return line
  })
  return count
}

function thinned(shape: Geometry): CellShape['drawn'] {
  const [west, south, east, north] = boundsOf(shape)
  const least = Math.max(east - west, north - south) / 2_000
  const fewer = mapLines(shape, (line) => apart(line, least))
  return { shape: fewer, points: pointsOf(fewer) }
}

/** Without points that are close to the one before. The ends stay: a ring stays closed. A small ring stays whole. */
function apart(line: Position[], least: number): Position[] {
  let [x, y] = line[0]!
  const kept = line.filter(([nextX, nextY], at) => {
    const isKept = at === 0 || at === line.length - 1 || Math.hypot(nextX - x, nextY - y) >= least
    if (isKept) [x, y] = [nextX, nextY]
    return isKept
  })
  return kept.length < leastOfRing ? line : kept
}

const leastOfRing = 4

/** Each line, ring or set of points of a geometry changed. */
function mapLines(geometry: Geometry, change: (line: Position[]) => Position[]): Geometry {
  if (geometry.type === 'Point') return geometry
  if (geometry.type === 'GeometryCollection')
    return { ...geometry, geometries: geometry.geometries.map((part) => mapLines(part, change)) }
  const deep = (value: unknown[]): unknown[] =>
    typeof (value[0] as Position)[0] === 'number'
      ? change(value as Position[])
      : value.map((part) => deep(part as unknown[]))
  return { ...geometry, coordinates: deep(geometry.coordinates) } as Geometry
}
