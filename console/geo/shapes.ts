import { type Geometry, readEwkb, toLonLat } from './ewkb.ts'

export type Shape = Readonly<{
  type: 'Feature'
  id: number
  geometry: Geometry
  properties: Readonly<Record<string, string | null>>
}>

/** The shapes of a geometry column, and the numbers of rows that are not drawn. */
export type Shapes = Readonly<{
  features: readonly Shape[]
  bounds: readonly [west: number, south: number, east: number, north: number] | null
  /** Rows after the limit of shapes. */
  beyond: number
  /** Rows with a NULL or empty geometry. */
  empty: number
  /** Of the first geometry; 0 if there is none. */
  srid: number
  /** Geometries that cannot be drawn, by SRID. */
  undrawn: Readonly<Record<number, number>>
  /** Rows whose numbers are not longitude and latitude. */
  outside?: number
}>

export const mostShapes = 200_000

/** Reads the geometries of rows. `colour` returns the value that colours a shape. */
export function readShapes(
  count: number,
  read: (row: number) => string | null,
  colour: ((row: number) => string | null) | undefined,
): Shapes {
  const features: Shape[] = []
  const undrawn: Record<number, number> = {}
  const box = nowhere()
  let [beyond, empty] = [0, 0]
  let srid: number | undefined
  for (let row = 0; row < count; row++) {
    if (features.length === mostShapes) {
      beyond = count - row
      break
    }
    const hex = read(row)
    const found = hex === null ? undefined : readEwkb(hex)
    srid ??= found?.srid
    const geometry = found && toLonLat(found)
    if (geometry) {
      extend(box, geometry)
      features.push({ type: 'Feature', id: row, geometry, properties: colour ? { colour: colour(row) } : {} })
    } else if (found) undrawn[found.srid] = (undrawn[found.srid] ?? 0) + 1
    else empty++
  }
  return { features, bounds: features.length > 0 ? box : null, beyond, empty, srid: srid ?? 0, undrawn }
}

/** Points of two numbers in each row, as longitude and latitude. */
export function readPoints(
  count: number,
  read: (row: number) => readonly [longitude: string | null, latitude: string | null],
  colour: ((row: number) => string | null) | undefined,
): Shapes {
  const features: Shape[] = []
  const box = nowhere()
  let [beyond, empty, outside] = [0, 0, 0]
  for (let row = 0; row < count; row++) {
    if (features.length === mostShapes) {
      beyond = count - row
      break
    }
    const [longitude, latitude] = read(row)
    const coordinates: [number, number] = [Number(longitude), Number(latitude)]
    if (longitude === null || latitude === null) empty++
    else if (!isPlace(coordinates)) outside++
    else {
      const geometry = { type: 'Point' as const, coordinates }
      extend(box, geometry)
      features.push({ type: 'Feature', id: row, geometry, properties: colour ? { colour: colour(row) } : {} })
    }
  }
  const bounds = features.length > 0 ? box : null
  return { features, bounds, beyond, empty, srid: 4326, undrawn: {}, outside }
}

/** False for NaN and infinity, too. */
const isPlace = ([longitude, latitude]: readonly [number, number]) =>
  Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90

export function boundsOf(geometry: Geometry): [west: number, south: number, east: number, north: number] {
  const box = nowhere()
  extend(box, geometry)
  return box
}

const nowhere = (): [number, number, number, number] => [
  Number.POSITIVE_INFINITY,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
]

function extend(box: [number, number, number, number], geometry: Geometry): void {
  if (geometry.type === 'GeometryCollection') {
    for (const part of geometry.geometries) extend(box, part)
    return
  }
  const walk = (value: unknown): void => {
    const [x, y] = value as [number, number]
    if (typeof x !== 'number') {
      for (const part of value as unknown[]) walk(part)
      return
    }
    box[0] = Math.min(box[0], x)
    box[1] = Math.min(box[1], y)
    box[2] = Math.max(box[2], x)
    box[3] = Math.max(box[3], y)
  }
  walk(geometry.coordinates)
}
