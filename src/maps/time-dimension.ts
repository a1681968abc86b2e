import { isJsonObject, type JsonObject } from '../contract/text/json-object.ts'
import { quoteLiteral, quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { PropertyKind } from '../tiles/tile-layer.ts'
import { shortened } from './config-text.ts'

/** Points of one period of time are one group: `group` of a dimension. */
export type TimeGroup = Readonly<{
  units: SerialUnit | CyclicUnit
  /** How many of the units are one period. */
  count: number
  /** A name, or seconds east of UTC. */
  timezone: string | number
  /** Where periods are counted from, in this time zone. */
  starting: string
  /** The period as text, `2024-03`; else as a number. */
  isIso: boolean
}>

/** Undefined: the dimension is the column itself. */
export function readTimeGroup(name: string, { group, format }: JsonObject): TimeGroup | undefined {
  if (group === undefined || group === null) return undefined
  const fail = (text: string) => errors.mapInvalid(`Invalid time dimension ${shortened(name)}: ${text}`)
  if (!isJsonObject(group)) throw fail('group must be an object')
  if (format !== undefined && format !== null && format !== 'iso' && format !== 'number')
    throw fail(`the format ${shortened(format)} is neither iso nor number`)
  const { units, count = 1, timezone = 'utc', starting } = group
  const isIso = format === 'iso' && !isCyclic(units)
  if (!isSerial(units) && !isCyclic(units)) throw fail(`units ${shortened(units)} are not known`)
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > mostCounted)
    throw fail(`count must be a whole number from 1 to ${mostCounted}`)
  if (count > 1 && isCyclic(units)) throw fail(`count ${count} is not for ${units}`)
  if (count > 1 && isIso) throw fail('several units have no iso format')
  if (!isTimezone(timezone)) throw fail('timezone must be a name, or a number of seconds')
  if (starting !== undefined && (isIso || isCyclic(units)))
    throw fail('starting is for numbers of periods only')
  const start = starting === undefined ? earliest : startOf(starting)
  if (start === undefined) throw fail('starting must be a date like 2024-01-31T12:00:00, or its beginning')
  return { units, count, timezone, starting: start, isIso }
}

const mostCounted = 1_000_000
const earliest = '0001-01-01T00:00:00'

function isTimezone(zone: unknown): zone is string | number {
  if (typeof zone === 'number') return Number.isFinite(zone) && Math.abs(zone) <= 86_400
  return typeof zone === 'string' && /^[\w+\-/:.]{1,64}$/.test(zone)
}

/** Undefined unless it is a date, or the beginning of one. */
function startOf(text: unknown): string | undefined {
  const pattern = /^(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[T\s]?(\d\d)(?::?(\d\d)(?::(\d\d))?)?)?)?)?$/
  const [, year, month = '01', day = '01', hour = '00', minute = '00', second = '00'] =
    pattern.exec(typeof text === 'string' ? text : '') ?? []
  if (year === undefined) return undefined
  const made = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const date = new Date(`${made}Z`)
  return Number.isFinite(date.getTime()) && date.toISOString().startsWith(made) ? made : undefined
}

/** The period of a column of this kind: a date, or seconds since 1970. Null where there is none. */
export function timeGroupSql(group: TimeGroup, column: string, kind: PropertyKind): string {
  const value = `t.${quoteName(column)}`
  const seconds = kind === 'date' ? part('epoch', value) : `${value}::pg_catalog.float8`
  const zone =
    typeof group.timezone === 'number'
      ? `pg_catalog.make_interval(secs => ${group.timezone})`
      : quoteLiteral(group.timezone)
  const time = `pg_catalog.timezone(${zone}, pg_catalog.to_timestamp(${seconds}))`
  return `case when pg_catalog.isfinite(${time}) then ${periodOf(group, time)} end`
}

/** The time group as the statistics of a dimension show it. */
export const timeGroupParams = ({ units, count, timezone, starting, isIso }: TimeGroup, column: string) => ({
  time: `to_timestamp(${quoteName(column)})`,
  timezone,
  units,
  count,
  ...(isIso ? { format: 'iso' } : isSerial(units) ? { starting } : {}),
})

export const timeGroupKind = ({ isIso }: TimeGroup): PropertyKind => (isIso ? 'text' : 'integer')

function periodOf({ units, count, starting, isIso }: TimeGroup, time: string): string {
  if (isCyclic(units)) return `(${cyclic[units](time)})::pg_catalog.int4`
  if (isIso) return iso[units](time)
  const { counted, isFromZero } = serial[units]
  const number = counted(time, `${quoteLiteral(starting)}::pg_catalog.timestamp`)
  if (count === 1) return `(${number})::pg_catalog.int8`
  return `pg_catalog.${isFromZero ? 'floor' : 'ceil'}(${math(number, '/', `${count}::pg_catalog.float8`)})::pg_catalog.int8`
}

