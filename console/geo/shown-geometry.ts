import { plural } from '../../src/contract/text/format.ts'

/** A geometry for one line: `POINT(2.35 48.86)`, `Polygon, 213 points`. Undefined for text that is not hex EWKB. */
export function shownGeometry(hex: string): string | undefined {
  if (!/^0[01][0-9a-f]{8}/i.test(hex)) return undefined
  try {
    return describe(hex)
  } catch {
    return undefined
  }
}

function describe(hex: string): string | undefined {
  const reader = new HexReader(hex)
  const { name, dimensions, code } = reader.head()
  if (name === undefined) return undefined
  const srid = reader.srid === 0 || reader.srid === 4326 ? '' : `SRID=${reader.srid};`
  const suffix = dimensions === '' ? '' : ` ${dimensions}`
  if (code === 1) return `${srid}POINT${suffix}${reader.pointText()}`
  if (code > 7) return `${name}${suffix}`
  const { points, parts } = reader.count(code)
  if (points === 0) return `${name}${suffix}, empty`
  const many = code > 4 ? `${plural(parts, 'part')}, ` : ''
  return `${name}${suffix}, ${many}${plural(points, 'point')}`
}

const names: Readonly<Record<number, string>> = {
  1: 'Point',
  2: 'LineString',
  3: 'Polygon',
  4: 'MultiPoint',
  5: 'MultiLineString',
  6: 'MultiPolygon',
  7: 'GeometryCollection',
  8: 'CircularString',
  9: 'CompoundCurve',
  10: 'CurvePolygon',
  11: 'MultiCurve',
  12: 'MultiSurface',
  15: 'PolyhedralSurface',
  16: 'Tin',
  17: 'Triangle',
}

type Head = Readonly<{ code: number; name: string | undefined; dimensions: string }>

/** Reads headers and counts, and skips the coordinates: a shape may have a million of them. */
class HexReader {
  srid = 0
  readonly #hex: string
  #at = 0
  #isLittle = true
  /** Ordinates per position. */
  #size = 2

  constructor(hex: string) {
    this.#hex = hex
  }

  head(): Head {
    this.#isLittle = this.#bytes(1).getUint8(0) === 1
    const flags = this.#uint()
    const hasZ = (flags & 0x80000000) !== 0
    const hasM = (flags & 0x40000000) !== 0
    this.#size = 2 + Number(hasZ) + Number(hasM)
    if (flags & 0x20000000) this.srid = this.#uint()
    const code = flags & 0x0fffffff
    return { code, name: names[code], dimensions: `${hasZ ? 'Z' : ''}${hasM ? 'M' : ''}` }
  }

  pointText(): string {
    const ordinates = Array.from({ length: this.#size }, () => this.#bytes(8).getFloat64(0, this.#isLittle))
    return ordinates.every(Number.isNaN) ? ' EMPTY' : `(${ordinates.join(' ')})`
  }

  count(code: number): { points: number; parts: number } {
    if (code === 1) return { points: this.#isEmptyPoint() ? 0 : 1, parts: 1 }
    const length = this.#uint()
    if (code === 2) return { points: this.#skip(length), parts: 1 }
    let points = 0
    for (let part = 0; part < length; part++) {
      points += code === 3 ? this.#skip(this.#uint()) : this.count(this.head().code).points
    }
    return { points, parts: length }
  }

  #isEmptyPoint(): boolean {
    return this.pointText() === ' EMPTY'
  }

  #skip(positions: number): number {
    this.#at += positions * this.#size * 16
    if (this.#at > this.#hex.length) throw new RangeError('cut off')
    return positions
  }

  #uint(): number {
    return this.#bytes(4).getUint32(0, this.#isLittle)
  }

  #bytes(count: number): DataView {
    const view = new DataView(new ArrayBuffer(count))
    for (let byte = 0; byte < count; byte++) {
      const value = Number.parseInt(this.#hex.slice(this.#at, this.#at + 2), 16)
      if (Number.isNaN(value)) throw new RangeError('cut off')
      view.setUint8(byte, value)
      this.#at += 2
    }
    return view
  }
}
