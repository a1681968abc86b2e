import { isGeometryText } from './geometry-text.ts'

/** The types that a value can have beside text, as bits: those of a column are what all its values have in common. */
export const BOOL = 1
export const BIGINT = 2
export const DOUBLE = 4
export const NUMERIC = 8
export const DATE = 16
export const TIMESTAMPTZ = 32
export const UUID = 64
export const JSON_TEXT = 128
export const GEOMETRY = 256
export const ALL_TYPES = 511

/**
 * The types in which PostgreSQL accepts a value and keeps it as it is, among the wanted ones. Stricter than PostgreSQL
 * where its guess would lose something: 007 is no number.
 */
export function typesOf(bytes: Uint8Array, start: number, end: number, wanted: number): number {
  const first = bytes[start]!
  if (first === SPACE || bytes[end - 1] === SPACE) return typesOfPadded(bytes, start, end, wanted)
  if (isDigit(first) || first === MINUS || first === DOT) {
    const numbers = wanted & NUMBERS ? numberTypes(bytes, start, end) : 0
    if (numbers !== 0) return numbers & wanted
    if (wanted & TIMES && end - start >= 10)
      return timeTypes(bytes, start, end) || textTypes(bytes, start, end, wanted)
  }
  return textTypes(bytes, start, end, wanted)
}

const NUMBERS = BIGINT | DOUBLE | NUMERIC
const TIMES = DATE | TIMESTAMPTZ
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

/** A text of bytes; other characters than those of ASCII are not looked for. Faster than a decoder for a few bytes. */
function asciiOf(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at]!)
  return text
}

/** PostgreSQL takes spaces around words, numbers and times, but not around the others. */
function typesOfPadded(bytes: Uint8Array, start: number, end: number, wanted: number): number {
  let [from, to] = [start, end]
  while (from < to && bytes[from] === SPACE) from++
  while (to > from && bytes[to - 1] === SPACE) to--
  return from === to ? 0 : typesOf(bytes, from, to, wanted & (BOOL | NUMBERS | TIMES))
}

/** Words, and what is rare enough to become a text first. */
function textTypes(bytes: Uint8Array, start: number, end: number, wanted: number): number {
  const length = end - start
  const first = bytes[start]!
  if (first === BRACE || first === BRACKET)
    return wanted & JSON_TEXT && isJson(bytes, start, end) ? JSON_TEXT : 0
  if (length <= 9 && wanted & (BOOL | DOUBLE)) {
    const known = wordTypes(bytes, start, length)
    if (known !== 0) return known & wanted
  }
  if (wanted & UUID && length === 36) {
    return uuid.test(asciiOf(bytes, start, end)) ? UUID : 0
  }
  if (wanted & GEOMETRY && length >= 10) {
    return isGeometryText(asciiOf(bytes, start, end)) ? GEOMETRY : 0
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
    ['nan', DOUBLE | NUMERIC],
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
  for (; at < end; at++) {
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
  return NUMERIC | (isExact ? DOUBLE : 0) | (fits ? BIGINT : 0)
}

/** As many digits come back from a double as they were. */
const exactDigits = 15

function exponentTypes(bytes: Uint8Array, start: number, end: number, at: number, digits: number): number {
  const exponent = exponentOf(bytes, at, end)
  if (exponent === undefined) return 0
  const isInRange = Math.abs(exponent) + digits < 290
  return NUMERIC | (isInRange && (digits <= exactDigits || isDouble(bytes, start, end)) ? DOUBLE : 0)
}

/** Of `e-5`, from `at` on; undefined if that is not what is there, or too large to be meant. */
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
  const day = numberAt(bytes, start + 8, 2)
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return 0
  if (end - start === 10) return DATE | TIMESTAMPTZ
  return isTime(bytes, start + 10, end) ? TIMESTAMPTZ : 0
}

function isTime(bytes: Uint8Array, from: number, end: number): boolean {
  const isBegun = bytes[from] === LETTER_T || bytes[from] === SPACE
  const hours = numberAt(bytes, from + 1, 2)
  const minutes = numberAt(bytes, from + 4, 2)
  if (end - from < 6 || !isBegun || bytes[from + 3] !== COLON || hours > 23 || minutes > 59) return false
  let at = from + 6
  if (bytes[at] === COLON && at < end) {
    if (end - at < 3 || numberAt(bytes, at + 1, 2) > 59) return false
    at += 3
    if (bytes[at] === DOT && at < end)
      do at++
      while (at < end && isDigit(bytes[at]!) && at - from < 30)
  }
  return at === end || isZone(bytes, at, end)
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

const monthDays = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function daysIn(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 && !isLeap ? 28 : monthDays[month]!
}