const part = (name: string, time: string) => `pg_catalog.date_part('${name}', ${time})`
/** PostgreSQL's own operator: an account may have one of the same name. */
const math = (one: string, operator: '+' | '-' | '*' | '/' | '||', other: string) =>
  `(${one} operator(pg_catalog.${operator}) ${other})`
const floor = (one: string, by: number) => `pg_catalog.floor(${math(one, '/', `${by}::pg_catalog.float8`)})`

type Serial = Readonly<{ counted: (time: string, from: string) => string; isFromZero: boolean }>

const difference = (name: string) => (time: string, from: string) =>
  math(part(name, time), '-', part(name, from))
const years = difference('year')
const fromZero = (seconds: number): Serial => ({
  counted: (time, from) => floor(difference('epoch')(time, from), seconds),
  isFromZero: true,
})
const fromOne = (counted: Serial['counted']): Serial => ({
  counted: (time, from) => math('1', '+', counted(time, from)),
  isFromZero: false,
})
/** `months`: floor of their difference by so many, and so many of them in a year. */
const inYear = (counted: Serial['counted'], perYear: number) =>
  fromOne((time, from) => math(counted(time, from), '+', math(String(perYear), '*', years(time, from))))

const serial = {
  second: fromZero(1),
  minute: fromZero(60),
  hour: fromZero(3_600),
  day: fromOne(fromZero(86_400).counted),
  week: fromOne(fromZero(7 * 86_400).counted),
  month: inYear(difference('month'), 12),
  quarter: inYear(difference('quarter'), 4),
  trimester: inYear((time, from) => floor(difference('month')(time, from), 4), 3),
  semester: inYear((time, from) => floor(difference('month')(time, from), 6), 2),
  year: fromOne(years),
  decade: { counted: (time, from) => floor(math(years(time, from), '+', '1'), 10), isFromZero: true },
  century: fromOne((time, from) => floor(years(time, from), 100)),
  millennium: fromOne((time, from) => floor(years(time, from), 1_000)),
} as const satisfies Record<string, Serial>

type SerialUnit = keyof typeof serial

const written = (pattern: string) => (time: string) => `pg_catalog.to_char(${time}, ${quoteLiteral(pattern)})`
const named = (name: string, number: (time: string) => string) => (time: string) =>
  math(name, '||', `${number(time)}::pg_catalog.int4::pg_catalog.text`)
/** The part of the year that a month is in. */
const monthsIn = (months: number) => (time: string) =>
  `pg_catalog.ceil(${math(part('month', time), '/', `${months}::pg_catalog.float8`)})`

const iso: Readonly<Record<SerialUnit, (time: string) => string>> = {
  second: written('YYYY-MM-DD"T"HH24:MI:SS'),
  minute: written('YYYY-MM-DD"T"HH24:MI'),
  hour: written('YYYY-MM-DD"T"HH24'),
  day: written('YYYY-MM-DD'),
  week: written('IYYY-"W"IW'),
  month: written('YYYY-MM'),
  quarter: written('YYYY-"Q"Q'),
  trimester: (time) => named(written('YYYY"t"')(time), monthsIn(4))(time),
  semester: (time) => named(written('YYYY"S"')(time), monthsIn(6))(time),
  year: written('YYYY'),
  decade: named("'D'", (time) => part('decade', time)),
  century: named("'C'", (time) => part('century', time)),
  millennium: named("'M'", (time) => part('millennium', time)),
}

const cyclic = {
  dayOfWeek: (time: string) => part('isodow', time),
  dayOfMonth: (time: string) => part('day', time),
  dayOfYear: (time: string) => part('doy', time),
  hourOfDay: (time: string) => part('hour', time),
  minuteOfHour: (time: string) => part('minute', time),
  monthOfYear: (time: string) => part('month', time),
  quarterOfYear: (time: string) => part('quarter', time),
  semesterOfYear: monthsIn(6),
  trimesterOfYear: monthsIn(4),
  weekOfYear: (time: string) => part('week', time),
} as const

type CyclicUnit = keyof typeof cyclic

const isSerial = (units: unknown): units is SerialUnit =>
  typeof units === 'string' && Object.hasOwn(serial, units)
const isCyclic = (units: unknown): units is CyclicUnit =>
  typeof units === 'string' && Object.hasOwn(cyclic, units)
