import { type Data, type DataType, makeData } from 'apache-arrow'
import { readDate, readFloat, readScaled, readTime, readWhole } from './text-values.ts'
import { writeWkb } from './wkb.ts'

/** A value that the type of its column cannot hold, and where it begins. */
export class UnfitValue extends Error {
  readonly start: number

  constructor(message: string, start: number) {
    super(message)
    this.start = start
  }
}

/** Where the values of a column lie: `lengths` below 0 is NULL. The values of one column begin at `first`. */
export type Values = Readonly<{
  bytes: Buffer
  starts: Int32Array
  lengths: Int32Array
  first: number
  count: number
}>

/**
 * Gathers the values of one column of a batch. All memory is used again for the next batch. Each kind has its own loop: one
 * loop that calls a method of many kinds takes twice the time.
 */
export abstract class ColumnBuilder {
  readonly type: DataType
  protected rows = 0
  #nulls = 0
  #validity = new Uint8Array(8 * 1024)

  constructor(type: DataType) {
    this.type = type
  }

  append(values: Values): void {
    this.#note(values)
    this.put(values)
    this.rows += values.count
  }

  /** Bytes of the values so far. */
  abstract get bytes(): number

  /** The batch, valid until the next value is appended. */
  finish(): Data {
    const nullBitmap = this.#nulls === 0 ? undefined : this.#validity.subarray(0, (this.rows + 7) >> 3)
    const data = this.dataOf({ length: this.rows, nullCount: this.#nulls, nullBitmap })
    this.rows = 0
    this.#nulls = 0
    this.reset()
    return data
  }

  #note({ lengths, first, count }: Values): void {
    if (this.rows + count > this.#validity.length * 8)
      this.#validity = grown(this.#validity, (this.rows + count) / 8)
    const validity = this.#validity
    let at = this.rows
    for (let value = first; value < first + count; value += 1, at += 1) {
      if ((at & 7) === 0) validity[at >> 3] = 0
      if (lengths[value]! < 0) this.#nulls += 1
      else validity[at >> 3]! |= 1 << (at & 7)
    }
  }

  protected abstract put(values: Values): void
  protected reset(): void {}
  protected abstract dataOf(common: Common): Data
}

type Common = Readonly<{ length: number; nullCount: number; nullBitmap: Uint8Array | undefined }>
type NumberArray = Int16Array | Int32Array | Uint32Array | Float32Array | Float64Array

/** One number a row. */
export class NumberBuilder extends ColumnBuilder {
  readonly #read: (row: Buffer, start: number, end: number) => number
  #values: NumberArray

  constructor(
    type: DataType,
    values: NumberArray,
    read: (row: Buffer, start: number, end: number) => number,
  ) {
    super(type)
    this.#values = values
    this.#read = read
  }

  get bytes(): number {
    return this.rows * this.#values.BYTES_PER_ELEMENT
  }

  protected put({ bytes, starts, lengths, first, count }: Values): void {
    if (this.rows + count > this.#values.length) this.#values = grown(this.#values, this.rows + count)
    const read = this.#read
    const target = this.#values
    const { rows } = this
    for (let row = 0; row < count; row += 1) {
      const length = lengths[first + row]!
      const start = starts[first + row]!
      target[rows + row] = length < 0 ? 0 : read(bytes, start, start + length)
    }
  }

  protected dataOf(common: Common): Data {
    return makeData({ ...common, type: this.type, data: this.#values.subarray(0, this.rows) } as never)
  }
}

/** Days since 1970. PostgreSQL knows infinite ones, Arrow does not. */
export function readDay(row: Buffer, start: number, end: number): number {
  const days = readDate(row, start, end)
  if (Number.isNaN(days)) throw new UnfitValue(`the date ${row.toString('latin1', start, end)}`, start)
  return days
}

export { readFloat, readWhole }

/** Whole numbers of 64 or 128 bits: bigint, timestamp and numeric. Most fit into a number of JavaScript. */
export class WideBuilder extends ColumnBuilder {
  readonly #words: 2 | 4
  readonly #read: (row: Buffer, start: number, end: number) => number | bigint
  #values = new Int32Array(1024)

  constructor(
    type: DataType,
    bits: 64 | 128,
    read: (row: Buffer, start: number, end: number) => number | bigint,
  ) {
    super(type)
    this.#words = bits === 64 ? 2 : 4
    this.#read = read
  }

  get bytes(): number {
    return this.rows * this.#words * 4
  }

  protected put({ bytes, starts, lengths, first, count }: Values): void {
    const words = this.#words
    const needed = (this.rows + count) * words
    if (needed > this.#values.length) this.#values = grown(this.#values, needed)
    const target = this.#values
    for (let row = 0; row < count; row += 1) {
      const length = lengths[first + row]!
      const start = starts[first + row]!
      const value = length < 0 ? 0 : this.#read(bytes, start, start + length)
      const at = (this.rows + row) * words
      if (typeof value === 'number') {
        const high = Math.floor(value / 2 ** 32)
        target[at] = value - high * 2 ** 32
        target[at + 1] = high
        for (let word = 2; word < words; word += 1) target[at + word] = high < 0 ? -1 : 0
      } else {
        for (let word = 0; word < words; word += 1)
          target[at + word] = Number(BigInt.asIntN(32, value >> BigInt(32 * word)))
      }
    }
  }

  protected dataOf(common: Common): Data {
    const words = this.rows * this.#words
    const { buffer } = this.#values
    const data =
      this.#words === 2 ? new BigInt64Array(buffer, 0, this.rows) : new Uint32Array(buffer, 0, words)
    return makeData({ ...common, type: this.type, data } as never)
  }
}

export function readBig(row: Buffer, start: number, end: number): number | bigint {
  const value = readWhole(row, start, end)
  return Number.isNaN(value) ? BigInt(row.toString('latin1', start, end)) : value
}

export function readMicros(row: Buffer, start: number, end: number): number | bigint {
  const days = readDate(row, start, end)
  if (Number.isNaN(days)) throw new UnfitValue(`the timestamp ${row.toString('latin1', start, end)}`, start)
  const micros = readTime(row, start, end)
  return Math.abs(days) < safeDays
    ? days * dayMicros + micros
    : BigInt(days) * BigInt(dayMicros) + BigInt(micros)
}

const dayMicros = 86_400_000_000
const safeDays = 100_000

export function readDecimal(row: Buffer, start: number, end: number): number | bigint {
  if (row[end - 1]! > NINE) throw new UnfitValue(`the number ${row.toString('latin1', start, end)}`, start)
  const value = readScaled(row, start, end)
  return Number.isNaN(value) ? BigInt(row.toString('latin1', start, end).replace('.', '')) : value
}

const NINE = 57
const LETTER_T = 116

/** One bit a row. */
export class BoolBuilder extends ColumnBuilder {
  #bits = new Uint8Array(1024)

  get bytes(): number {
    return this.rows >> 3
  }

  protected put({ bytes, starts, lengths, first, count }: Values): void {
    const needed = (this.rows + count + 7) >> 3
    if (needed > this.#bits.length) this.#bits = grown(this.#bits, needed)
    for (let row = 0; row < count; row += 1) {
      const at = this.rows + row
      if ((at & 7) === 0) this.#bits[at >> 3] = 0
      const isTrue = lengths[first + row]! >= 0 && bytes[starts[first + row]!] === LETTER_T
      if (isTrue) this.#bits[at >> 3]! |= 1 << (at & 7)
    }
  }

  protected dataOf(common: Common): Data {
    return makeData({
      ...common,
      type: this.type,
      data: this.#bits.subarray(0, (this.rows + 7) >> 3),
    } as never)
  }
}

type WriteBytes = (target: Buffer, at: number, row: Buffer, start: number, end: number) => number

/** Texts and bytes. */
export class BytesBuilder extends ColumnBuilder {
  readonly #write: WriteBytes
  #offsets = new Int32Array(1025)
  #bytes = Buffer.allocUnsafeSlow(64 * 1024)
  #length = 0

  constructor(type: DataType, write: WriteBytes = copyText) {
    super(type)
    this.#write = write
  }

  get bytes(): number {
    return this.#length + this.rows * 4
  }

  protected put({ bytes, starts, lengths, first, count }: Values): void {
    let needed = this.#length
    for (let value = first; value < first + count; value += 1) needed += Math.max(0, lengths[value]!)
    this.#makeRoom(this.rows + count, needed)
    const write = this.#write
    const target = this.#bytes
    const offsets = this.#offsets
    let end = this.#length
    let at = this.rows
    for (let value = first; value < first + count; value += 1) {
      const length = lengths[value]!
      const start = starts[value]!
      if (length >= 0) end = write(target, end, bytes, start, start + length)
      at += 1
      offsets[at] = end
    }
    this.#length = end
  }

  #makeRoom(rows: number, bytes: number): void {
    if (rows >= this.#offsets.length) this.#offsets = grown(this.#offsets, rows + 1)
    if (bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }

  protected override reset(): void {
    this.#length = 0
  }

  protected dataOf(common: Common): Data {
    const valueOffsets = this.#offsets.subarray(0, this.rows + 1)
    return makeData({
      ...common,
      type: this.type,
      data: this.#bytes.subarray(0, this.#length),
      valueOffsets,
    } as never)
  }
}

function copyText(target: Buffer, at: number, row: Buffer, start: number, end: number): number {
  if (end - start > shortBytes) return at + row.copy(target, at, start, end)
  let to = at
  for (let from = start; from < end; from += 1) target[to++] = row[from]!
  return to
}

const shortBytes = 48

/** bytea is written `\x0102`. */
export const writeBytea: WriteBytes = (target, at, row, start, end) =>
  at + target.write(row.toString('latin1', start + 2, end), at, 'hex')

export { writeWkb }

function grown<A extends NumberArray | Uint8Array>(old: A, least: number): A {
  const length = Math.max(Math.ceil(least), old.length * 2)
  // A whole number of 128 bits.
  const larger = new (old.constructor as new (length: number) => A)(Math.ceil(length / 4) * 4)
  larger.set(old as never)
  return larger
}
