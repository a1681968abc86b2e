/** PostGIS writes geometries as hex EWKB. Arrow and Parquet have WKB: without the reference system, and ISO codes for Z and M. */

/** Writes the WKB of a hex EWKB into `target` and returns its end. There must be room for half of the text. */
export function writeWkb(target: Buffer, at: number, hex: Buffer, start: number, end: number): number {
  let to = at
  for (let from = start; from < end; from += 2)
    target[to++] = (nibbles[hex[from]!]! << 4) | nibbles[hex[from + 1]!]!
  const flags = target[at + 4]!
  // PostGIS writes little-endian on every machine it runs on today.
  if (target[at] !== 1) throw new TypeError('big-endian EWKB')
  if (flags & hasSrid) {
    target[at + 4] = flags & ~hasSrid
    target.copyWithin(at + 5, at + 9, to)
    to -= 4
  }
  if (flags & (hasZ | hasM)) toIso(target, at)
  return to
}

/** The reference system of a hex EWKB; 0 if it has none. */
export function sridOf(hex: Buffer, start: number): number {
  if (!(byteOf(hex, start + 8) & hasSrid)) return 0
  const high = byteOf(hex, start + 16) * 256 + byteOf(hex, start + 14)
  return high * 65_536 + byteOf(hex, start + 12) * 256 + byteOf(hex, start + 10)
}

const byteOf = (hex: Buffer, at: number) => (nibbles[hex[at]!]! << 4) | nibbles[hex[at + 1]!]!

/** Writes ISO type codes, 1001 for a point with Z, into a geometry and its parts. Returns its end. */
function toIso(wkb: Buffer, at: number): number {
  const flags = wkb[at + 4]!
  const type = wkb.readUInt32LE(at + 1) & 0xffff
  const dimensions = 2 + (flags & hasZ ? 1 : 0) + (flags & hasM ? 1 : 0)
  wkb.writeUInt32LE(type + (flags & hasZ ? 1000 : 0) + (flags & hasM ? 2000 : 0), at + 1)
  const pointBytes = dimensions * 8
  if (type === point) return at + 5 + pointBytes
  const count = wkb.readUInt32LE(at + 5)
  let next = at + 9
  if (withPoints.has(type)) return next + count * pointBytes
  for (let part = 0; part < count; part += 1) {
    if (withRings.has(type)) next += 4 + wkb.readUInt32LE(next) * pointBytes
    else next = toIso(wkb, next)
  }
  return next
}

const point = 1
/** LineString and CircularString. */
const withPoints: ReadonlySet<number> = new Set([2, 8])
/** Polygon and Triangle. */
const withRings: ReadonlySet<number> = new Set([3, 17])
const hasZ = 0x80
const hasM = 0x40
const hasSrid = 0x20

const nibbles = new Uint8Array(256)
for (let value = 0; value < 16; value += 1) {
  nibbles[value.toString(16).charCodeAt(0)] = value
  nibbles[value.toString(16).toUpperCase().charCodeAt(0)] = value
}
