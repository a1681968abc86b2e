/** Where the parts of a date or timestamp in PostgreSQL's ISO style end, and its zone in ISO 8601. */
export type TimestampParts = Readonly<{ dateEnd: number; timeEnd: number; zone: string }>

/** Undefined for values not in ISO style: infinity, years BC, or another DateStyle set by the caller's SQL. */
export function readTimestamp(source: Buffer, start: number, end: number): TimestampParts | undefined {
  let yearEnd = start
  while (isDigit(source[yearEnd]) && yearEnd < end) yearEnd += 1
  const dateEnd = yearEnd + '-MM-DD'.length
  if (yearEnd - start < 4 || source[yearEnd] !== minus || dateEnd > end || source[end - 1] === letterC) {
    return undefined
  }
  if (dateEnd === end) return { dateEnd, timeEnd: end, zone: 'Z' }
  if (source[dateEnd] !== space) return undefined
  let timeEnd = dateEnd + ' HH:MM:SS'.length
  while (timeEnd < end && (isDigit(source[timeEnd]) || source[timeEnd] === dot)) timeEnd += 1
  const zone = isUtc(source, timeEnd, end) ? 'Z' : zoneOf(source.toString('latin1', timeEnd, end))
  return zone === undefined ? undefined : { dateEnd, timeEnd, zone }
}

/** Nothing, or `+00`. */
function isUtc(source: Buffer, start: number, end: number): boolean {
  return start >= end || (end - start === 3 && source[start + 1] === zero && source[start + 2] === zero)
}

/** PostgreSQL writes `+02` where ISO 8601 has `+02:00`. */
function zoneOf(offset: string): string | undefined {
  if (!/^[+-]\d\d(:\d\d){0,2}$/.test(offset)) return undefined
  return offset.length === 3 ? `${offset}:00` : offset
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39
const minus = 0x2d
const dot = 0x2e
const space = 0x20
const zero = 0x30
const letterC = 0x43
