import type { LineEnd } from '../contract/formats.ts'
import { joinBytes } from '../contract/text/join-bytes.ts'

/** How a file of separated values is written. */
export type CsvForm = Readonly<{
  delimiter: ',' | ';' | '\t' | '|'
  /** Empty: a quotation mark is a character like any other. */
  quote: '"' | ''
}>

/**
 * One record: its bytes and where its fields lie in them, as they are written, quotes included. All of it is used again
 * for the next record.
 */
export type CsvRecord = {
  bytes: Uint8Array
  starts: Int32Array
  ends: Int32Array
  /** How many quotation marks the field has, counted up to 3. */
  quotes: Uint8Array
  count: number
  /** The line it ends in, counted as COPY does: line ends inside of quotes count too. */
  line: number
  /** The line it begins in. */
  firstLine: number
}

/** A file that cannot be what it is said to be; COPY would refuse it, too. */
export class CsvError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.name = 'CsvError'
    this.line = line
  }
}

/** A quotation mark that is not closed: see leaveOutLine. */
export class OpenQuoteError extends CsvError {}

/**
 * Finds the records in chunks of bytes, by the rules of COPY in CSV format. It works on bytes, because most records are
 * only passed on: only those that are inspected become text.
 */
export class CsvRecords {
  readonly #onRecord: (record: CsvRecord) => void
  readonly #delimiter: number
  readonly #kinds: Uint8Array
  readonly #record: CsvRecord = {
    bytes: new Uint8Array(),
    starts: new Int32Array(64),
    ends: new Int32Array(64),
    quotes: new Uint8Array(64),
    count: 0,
    line: 1,
    firstLine: 1,
  }
  /** What is left of the last chunk: the beginning of a record. The places below are places in it. */
  #rest: Uint8Array = new Uint8Array()
  #fieldStart = 0
  #isInQuotes = false
  #quotes = 0
  #quotedSince = 0
  #lineEnd: LineEnd | undefined
  /** In quotes, CRLF is one. */
  #countedLineEnd = LF

  constructor({ delimiter, quote }: CsvForm, onRecord: (record: CsvRecord) => void) {
    this.#onRecord = onRecord
    this.#delimiter = delimiter.charCodeAt(0)
    this.#kinds = new Uint8Array(256)
    for (const byte of [this.#delimiter, LF, CR]) this.#kinds[byte] = 1
    if (quote) this.#kinds[quote.charCodeAt(0)] = 1
  }

  push(chunk: Uint8Array): void {
    const known = this.#rest.length
    if (known > maxRecordBytes) throw this.#tooLong()
    this.#scan(known === 0 ? chunk : joinBytes([this.#rest, chunk]), known, false)
  }

  end(): void {
    this.#scan(this.#rest, this.#rest.length, true)
    if (this.#isInQuotes) throw this.#tooLong()
    if (this.#rest.length > 0) this.#endLastRecord()
  }

  /**
   * After an error about a quotation mark that is not closed: leaves out the line in which its record begins, gives it to
   * `onLine`, and reads the lines after it again.
   */
  leaveOutLine(onLine: (bytes: Uint8Array) => void): void {
    const rest = this.#rest
    const end = rest.findIndex((byte) => byte === LF || byte === CR)
    const next = end < 0 ? rest.length : end + (rest[end] === CR && rest[end + 1] === LF ? 2 : 1)
    const record = this.#record
    record.count = 0
    record.line = record.firstLine + 1
    record.firstLine = record.line
    this.#fieldStart = 0
    this.#quotes = 0
    this.#isInQuotes = false
    this.#rest = new Uint8Array()
    onLine(rest.subarray(0, end < 0 ? rest.length : end))
    this.#scan(rest.subarray(next), 0, false)
  }

  /** One loop with its state in variables: it passes every byte of the file. */
  #scan(bytes: Uint8Array, from: number, isLast: boolean): void {
    const kinds = this.#kinds
    const delimiter = this.#delimiter
    const record = this.#record
    const { length } = bytes
    let { starts, ends, quotes, count } = record
    let fieldStart = this.#fieldStart
    let fieldQuotes = this.#quotes
    let isInQuotes = this.#isInQuotes
    let recordStart = 0
    let at = from > 0 && !isInQuotes && bytes[from - 1] === CR ? from - 1 : from
    for (; at < length; at++) {
      const byte = bytes[at]!
      if (kinds[byte] === 0) continue
      if (byte === QUOTE) {
        // Two in a row are one that is meant: for where a field ends, that is the same as an end and a beginning.
        isInQuotes = !isInQuotes
        if (isInQuotes && fieldQuotes === 0) this.#quotedSince = record.line
        if (fieldQuotes < 3) fieldQuotes++
        continue
      }
      if (isInQuotes) {
        if (byte === this.#countedLineEnd) record.line++
        continue
      }
      // Whether LF follows a CR, the next chunk will tell.
      if (byte === CR && at + 1 === length && !isLast) break
      if (count === maxFields) throw new CsvError(record.line, `This line has more than ${maxFields} values.`)
      if (count === starts.length) ({ starts, ends, quotes } = widen(record))
      starts[count] = fieldStart
      ends[count] = at
      quotes[count] = fieldQuotes
      count++
      fieldQuotes = 0
      if (byte !== delimiter) {
        if (byte === CR && bytes[at + 1] === LF) at++
        this.#endRecord(bytes, count, at)
        count = 0
        recordStart = at + 1
      }
      fieldStart = at + 1
    }
    record.count = count
    this.#fieldStart = fieldStart
    this.#quotes = fieldQuotes
    this.#isInQuotes = isInQuotes
    this.#keepRest(bytes, recordStart)
  }

  #keepRest(bytes: Uint8Array, recordStart: number): void {
    this.#rest = bytes.slice(recordStart)
    this.#fieldStart -= recordStart
    const { starts, ends, count } = this.#record
    for (let at = 0; at < count; at++) {
      starts[at]! -= recordStart
      ends[at]! -= recordStart
    }
  }

  /** Without a line end. */
  #endLastRecord(): void {
    const record = this.#record
    if (record.count === record.starts.length) widen(record)
    record.starts[record.count] = this.#fieldStart
    record.ends[record.count] = this.#rest.length
    record.quotes[record.count] = this.#quotes
    this.#giveRecord(this.#rest, record.count + 1)
  }

  /** `at`: the last byte of its line end. */
  #endRecord(bytes: Uint8Array, count: number, at: number): void {
    const found = bytes[at] === CR ? 'CR' : bytes[at - 1] === CR ? 'CRLF' : 'LF'
    this.#checkLineEnd(found)
    this.#giveRecord(bytes, count)
  }

  #giveRecord(bytes: Uint8Array, count: number): void {
    this.#record.bytes = bytes
    this.#record.count = count
    this.#onRecord(this.#record)
    this.#record.line++
    this.#record.firstLine = this.#record.line
  }

  #checkLineEnd(found: LineEnd): void {
    if (this.#lineEnd === found) return
    if (this.#lineEnd !== undefined) {
      throw new CsvError(
        this.#record.line,
        `This line ends with ${found}, those before with ${this.#lineEnd}.`,
      )
    }
    this.#lineEnd = found
    if (found !== 'LF') this.#countedLineEnd = CR
  }

  #tooLong(): CsvError {
    return this.#isInQuotes
      ? new OpenQuoteError(this.#quotedSince, 'The quotation mark opened here is never closed.')
      : new CsvError(this.#record.line, 'This line is too long.')
  }
}

