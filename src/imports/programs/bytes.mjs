import { BinaryView, DataType, Vector } from 'apache-arrow'
import { FileError } from './fail.mjs'

export function isNull({ type, nullCount, nullBitmap, offset }, at) {
  if (DataType.isNull(type)) return true
  if (nullCount === 0 || !nullBitmap || nullBitmap.length === 0) return false
  const bit = offset + at
  return (nullBitmap[bit >> 3] & (1 << (bit & 7))) === 0
}

export function bytesOf(data, at) {
  const { type, values, valueOffsets } = data
  if (DataType.isFixedSizeBinary(type)) return values.subarray(at * type.byteWidth, (at + 1) * type.byteWidth)
  if (DataType.isBinaryView(type) || DataType.isUtf8View(type)) return viewOf(data, at)
  return values.subarray(Number(valueOffsets[at]), Number(valueOffsets[at + 1]))
}

/** Text is decoded here: the library would replace what is not UTF-8. */
export function textOf(data, at) {
  try {
    return utf8.decode(bytesOf(data, at))
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new FileError(2006, 'text that is not UTF-8')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Short ones are in the view itself, long ones in a buffer beside it. */
function viewOf(data, at) {
  const bytes = bytesVector(data).get(at)
  const size = new DataView(data.values.buffer, data.values.byteOffset + at * 16, 4).getInt32(0, true)
  if (bytes.length !== size) throw new FileError(2001, 'the file is broken: it has fewer bytes than it says')
  return bytes
}

/** The library reads views; of texts it has only the decoded ones. */
function bytesVector(data) {
  const known = vectors.get(data)
  if (known) return known
  const vector = new Vector([DataType.isUtf8View(data.type) ? data.clone(new BinaryView()) : data])
  vectors.set(data, vector)
  return vector
}

const vectors = new WeakMap()

export const isText = (type) =>
  DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type)
export const isBytes = (type) =>
  DataType.isBinary(type) ||
  DataType.isLargeBinary(type) ||
  DataType.isBinaryView(type) ||
  DataType.isFixedSizeBinary(type)

/** The part of a dictionary that has a value, and its place there. */
export function partOf(dictionary, key) {
  let at = key
  for (const part of dictionary.data) {
    if (at >= 0 && at < part.length) return [part, at]
    at -= part.length
  }
  throw new FileError(2001, 'the file is broken: a dictionary lacks a value')
}

export const isTrue = ({ values, offset }, at) => {
  const bit = offset + at
  return ((values[bit >> 3] >> (bit & 7)) & 1) === 1
}
