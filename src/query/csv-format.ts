import type { ByteWriter } from './byte-writer.ts'
import { areShown, type Column } from './columns.ts'
import { builtInTypes, valueKind } from './pg-types.ts'
import type { FormatOptions, RowFormat } from './row-format.ts'

/**
 * RFC 4180: values as PostgreSQL writes them (booleans as true and false), NULL as nothing, the empty string as
 * `""`. The header stands first, and again where a further statement has other columns.
 */
export class CsvFormat implements RowFormat {
  readonly hasFields = false
  readonly #options: FormatOptions
  #isShown: readonly boolean[] = []
  #isBoolean: readonly boolean[] = []
  #isBinary: readonly boolean[] = []
  #header = ''

  constructor(options: FormatOptions) {
    this.#options = options
  }

  begin(): void {}

  columns(out: ByteWriter, columns: readonly Column[]): void {
    this.#isShown = areShown(columns, this.#options.skippedFields)
    this.#isBoolean = columns.map(({ typeOid }) => builtInTypes.get(typeOid)?.kind === valueKind.boolean)
    this.#isBinary = columns.map(({ isBinary }) => isBinary)
    const names = columns.filter((_, place) => this.#isShown[place]).map(({ name }) => quoteName(name))
    const header = `${names.join(',')}\r\n`
    if (header !== this.#header) out.utf8(header)
    this.#header = header
  }

  row(out: ByteWriter, row: Buffer, start: number): void {
    let at = start + 2
    let isFirst = true
    for (let place = 0; place < this.#isShown.length; place += 1) {
      const length = row.readInt32BE(at)
      at += 4
      const end = length < 0 ? at : at + length
      if (this.#isShown[place]) {
        if (!isFirst) out.byte(comma)
        isFirst = false
        if (length >= 0) this.#value(out, place, row, at, end)
      }
      at = end
    }
    out.ascii('\r\n')
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

  #value(out: ByteWriter, place: number, row: Buffer, start: number, end: number): void {
    if (this.#isBinary[place]) out.utf8(`\\x${row.toString('hex', start, end)}`)
    else if (this.#isBoolean[place]) out.ascii(row[start] === letterT ? 'true' : 'false')
    else if (needsQuotes(row, start, end)) writeQuoted(out, row, start, end)
    else out.copy(row, start, end)
  }

  *#longValue(out: ByteWriter, place: number, row: Buffer, start: number, end: number): Generator<void> {
    if (end - start <= sliceBytes) {
      this.#value(out, place, row, start, end)
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
      else if (isQuoted) writeInside(out, row, from, to)
      else out.copy(row, from, to)
      yield
    }
    if (isQuoted) out.byte(quote)
  }
}

function needsQuotes(row: Buffer, start: number, end: number): boolean {
  if (start === end) return true
  for (let at = start; at < end; at += 1) {
    if (isSpecial[row[at]!] === 1) return true
  }
  return false
}

function writeQuoted(out: ByteWriter, row: Buffer, start: number, end: number): void {
  out.byte(quote)
  writeInside(out, row, start, end)
  out.byte(quote)
}

function writeInside(out: ByteWriter, row: Buffer, start: number, end: number): void {
  for (let from = start; from < end; from += 1) {
    const byte = row[from]!
    out.byte(byte)
    // A quote within is written twice.
    if (byte === quote) out.byte(quote)
  }
}

function quoteName(name: string): string {
  return /[",\r\n]/.test(name) || name === '' ? `"${name.replaceAll('"', '""')}"` : name
}

const comma = 0x2c
const quote = 0x22
const letterT = 0x74
const sliceBytes = 8192
const special = '",\r\n'
const isSpecial = new Uint8Array(256)
for (const char of special) isSpecial[char.charCodeAt(0)] = 1
