/** Values as PostgreSQL writes them in text, read from bytes without making strings of them. */

/** Digits with a sign, or NaN if there are too many for a number. */
export function readWhole(bytes: Buffer, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS
  let at = isNegative ? start + 1 : start
  if (end - at > exactDigits) return Number.NaN
  let value = 0
  for (; at < end; at += 1) value = value * 10 + bytes[at]! - ZERO
  return isNegative ? -value : value
}

/** The digits of a decimal number without its point; NaN if there are too many. */
export function readScaled(bytes: Buffer, start: number, end: number): number {
  let value = 0
  let digits = 0
  for (let at = bytes[start] === MINUS ? start + 1 : start; at < end; at += 1) {
    if (bytes[at] === POINT) continue
    value = value * 10 + bytes[at]! - ZERO
    digits += 1
  }
  if (digits > exactDigits) return Number.NaN
  return bytes[start] === MINUS ? -value : value
}

/** Few digits and a small power of ten are exact, and so is their quotient; all else is left to the engine. */
export function readFloat(bytes: Buffer, start: number, end: number): number {
  let mantissa = 0
  let digits = 0
  let decimals = -1
  for (let at = bytes[start] === MINUS ? start + 1 : start; at < end; at += 1) {
    const byte = bytes[at]!
    if (byte === POINT) decimals = digits
    else if (byte >= ZERO && byte <= NINE) {
      mantissa = mantissa * 10 + byte - ZERO
      digits += 1
    } else return Number(bytes.toString('latin1', start, end))
  }
  if (digits > exactDigits) return Number(bytes.toString('latin1', start, end))
  const value = decimals < 0 ? mantissa : mantissa / powers[digits - decimals]!
  return bytes[start] === MINUS ? -value : value
}

/** Days since 1970 of `2026-01-31`, which may have more digits in the year and ` BC` behind it; NaN for infinity. */
export function readDate(bytes: Buffer, start: number, end: number): number {
  if (bytes[start]! > NINE || bytes[start] === MINUS) return Number.NaN
  let dash = start
  while (bytes[dash] !== MINUS) dash += 1
  const year = readWhole(bytes, start, dash)
  const isBc = bytes[end - 1] === CAPITAL_C
  const month = two(bytes, dash + 1)
  const day = two(bytes, dash + 4)
  return daysOf(isBc ? 1 - year : year, month, day)
}

/** Microseconds of the day in `2026-01-31 10:00:00.123456+00`. The zone is always UTC. */
export function readTime(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (bytes[at] !== SPACE) at += 1
  const seconds = two(bytes, at + 1) * 3600 + two(bytes, at + 4) * 60 + two(bytes, at + 7)
  let micros = 0
  if (bytes[at + 9] === POINT) {
    let unit = 100_000
    for (let place = at + 10; place < end && bytes[place]! >= ZERO && bytes[place]! <= NINE; place += 1) {
      micros += (bytes[place]! - ZERO) * unit
      unit /= 10
    }
  }
  return seconds * 1_000_000 + micros
}

const two = (bytes: Buffer, at: number) => (bytes[at]! - ZERO) * 10 + bytes[at + 1]! - ZERO

/** Days in the proleptic Gregorian calendar. Here a year begins in March, so the leap day is its last day. */
function daysOf(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

const exactDigits = 15
const powers = Array.from({ length: exactDigits + 1 }, (_, exponent) => 10 ** exponent)
const MINUS = 45
const POINT = 46
const ZERO = 48
const NINE = 57
const SPACE = 32
const CAPITAL_C = 67
