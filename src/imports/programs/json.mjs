import { DataType } from 'apache-arrow'
import { bytesOf, isBytes, isNull, isText, isTrue, partOf, textOf } from './bytes.mjs'
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

/** A value of any type as JSON. Numbers keep all digits; bytes are in hexadecimal. */
export function jsonOf(data, at) {
  if (isNull(data, at)) return 'null'
  const { type } = data
  if (DataType.isDictionary(type)) return jsonOf(...partOf(data.dictionary, Number(data.values[at])))
  if (DataType.isStruct(type)) return structOf(data, at)
  if (DataType.isMap(type)) return mapOf(data, at)
  if (DataType.isUnion(type)) return unionOf(data, at)
  if (DataType.isList(type) || DataType.isLargeList(type))
    return listOf(data, Number(data.valueOffsets[at]), Number(data.valueOffsets[at + 1]))
  if (DataType.isFixedSizeList(type)) return listOf(data, at * type.listSize, (at + 1) * type.listSize)
  if (DataType.isBool(type)) return String(isTrue(data, at))
  if (DataType.isInt(type)) return wholeOf(data, at)
  if (DataType.isDecimal(type)) return decimalOf(data, at)
  if (DataType.isFloat(type)) return numberOf(floatOf(data, at))
  return JSON.stringify(plainOf(data, at))
}

function plainOf(data, at) {
  const { type } = data
  if (isText(type)) return textOf(data, at)
  if (isBytes(type)) return Buffer.from(bytesOf(data, at)).toString('hex')
  if (DataType.isDate(type)) return dateOf(data, at)
  if (DataType.isTimestamp(type)) return `${timestampOf(data, at)}${type.timezone ? '+00' : ''}`
  if (DataType.isTime(type)) return timeOf(data, at)
  return DataType.isDuration(type) ? durationOf(data, at) : intervalOf(data, at)
}

/** JSON has no infinity. */
const numberOf = (text) => (/^-?\d/.test(text) ? text : JSON.stringify(text))

function listOf({ children: [child] }, start, end) {
  const items = []
  for (let at = start; at < end; at += 1) items.push(jsonOf(child, at))
  return `[${items.join(',')}]`
}

function structOf({ type, children }, at) {
  const members = type.children.map(
    ({ name }, place) => `${JSON.stringify(name)}:${jsonOf(children[place], at)}`,
  )
  return `{${members.join(',')}}`
}

function mapOf({ valueOffsets, children: [entries] }, at) {
  const [keys, values] = entries.children
  const members = []
  for (let entry = valueOffsets[at]; entry < valueOffsets[at + 1]; entry += 1) {
    const key = jsonOf(keys, entry)
    members.push(`${key.startsWith('"') ? key : JSON.stringify(key)}:${jsonOf(values, entry)}`)
  }
  return `{${members.join(',')}}`
}

function unionOf({ type, typeIds, valueOffsets, children }, at) {
  const place = type.typeIdToChildIndex[typeIds[at]]
  const child = children[place]
  return jsonOf(child, DataType.isDenseUnion(type) ? valueOffsets[at] : at)
}
