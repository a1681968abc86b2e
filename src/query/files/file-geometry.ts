import type { FileRules } from './file-rules.ts'

/** The kind of a geometry in hexadecimal WKB. Shapefiles have a layer for each `family`. */
export type WkbKind = Readonly<{ type: number; dimensions: number; name: string }>

/** The kind of a hexadecimal, little-endian WKB. */
export const wkbKind = (hex: Buffer, start: number): WkbKind =>
  kindOfCode(byteAt(hex, start + 2) + byteAt(hex, start + 4) * 256)

/** The kind that a WKB tells by a number, such as 1001 for points with Z. */
export function kindOfCode(code: number): WkbKind {
  let known = kinds.get(code)
  if (!known) {
    const [type, dimensions] = [code % 1000, Math.floor(code / 1000)]
    known = { type, dimensions, name: `${families.get(type) ?? 'other'}${dimensionNames[dimensions] ?? ''}` }
    kinds.set(code, known)
  }
  return known
}

/** Why a format cannot hold a geometry. `traits` are those of `fileShape`. */
export function unfitGeometry(kind: WkbKind, traits: string, rules: FileRules): string | undefined {
  if (!rules.empties && traits.includes('e')) return 'an empty geometry'
  if (!rules.curves && (traits.includes('a') || surfaces.has(kind.type)))
    return `a ${typeNames[kind.type] ?? 'geometry'} with curves or triangles`
  if (rules.isLonLat && traits.includes('y')) return 'a latitude beyond 90 degrees'
  if (!rules.measures && kind.dimensions >= 2) return 'a geometry with M'
  if (!rules.collections && !families.has(kind.type)) return `a ${typeNames[kind.type] ?? 'geometry'}`
  return undefined
}

const byteAt = (hex: Buffer, at: number) => digitOf(hex[at]!) * 16 + digitOf(hex[at + 1]!)
const digitOf = (code: number) => (code <= 57 ? code - 48 : (code | 32) - 87)

const kinds = new Map<number, WkbKind>()
const families: ReadonlyMap<number, string> = new Map([
  [1, 'point'],
  [2, 'line'],
  [3, 'polygon'],
  [4, 'multipoint'],
  [5, 'line'],
  [6, 'polygon'],
])
export const dimensionNames = ['', 'z', 'm', 'zm'] as const
/** PolyhedralSurface, TIN and Triangle. */
const surfaces: ReadonlySet<number> = new Set([15, 16, 17])
const typeNames: Readonly<Record<number, string>> = {
  7: 'GEOMETRYCOLLECTION',
  8: 'CIRCULARSTRING',
  9: 'COMPOUNDCURVE',
  10: 'CURVEPOLYGON',
  11: 'MULTICURVE',
  12: 'MULTISURFACE',
  15: 'POLYHEDRALSURFACE',
  16: 'TIN',
  17: 'TRIANGLE',
}