const LF = 10
const CR = 13
const QUOTE = 34

/** An open quotation mark makes one record of the rest of the file, which must not fill the memory. */
const maxRecordBytes = 64 * 1024 * 1024

/** No table has as many columns. */
const maxFields = 16_384

function widen(record: CsvRecord): CsvRecord {
  const length = record.starts.length * 2
  const wider = <A extends Int32Array | Uint8Array>(made: A, old: A) => {
    made.set(old)
    return made
  }
  record.starts = wider(new Int32Array(length), record.starts)
  record.ends = wider(new Int32Array(length), record.ends)
  record.quotes = wider(new Uint8Array(length), record.quotes)
  return record
}

/** What a field means: its bytes without the quotes. */
export function fieldBytes({ bytes, starts, ends, quotes }: CsvRecord, at: number): Uint8Array {
  const start = starts[at]!
  const end = ends[at]!
  if (quotes[at] === 0) return bytes.subarray(start, end)
  if (quotes[at] === 2 && bytes[start] === QUOTE && bytes[end - 1] === QUOTE)
    return bytes.subarray(start + 1, end - 1)
  const meant = new Uint8Array(end - start)
  let length = 0
  let isInQuotes = false
  for (let place = start; place < end; place++) {
    const isQuote = bytes[place] === QUOTE
    const isEscaped = isQuote && isInQuotes && bytes[place + 1] === QUOTE && place + 1 < end
    if (isEscaped) place++
    else if (isQuote) isInQuotes = !isInQuotes
    if (isEscaped || !isQuote) meant[length++] = bytes[place]!
  }
  return meant.subarray(0, length)
}
