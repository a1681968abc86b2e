// A program of its own: reads the answer of format=json from stdin and writes the format arraybuffer of the classic service to stdout:
// a container with the names of the columns, then each column. Exits with 3 and a sentence on stderr if a value does not fit.
import { writeSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'

const [float32, text, container] = [8, 10, 11]
const writers = {
  int8: [1, 1, 'writeInt8'],
  uint8: [2, 1, 'writeUInt8'],
  uintclamp8: [3, 1, 'writeUInt8'],
  int16: [4, 2, 'writeInt16LE'],
  uint16: [5, 2, 'writeUInt16LE'],
  int32: [6, 4, 'writeInt32LE'],
  uint32: [7, 4, 'writeUInt32LE'],
  float32: [float32, 4, 'writeFloatLE'],
}

const { rows, fields } = JSON.parse((await buffer(process.stdin)).toString())
const names = Object.keys(fields)
if (names.includes('the_geom')) fail('the_geom: geometry types are not supported')
else if (rows.length > 0) process.stdout.end(containerOf([textsOf(names), ...names.map(columnOf)]))

function columnOf(name) {
  const [first] = rows
  const values = rows.map((row) => row[name])
  if (typeof first[name] === 'string') {
    const at = values.findIndex((value) => typeof value !== 'string')
    if (at >= 0) fail(`${JSON.stringify(values[at])} among texts in column ${name}, row ${at + 1}`)
    return textsOf(values)
  }
  const isList = typeof first[name] === 'object' && first[name] !== null
  const numbers = (list, at) => numbersOf(name, list, at)
  return isList
    ? containerOf(values.map((list, at) => numbers(Array.isArray(list) ? list : [], at)))
    : numbers(values)
}

/** By the end of its name a column tells its type: `n__uint8`. All others are float32. */
function numbersOf(name, values, row) {
  const [, kind = 'float', bits = '32'] = /__(uintclamp|uint|int|float)(8|16|32)$/i.exec(name) ?? []
  const [type, size, write] = writers[`${kind.toLowerCase()}${bits}`] ?? writers.float32
  const data = Buffer.alloc(values.length * size)
  for (const [at, value] of values.entries()) {
    const number = value === null && type === float32 ? Number.NaN : Number(value ?? undefined)
    const clamped = type === 3 ? Math.min(255, Math.max(0, number)) : number
    try {
      if (Number.isNaN(number) && (type !== float32 || (value !== null && value !== 'NaN')))
        throw new RangeError()
      data[write](clamped, at * size)
    } catch {
      fail(`${JSON.stringify(value)} in column ${name}, row ${(row ?? at) + 1}`)
    }
  }
  return framed(type, data)
}

/** Each text has the code units of JavaScript. */
function textsOf(texts) {
  const [type] = writers.uint16
  return framed(text, aligned(texts.map((value) => framed(type, Buffer.from(value, 'utf16le')))))
}

function containerOf(parts) {
  return framed(container, aligned(parts))
}

/** Type and size in big-endian, then the data. */
function framed(type, data) {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(type, 0)
  head.writeUInt32BE(data.length, 4)
  return Buffer.concat([head, data])
}

/** Every part begins at a multiple of 4. */
function aligned(parts) {
  const pieces = []
  let length = 0
  for (const part of parts) {
    const gap = (4 - (length % 4)) % 4
    pieces.push(Buffer.alloc(gap), part)
    length += gap + part.length
  }
  return Buffer.concat(pieces)
}

function fail(what) {
  writeSync(2, what)
  process.exit(3)
}
