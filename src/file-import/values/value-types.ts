import { arrayTypes } from './array-text.ts'
import { isGeometryText } from './geometry-text.ts'
import { isDay, plainDate, plainNumber } from './local-values.ts'
import {
  BIGINT,
  BOOL,
  COMMA,
  DATE,
  DMY_DATE,
  DMY_TIME,
  DOUBLE,
  GEOMETRY,
  JSON_TEXT,
  MDY_DATE,
  MDY_TIME,
  NUMERIC,
  POINT,
  TIMESTAMP,
  TIMESTAMPTZ,
  UUID,
} from './type-bits.ts'

/**
 * The types in which PostgreSQL accepts a value and keeps it as it is, among the wanted ones. Stricter than PostgreSQL
 * where that would lose something: 007 is not a number.
 */
export function typesOf(bytes: Uint8Array, start: number, end: number, wanted: number): number {
  const first = bytes[start]!
  if (first === SPACE || bytes[end - 1] === SPACE) return typesOfPadded(bytes, start, end, wanted)
  if (isDigit(first) || first === MINUS || first === DOT) {
    const numbers = wanted & NUMBERS ? numberTypes(bytes, start, end) : 0
    if (numbers !== 0) return numbers & wanted
    const times = wanted & TIMES && end - start >= 10 ? timeTypes(bytes, start, end) : 0
    if (times !== 0) return times & wanted
    const local = wanted & LOCAL && end - start <= longestLocal ? localTypes(bytes, start, end) : 0
    if (local !== 0) return local & wanted
  }
  return textTypes(bytes, start, end, wanted)
}

const PLAIN_NUMBERS = BIGINT | DOUBLE | NUMERIC
const NUMBERS = PLAIN_NUMBERS | (PLAIN_NUMBERS << COMMA) | (PLAIN_NUMBERS << POINT)
const TIMES = DATE | TIMESTAMP | TIMESTAMPTZ
const LOCAL = (NUMBERS & ~PLAIN_NUMBERS) | DMY_DATE | DMY_TIME | MDY_DATE | MDY_TIME
const longestLocal = 40
const SPACE = 32
const MINUS = 45
const DOT = 46
const SLASH = 47
const ZERO = 48
const COLON = 58
const LETTER_T = 84
const LETTER_Z = 90
const BRACKET = 91
const BRACE = 123
const isDigit = (byte: number) => byte >= 48 && byte <= 57
const utf8 = new TextDecoder('utf-8', { fatal: true })
const latin1 = new TextDecoder('latin1')
const fewBytes = 256

/** A text of bytes; other characters than those of ASCII are not looked for. For a few bytes a decoder is slower. */
function asciiOf(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > fewBytes) return latin1.decode(bytes.subarray(start, end))
  let text = ''
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at]!)
  return text
}

/** PostgreSQL takes spaces around words, numbers and times, but not around the others. */
function typesOfPadded(bytes: Uint8Array, start: number, end: number, wanted: number): number {
  let [from, to] = [start, end]
  while (from < to && bytes[from] === SPACE) from++
  while (to > from && bytes[to - 1] === SPACE) to--
  return from === to ? 0 : typesOf(bytes, from, to, wanted & (BOOL | NUMBERS | TIMES | LOCAL))
}

/** Checking a longer value would block the process. The beginning of a geometry is enough. */
const longestChecked = 1024 * 1024
const mayBeGeometry = /^(?:0[01][0-9a-f]{8}|SRID=\d| ?(?:MULTI|POINT|LINESTRING|POLYGON|GEOMETRYC))/i

/** Words, and what is rare enough to become a text first. */
function textTypes(bytes: Uint8Array, start: number, end: number, wanted: number): number {
  const length = end - start
  const first = bytes[start]!
  if (first === BRACE || first === BRACKET) {
    if (length > longestChecked) return 0
    const json = wanted & JSON_TEXT && isJson(bytes, start, end) ? JSON_TEXT : 0
    return json | (first === BRACE ? arrayTypes(asciiOf(bytes, start, end), wanted) : 0)
  }
  if (length <= 9 && wanted & (BOOL | DOUBLE)) {
    const known = wordTypes(bytes, start, length)
    if (known !== 0) return known & wanted
  }
  if (wanted & UUID && length === 36) {
    return uuid.test(asciiOf(bytes, start, end)) ? UUID : 0
  }
  if (wanted & GEOMETRY && length >= 10 && mayBeGeometry.test(asciiOf(bytes, start, start + 10))) {
    return length > longestChecked || isGeometryText(asciiOf(bytes, start, end)) ? GEOMETRY : 0
  }
  return 0
}

