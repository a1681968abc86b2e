import { DateUnit, IntervalUnit, TimeUnit } from 'apache-arrow'
import { FileError } from './fail.mjs'

export const wholeOf = ({ values }, at) => String(values[at])

/** The shortest text that reads as the same number. */
export function floatOf(data, at) {
  const value = data.type.precision === 0 ? halfOf(data.values[at]) : data.values[at]
  return Object.is(value, -0) ? '-0' : String(value)
}

function halfOf(bits) {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** Words of 32 bits, the lowest first, in two's complement. */
export function decimalOf({ type, values, stride }, at) {
  let whole = 0n
  for (let word = stride - 1; word >= 0; word -= 1)
    whole = (whole << 32n) | BigInt(values[at * stride + word])
  return withScale(BigInt.asIntN(stride * 32, whole), type.scale)
}

function withScale(whole, scale) {
  if (scale <= 0) return String(whole * 10n ** BigInt(-scale))
  const digits = String(whole < 0n ? -whole : whole).padStart(scale + 1, '0')
  return `${whole < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

const digitsOf = {
  [TimeUnit.SECOND]: 0,
  [TimeUnit.MILLISECOND]: 3,
  [TimeUnit.MICROSECOND]: 6,
  [TimeUnit.NANOSECOND]: 9,
}

/** In seconds, and what is left below one, with all its digits. */
function split(value, unit) {
  const digits = digitsOf[unit]
  const perSecond = 10n ** BigInt(digits)
  const count = BigInt(value)
  const below = ((count % perSecond) + perSecond) % perSecond
  const fraction = digits === 0 || below === 0n ? '' : `.${String(below).padStart(digits, '0')}`
  return { seconds: (count - below) / perSecond, fraction }
}

/** As PostgreSQL writes it, in UTC. */
export function timestampOf({ type, values }, at) {
  const { seconds, fraction } = split(values[at], type.unit)
  const { day, time, era } = instantOf(seconds)
  return `${day} ${time}${fraction}${era}`
}

/** Days, or milliseconds that must be whole days. */
export function dateOf({ type, values }, at) {
  const isDays = type.unit === DateUnit.DAY
  const { seconds, fraction } = split(values[at], isDays ? TimeUnit.SECOND : TimeUnit.MILLISECOND)
  const { day, time, era } = instantOf(isDays ? seconds * 86_400n : seconds)
  if (time !== '00:00:00' || fraction !== '') throw new FileError(2001, 'a date with a time of day')
  return `${day}${era}`
}

/** A time that JavaScript does not have is one that PostgreSQL refuses. */
function instantOf(seconds) {
  const date = new Date(Number(seconds) * 1000)
  if (Number.isNaN(date.getTime())) return { day: `${seconds} seconds`, time: '00:00:00', era: '' }
  const year = date.getUTCFullYear()
  const shown = String(year > 0 ? year : 1 - year).padStart(4, '0')
  const [rest, time] = date.toISOString().slice(-19, -5).split('T')
  return { day: `${shown}-${rest}`, time, era: year > 0 ? '' : ' BC' }
}

export function timeOf({ type, values }, at) {
  const { seconds, fraction } = split(values[at], type.unit)
  const [hours, minutes] = [seconds / 3600n, (seconds / 60n) % 60n]
  return `${[hours, minutes, seconds % 60n].map((part) => String(part).padStart(2, '0')).join(':')}${fraction}`
}

export function durationOf({ type, values }, at) {
  const value = BigInt(values[at])
  const { seconds, fraction } = split(value < 0n ? -value : value, type.unit)
  return `${value < 0n ? '-' : ''}${seconds}${fraction} seconds`
}

/** Months; days and milliseconds; or months, days and nanoseconds. */
export function intervalOf({ type, values }, at) {
  if (type.unit === IntervalUnit.YEAR_MONTH) return `${values[at]} months`
  if (type.unit === IntervalUnit.DAY_TIME) {
    const [days, millis] = values.subarray(at * 2, at * 2 + 2)
    return `${days} days ${millis} milliseconds`
  }
  const [months, days, low, high] = values.subarray(at * 4, at * 4 + 4)
  const nanos = (BigInt(high) << 32n) | BigInt(low >>> 0)
  return `${months} months ${days} days ${nanos / 1000n}.${String((nanos < 0n ? -nanos : nanos) % 1000n).padStart(3, '0')} microseconds`
}
