import { type ByteWriter, chunkBytes, sources } from './byte-writer.ts'
import type { Column } from './columns.ts'
import { writeAscii, writeBoolean, writeBytes, writeHex } from './json-values.ts'
import { kindOf, type ValueKind, valueKind } from './pg-types.ts'
import type { FormatOptions, RowFormat } from './row-format.ts'

/**
 * RFC 4180: values as PostgreSQL writes them (booleans as true and false), NULL as nothing, the empty string as `""`.
 * The header comes first, and again if a further statement has other columns.
 */
export class CsvFormat implements RowFormat {
  readonly hasFields = false
  readonly #options: FormatOptions
  #isShown: readonly boolean[] = []
  #isBoolean: readonly boolean[] = []
  #isBare: readonly boolean[] = []
  #isBinary: readonly boolean[] = []
  #header = ''

  constructor(options: FormatOptions) {
    this.#options = options
  }

  begin(): void {}

  columns(out: ByteWriter, columns: readonly Column[]): void {
    // Unlike an object, a line can have two values of one name.
    this.#isShown = columns.map(({ name }) => !this.#options.skippedFields.has(name))
    this.#isBoolean = columns.map(({ typeOid }) => kindOf(typeOid) === valueKind.boolean)
    this.#isBare = columns.map(({ typeOid }) => bareKinds.has(kindOf(typeOid)))
    this.#isBinary = columns.map(({ isBinary }) => isBinary)
    const names = columns.filter((_, place) => this.#isShown[place]).map(({ name }) => nameField(name))
    const header = `${names.join(',')}\r\n`
    if (header !== this.#header) out.utf8(header)
    this.#header = header
  }

  row(out: ByteWriter, row: Buffer, start: number, end: number): void {
    const room = longestCsv(end - start) + 3 * this.#isShown.length
    if (room > chunkBytes) {
      for (const _ of this.longRow(out, row, start));
    } else {
      out.ensure(room)
      out.at = this.#shortRow(out.bytes, out.at, row, start)
    }
  }

  /** The hot loop: there is room for the whole row. */
  #shortRow(target: Buffer, start: number, row: Buffer, rowStart: number): number {
    const lengths = sources.viewOf(row)
    let to = start
    let at = rowStart + 2
    for (let place = 0; place < this.#isShown.length; place += 1) {
      const length = lengths.getInt32(at)
      const valueStart = at + 4
      at = length < 0 ? valueStart : valueStart + length
      if (!this.#isShown[place]) continue
      if (length >= 0) to = this.#value(target, to, place, row, valueStart, at)
      target[to++] = comma
    }
    // Overwrites the last comma.
    return writeAscii(target, Math.max(start, to - 1), '\r\n')
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    let at = start + 2
    let isFirst = true
    for (const [place, isShown] of this.#isShown.entries()) {
      const length = row.readInt32BE(at)
      at += 4
      const end = length < 0 ? at : at + length
      if (isShown) {
        if (!isFirst) out.byte(comma)
        isFirst = false
        if (length >= 0) yield* this.#longValue(out, place, row, at, end)
      }
      at = end
    }
    out.ascii('\r\n')
  }

  end(): void {}

  #value(target: Buffer, at: number, place: number, row: Buffer, start: number, end: number): number {
    if (this.#isBinary[place]) return writeHex(target, writeAscii(target, at, '\\x'), row, start, end)
    if (this.#isBoolean[place]) return writeBoolean(target, at, row, start)
    return !this.#isBare[place] && needsQuotes(row, start, end)
      ? writeQuoted(target, at, row, start, end)
      : writeBytes(target, at, row, start, end)
  }

  *#longValue(out: ByteWriter, place: number, row: Buffer, start: number, end: number): Generator<void> {
    if (end - start <= sliceBytes) {
      out.ensure(longestCsv(end - start))
      out.at = this.#value(out.bytes, out.at, place, row, start, end)
      yield
      return
    }
    const isQuoted =
      !this.#isBinary[place] && [...special].some((char) => row.subarray(start, end).includes(char))
    if (this.#isBinary[place]) out.ascii('\\x')
    if (isQuoted) out.byte(quote)
    for (let from = start; from < end; from += sliceBytes) {
      const to = Math.min(from + sliceBytes, end)
      if (this.#isBinary[place]) out.ascii(row.toString('hex', from, to))
      else if (isQuoted) {
        out.ensure(longestCsv(to - from))
        out.at = writeInside(out.bytes, out.at, row, from, to)
      } else out.copy(row, from, to)
      yield
    }
    if (isQuoted) out.byte(quote)
  }
}

/** The longest output for a value of this length: all bytes quotes or hexadecimal digits, plus what surrounds it. */
function longestCsv(length: number): number {
  return 2 * length + 16
}

function needsQuotes(row: Buffer, start: number, end: number): boolean {
  if (start === end) return true
  for (let at = start; at < end; at += 1) {
    if (isSpecial[row[at]!] === 1) return true
  }
  return false
}

function writeQuoted(target: Buffer, at: number, row: Buffer, start: number, end: number): number {
  target[at] = quote
  const stop = writeInside(target, at + 1, row, start, end)
  target[stop] = quote
  return stop + 1
}

function writeInside(target: Buffer, at: number, row: Buffer, start: number, end: number): number {
  let to = at
  for (let from = start; from < end; from += 1) {
    const byte = row[from]!
    target[to++] = byte
    // A quote inside is written twice.
    if (byte === quote) target[to++] = quote
  }
  return to
}

function nameField(name: string): string {
  return /[",\r\n]/.test(name) || name === '' ? `"${name.replaceAll('"', '""')}"` : name
}

/** Their values never need quotes. */
const bareKinds: ReadonlySet<ValueKind> = new Set([
  valueKind.number,
  valueKind.timestamp,
  valueKind.timestamptz,
  valueKind.date,
])

const comma = 0x2c
const quote = 0x22
const sliceBytes = 8192
const special = '",\r\n'
const isSpecial = new Uint8Array(256)
for (const char of special) isSpecial[char.charCodeAt(0)] = 1
