export type Position = [x: number, y: number]
export type Geometry =
  | { type: 'Point'; coordinates: Position }
  | { type: 'LineString' | 'MultiPoint'; coordinates: Position[] }
  | { type: 'Polygon' | 'MultiLineString'; coordinates: Position[][] }
  | { type: 'MultiPolygon'; coordinates: Position[][][] }
  | { type: 'GeometryCollection'; geometries: Geometry[] }

export type ReadGeometry = Readonly<{ srid: number; geometry: Geometry }>

/**
 * Reads hex EWKB, the format of the SQL endpoint. Drops Z and M. Undefined for an empty geometry, a curve or other
 * text.
 */
export function readEwkb(hex: string): ReadGeometry | undefined {
  if (!/^0[01]/.test(hex) || hex.length % 2 !== 0) return undefined
  try {
    const reader = new Reader(bytesOf(hex))
    const geometry = readGeometry(reader)
    return geometry && { srid: reader.srid, geometry }
  } catch {
    return undefined
  }
}

/** Whether the first geometry has Z or M. */
export const hasMore = (hex: string) => {
  const [flags] = hex.startsWith('01') ? hex.slice(8, 10) : hex.slice(2, 4)
  return Number.parseInt(flags ?? '0', 16) >= 4
}

/** Converts to longitude and latitude. Undefined for an SRID other than 4326 and 3857. */
export function toLonLat({ srid, geometry }: ReadGeometry): Geometry | undefined {
  if (srid === 4326) return geometry
  return srid === 3857 ? mapPositions(geometry, fromWebMercator) : undefined
}

const radius = 6378137

export const fromWebMercator = ([x, y]: Position): Position => [
  (x / radius) * (180 / Math.PI),
  (2 * Math.atan(Math.exp(y / radius)) - Math.PI / 2) * (180 / Math.PI),
]

export function mapPositions(geometry: Geometry, change: (position: Position) => Position): Geometry {
  if (geometry.type === 'GeometryCollection') {
    return { ...geometry, geometries: geometry.geometries.map((each) => mapPositions(each, change)) }
  }
  const deep = (value: unknown): unknown =>
    typeof (value as Position)[0] === 'number' ? change(value as Position) : (value as unknown[]).map(deep)
  return { ...geometry, coordinates: deep(geometry.coordinates) } as Geometry
}

class Reader {
  srid = 0
  readonly #view: DataView
  #at = 0
  isLittle = true
  hasZ = false
  hasM = false

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer)
  }

  byte(): number {
    return this.#view.getUint8(this.#at++)
  }

  uint(): number {
    this.#at += 4
    return this.#view.getUint32(this.#at - 4, this.isLittle)
  }

  double(): number {
    this.#at += 8
    return this.#view.getFloat64(this.#at - 8, this.isLittle)
  }

  position(): Position {
    const position: Position = [this.double(), this.double()]
    if (this.hasZ) this.double()
    if (this.hasM) this.double()
    return position
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: this.uint() }, read)
  }
}

function readGeometry(reader: Reader): Geometry | undefined {
  reader.isLittle = reader.byte() === 1
  const flags = reader.uint()
  reader.hasZ = (flags & 0x80000000) !== 0
  reader.hasM = (flags & 0x40000000) !== 0
  if (flags & 0x20000000) reader.srid = reader.uint()
  const positions = () => reader.list(() => reader.position())
  const rings = () => reader.list(positions)
  switch (flags & 0xff) {
    case 1: {
      const coordinates = reader.position()
      return Number.isNaN(coordinates[0]) ? undefined : { type: 'Point', coordinates }
    }
    case 2:
      return whole({ type: 'LineString', coordinates: positions() })
    case 3:
      return whole({ type: 'Polygon', coordinates: rings() })
    case 4:
    case 5:
    case 6:
    case 7:
      return readMany(flags & 0xff, reader)
    default:
      throw new Error('a curve')
  }
}

const whole = (
  geometry: Exclude<Geometry, { type: 'Point' | 'GeometryCollection' }>,
): Geometry | undefined => (geometry.coordinates.length === 0 ? undefined : geometry)

function readMany(kind: number, reader: Reader): Geometry | undefined {
  const parts = reader.list(() => readGeometry(reader)).filter((part) => part !== undefined)
  if (parts.length === 0) return undefined
  if (kind === 7) return { type: 'GeometryCollection', geometries: parts }
  const type = ({ 4: 'MultiPoint', 5: 'MultiLineString', 6: 'MultiPolygon' } as const)[kind as 4 | 5 | 6]
  return {
    type,
    coordinates: parts.map((part) => (part as { coordinates: unknown }).coordinates),
  } as Geometry
}

function bytesOf(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2)
  for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16)
  return bytes
}
