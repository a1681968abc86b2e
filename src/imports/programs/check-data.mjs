import { DataType } from 'apache-arrow'
import { FileError } from './fail.mjs'

/** Refuses buffers that are shorter than the file says: the library would give undefined values. */
export function checkData(data, length, depth = 0) {
  if (!data || data.length < length) throw broken()
  if (depth > maxDepth) throw new FileError(2001, `the file has values nested more than ${maxDepth} deep`)
  const { type } = data
  if (data.nullCount !== 0 && data.nullBitmap && data.nullBitmap.length * 8 < length) throw broken()
  if (DataType.isNull(type) || length === 0) return
  if (DataType.isDictionary(type)) checkDictionary(data, length, depth)
  else if (DataType.isUnion(type)) checkUnion(data, length, depth)
  else if (isFixedList(type)) checkData(data.children[0], length * type.listSize, depth + 1)
  else if (DataType.isStruct(type)) for (const child of data.children) checkData(child, length, depth + 1)
  else if (data.valueOffsets?.length > 0) checkOffsets(data, length, depth)
  else checkValues(data, length)
}

const isFixedList = (type) => DataType.isFixedSizeList(type)

function checkDictionary({ values, dictionary, length: all }, length, depth) {
  if (values.length < length || all < length || !dictionary) throw broken()
  for (const part of dictionary.data) {
    if (!checkedParts.has(part)) checkData(part, part.length, depth + 1)
    checkedParts.add(part)
  }
}

/** A dictionary comes with every batch. */
const checkedParts = new WeakSet()

function checkUnion({ typeIds, valueOffsets, children, type }, length, depth) {
  if (typeIds.length < length) throw broken()
  const isDense = DataType.isDenseUnion(type)
  if (isDense && valueOffsets.length < length) throw broken()
  for (const child of children) checkData(child, isDense ? child.length : length, depth + 1)
}

/** Texts, bytes, lists and maps. */
function checkOffsets({ valueOffsets, values, children, type }, length, depth) {
  if (valueOffsets.length <= length) throw broken()
  let last = valueOffsets[0]
  if (last < 0) throw broken()
  for (let at = 1; at <= length; at += 1) {
    if (valueOffsets[at] < last) throw broken()
    last = valueOffsets[at]
  }
  const isNested = DataType.isList(type) || DataType.isMap(type) || DataType.isLargeList(type)
  if (isNested) checkData(children[0], Number(last), depth + 1)
  else if (values.length < Number(last)) throw broken()
}

function checkValues({ values, type, stride }, length) {
  if (!values) throw broken()
  if (DataType.isBool(type)) {
    if (values.length * 8 < length) throw broken()
    return
  }
  const isView = DataType.isUtf8View(type) || DataType.isBinaryView(type)
  if (values.length < length * (isView ? 16 : Math.max(1, stride ?? 1))) throw broken()
}

const broken = () => new FileError(2001, 'the file is broken: it has fewer bytes than it says')

const maxDepth = 50