/** By their length. */
const words: readonly (readonly (readonly [word: string, types: number])[])[] = [
  [],
  [
    ['t', BOOL],
    ['f', BOOL],
  ],
  [['no', BOOL]],
  [
    ['yes', BOOL],
    ['nan', DOUBLE | NUMERIC | ((DOUBLE | NUMERIC) << COMMA) | ((DOUBLE | NUMERIC) << POINT)],
    ['inf', DOUBLE],
  ],
  [
    ['true', BOOL],
    ['-inf', DOUBLE],
  ],
  [['false', BOOL]],
  [],
  [],
  [['infinity', DOUBLE]],
  [['-infinity', DOUBLE]],
]

function wordTypes(bytes: Uint8Array, start: number, length: number): number {
  for (const [word, types] of words[length]!) {
    let at = 0
    // In either case.
    while (at < length && (bytes[start + at]! | 32) === word.charCodeAt(at)) at++
    if (at === length) return types
  }
  return 0
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function isJson(bytes: Uint8Array, start: number, end: number): boolean {
  try {
    JSON.parse(utf8.decode(bytes.subarray(start, end)))
    return true
  } catch {
    return false
  }
}

/** More digits than this are no number that anybody counts with. */
const maxDigits = 1000

function numberTypes(bytes: Uint8Array, start: number, end: number): number {
  const digitsFrom = bytes[start] === MINUS ? start + 1 : start
  let at = digitsFrom
  let point = -1
  const last = Math.min(end, digitsFrom + maxDigits + 2)
  for (; at < last; at++) {
    const byte = bytes[at]!
    if (isDigit(byte)) continue
    if (byte !== DOT || point >= 0) break
    point = at
  }
  const digits = at - digitsFrom - (point < 0 ? 0 : 1)
  const whole = (point < 0 ? at : point) - digitsFrom
  if (digits === 0 || digits > maxDigits || (whole > 1 && bytes[digitsFrom] === ZERO)) return 0
  if (at < end) return exponentTypes(bytes, start, end, at, digits)
  const isExact = digits <= exactDigits || isDouble(bytes, start, end)
  const fits =
    point < 0 && (digits < 19 || (digits === 19 && isInt8(bytes, digitsFrom, end, digitsFrom > start)))
  const plain = NUMERIC | (isExact ? DOUBLE : 0) | (fits ? BIGINT : 0)
  if (point < 0) return plain | (plain << COMMA) | (plain << POINT)
  // One thousand two hundred and thirty-four, where the comma is decimal.
  const isGrouped = whole > 0 && whole <= 3 && at - point === 4 && bytes[digitsFrom] !== ZERO
  return plain | (plain << POINT) | (isGrouped ? PLAIN_NUMBERS << COMMA : 0)
}

/** Numbers and days as people write them. */
function localTypes(bytes: Uint8Array, start: number, end: number): number {
  const text = spaces(asciiOf(bytes, start, end))
  const comma = plainNumber(text, 'comma')
  const point = plainNumber(text, 'point')
  if (comma !== undefined || point !== undefined)
    return (typesOfPlain(comma) << COMMA) | (typesOfPlain(point) << POINT)
  const dmy = plainDate(text, 'dmy')
  const mdy = plainDate(text, 'mdy')
  return (
    (dmy === undefined ? 0 : DMY_TIME | (dmy.length === 10 ? DMY_DATE : 0)) |
    (mdy === undefined ? 0 : MDY_TIME | (mdy.length === 10 ? MDY_DATE : 0))
  )
}

/** Spaces that do not break, in UTF-8 and in the encodings of one byte, whose bytes asciiOf takes for characters. */
const spaces = (text: string) => text.replace(/\u00c2\u00a0|\u00e2\u0080\u00af|\u00a0/g, '\u00a0')

function typesOfPlain(text: string | undefined): number {
  if (text === undefined) return 0
  const bytes = new TextEncoder().encode(text)
  return numberTypes(bytes, 0, bytes.length) & PLAIN_NUMBERS
}

/** A double keeps this many digits exactly. */
const exactDigits = 15

function exponentTypes(bytes: Uint8Array, start: number, end: number, at: number, digits: number): number {
  const exponent = exponentOf(bytes, at, end)
  if (exponent === undefined) return 0
  const isInRange = Math.abs(exponent) + digits < 290
  const types = NUMERIC | (isInRange && (digits <= exactDigits || isDouble(bytes, start, end)) ? DOUBLE : 0)
  return types | (types << POINT)
}

/** The exponent of a text such as `e-5`, from `at` on; undefined if there is none, or it is too large. */
function exponentOf(bytes: Uint8Array, at: number, end: number): number | undefined {
  if ((bytes[at]! | 32) !== 101) return undefined
  const text = asciiOf(bytes, at + 1, end)
  return /^[+-]?\d{1,3}$/.test(text) ? Number(text) : undefined
}

/** Whether a number with many digits is what a program wrote of a double, so that none is lost in one. */
function isDouble(bytes: Uint8Array, start: number, end: number): boolean {
  const text = asciiOf(bytes, start, end)
  const isPlain = !/e/i.test(text)
  return String(Number(text)) === (isPlain && text.includes('.') ? text.replace(/\.?0+$/, '') : text)
}

function isInt8(bytes: Uint8Array, from: number, end: number, isNegative: boolean): boolean {
  const limit = isNegative ? '9223372036854775808' : '9223372036854775807'
  return asciiOf(bytes, from, end) <= limit
}

/** `2026-01-31`, with `/` too; `2026-01-31T10:00:00.123+01:00`, with a space for the T, and with less at the end. */
function timeTypes(bytes: Uint8Array, start: number, end: number): number {
  const separator = bytes[start + 4]
  if ((separator !== MINUS && separator !== SLASH) || bytes[start + 7] !== separator) return 0
  const year = numberAt(bytes, start, 4)
  const month = numberAt(bytes, start + 5, 2)
  if (!isDay(year, month, numberAt(bytes, start + 8, 2))) return 0
  return end - start === 10 ? DATE | TIMESTAMP | TIMESTAMPTZ : clockTypes(bytes, start + 10, end)
}

/** Without a zone both fit; in a column with zones it is UTC. */
function clockTypes(bytes: Uint8Array, from: number, end: number): number {
  const isBegun = bytes[from] === LETTER_T || bytes[from] === SPACE
  const hours = numberAt(bytes, from + 1, 2)
  const minutes = numberAt(bytes, from + 4, 2)
  if (end - from < 6 || !isBegun || bytes[from + 3] !== COLON || hours > 23 || minutes > 59) return 0
  let at = from + 6
  if (bytes[at] === COLON && at < end) {
    if (end - at < 3 || numberAt(bytes, at + 1, 2) > 59) return 0
    at += 3
    if (bytes[at] === DOT && at < end)
      do at++
      while (at < end && isDigit(bytes[at]!) && at - from < 30)
  }
  if (at === end) return TIMESTAMP | TIMESTAMPTZ
  return isZone(bytes, at, end) ? TIMESTAMPTZ : 0
}

/** `Z`, `+01`, `+0100`, `+01:00`, ` UTC`, or one of them after a space. */
function isZone(bytes: Uint8Array, at: number, end: number): boolean {
  if (bytes[at] === LETTER_Z && at + 1 === end) return true
  return end - at <= 7 && /^ ?(Z|UTC|[+-](0\d|1[0-4])(:?[0-5]\d)?)$/.test(asciiOf(bytes, at, end))
}

/** Above every limit if there is something else than digits. */
function numberAt(bytes: Uint8Array, from: number, length: number): number {
  let number = 0
  for (let at = from; at < from + length; at++) {
    if (!isDigit(bytes[at]!)) return 1 << 20
    number = number * 10 + bytes[at]! - ZERO
  }
  return number
}
