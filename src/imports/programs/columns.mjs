import { DataType, TimeUnit } from 'apache-arrow'
import { bytesOf, isBytes, isNull, isText, isTrue, partOf, textOf } from './bytes.mjs'
import { NotFlat } from './fail.mjs'
import { jsonOf } from './json.mjs'
import {
  dateOf,
  decimalOf,
  durationOf,
  floatOf,
  intervalOf,
  timeOf,
  timestampOf,
  wholeOf,
} from './values.mjs'

/** How a column is written: PostgreSQL's type, and the text of a value for COPY; null stays null. */
export function columnOf(field) {
  const { type, metadata } = field
  if (DataType.isDictionary(type)) return dictionaryColumn(field)
  const made = kindOf(type, metadata)
  const { text } = made
  return { ...made, text: (data, at) => (isNull(data, at) ? null : text(data, at)) }
}

function kindOf(type, metadata) {
  if (DataType.isNull(type)) return { type: 'TEXT', text: () => null }
  if (DataType.isBool(type)) return { type: 'BOOLEAN', text: (data, at) => (isTrue(data, at) ? 't' : 'f') }
  if (DataType.isInt(type)) return { type: wholeType(type, metadata), text: wholeOf }
  if (DataType.isFloat(type)) return { type: type.precision === 2 ? 'FLOAT8' : 'REAL', text: floatOf }
  if (DataType.isDecimal(type)) return { type: decimalType(type), text: decimalOf }
  if (DataType.isDate(type)) return { type: 'DATE', text: dateOf }
  if (DataType.isTimestamp(type)) return rounding(type, timestampType(type, metadata), timestampOf)
  if (DataType.isTime(type)) return rounding(type, 'TIME', timeOf)
  if (DataType.isDuration(type)) return rounding(type, 'INTERVAL', durationOf)
  if (DataType.isInterval(type)) return { type: 'INTERVAL', text: intervalOf }
  if (isText(type)) return { type: textType(metadata), text: (data, at) => escaped(textOf(data, at)) }
  if (isBytes(type)) return bytesKind(type, metadata)
  return { type: 'JSON', text: (data, at) => escaped(jsonOf(data, at)) }
}

/** A value is written as that of the dictionary is; many rows have the same. */
function dictionaryColumn({ type, metadata }) {
  const column = columnOf({ type: type.dictionary, metadata })
  const known = new WeakMap()
  return {
    ...column,
    text(data, at) {
      if (isNull(data, at)) return null
      const { dictionary } = data
      const texts = known.get(dictionary) ?? new Map()
      known.set(dictionary, texts)
      const key = Number(data.values[at])
      if (!texts.has(key)) texts.set(key, column.text(...partOf(dictionary, key)))
      return texts.get(key)
    },
  }
}

/** Our own files tell PostgreSQL's type. */
const told = (metadata) => metadata?.get('pg_type') ?? ''
const extension = (metadata) => metadata?.get('ARROW:extension:name') ?? ''

function wholeType({ bitWidth, isSigned }, metadata) {
  if (bitWidth === 64) return isSigned ? 'INT8' : 'NUMERIC(20, 0)'
  if (bitWidth === 32 && !isSigned) return 'INT8'
  return told(metadata) === 'int2' && bitWidth === 16 ? 'SMALLINT' : 'INTEGER'
}

function decimalType({ precision, scale }) {
  return scale >= 0 && scale <= precision ? `NUMERIC(${precision}, ${scale})` : 'NUMERIC'
}

function timestampType({ timezone }, metadata) {
  return !timezone && told(metadata) === 'timestamp' ? 'TIMESTAMP' : 'TIMESTAMP WITH TIME ZONE'
}

function textType(metadata) {
  if (extension(metadata) === 'arrow.json' && told(metadata) !== 'jsonb') return 'JSON'
  return textTypes.has(told(metadata)) ? told(metadata).toUpperCase() : 'TEXT'
}

/** Those that PostgreSQL reads from the text that our own files have. */
const textTypes = new Set([
  ...['uuid', 'json', 'jsonb', 'numeric', 'time', 'timetz', 'interval', 'inet', 'cidr', 'macaddr'],
])

function bytesKind(type, metadata) {
  const hexOf = (data, at) => Buffer.from(bytesOf(data, at)).toString('hex')
  const isUuid = extension(metadata) === 'arrow.uuid' && type.byteWidth === 16
  if (isUuid) return { type: 'UUID', text: hexOf }
  return { type: 'BYTEA', text: (data, at) => `\\\\x${hexOf(data, at)}` }
}

/** PostgreSQL keeps microseconds. */
function rounding({ unit }, type, text) {
  let isRounded = false
  if (unit !== TimeUnit.NANOSECOND) return { type, text }
  return {
    type,
    isRounded: () => isRounded,
    text(data, at) {
      if (data.values[at] % 1000n !== 0n) isRounded = true
      return text(data, at)
    },
  }
}

const escaped = (text) =>
  /[\\\n\r\t]/.test(text) ? text.replaceAll(/[\\\n\r\t]/g, (char) => escapes[char]) : text
const escapes = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * WKB in hexadecimal. The main column that is flat has its SRID in each value, so that it is stored as it is; any other is
 * made flat by PostGIS afterwards.
 */
export function geometryColumn({ srid }, { isFlat, isMain }) {
  const hasSrid = isMain ? isFlat && srid === 4326 : srid > 0
  const hexOf = hasSrid ? (wkb) => ewkbOf(wkb, srid, isMain) : (wkb) => Buffer.from(wkb).toString('hex')
  return {
    type: 'GEOMETRY',
    text: (data, at) => (isNull(data, at) ? null : hexOf(bytesOf(data, at))),
  }
}

function ewkbOf(wkb, srid, mustBeFlat) {
  const bytes = Buffer.from(wkb)
  if (bytes.length < 5) return bytes.toString('hex')
  const isLittle = bytes[0] === 1
  const code = isLittle ? bytes.readUInt32LE(1) : bytes.readUInt32BE(1)
  if (mustBeFlat && (code < 1 || code > 6)) throw new NotFlat()
  if (code & hasSridFlag) return bytes.toString('hex')
  const head = Buffer.alloc(9)
  head[0] = bytes[0]
  for (const [value, at] of [
    [(code | hasSridFlag) >>> 0, 1],
    [srid, 5],
  ]) {
    if (isLittle) head.writeUInt32LE(value, at)
    else head.writeUInt32BE(value, at)
  }
  return head.toString('hex') + bytes.toString('hex', 5)
}

const hasSridFlag = 0x20000000
