import { errors } from '../../errors.ts'
import type { CopyDialect } from '../../sql/copy-load.ts'
import { RecordScanner } from './record-scanner.ts'

/** Whole records of a file, to be loaded together. */
export type Part = Readonly<{
  bytes: Buffer
  /** Lines of the file before it. */
  linesBefore: number
  /** The line opens a quotation mark and does not close it: COPY would read on to the end of the file. */
  isOpen: boolean
}>

/** Cuts data that comes in pieces into parts of whole records. The header is kept apart. */
export class PartReader {
  /** Its bytes; undefined before they have come. */
  header: Buffer | undefined
  readonly #scanner: RecordScanner
  readonly #partBytes: number
  readonly #spare: Buffer[] = []
  #bytes: Buffer
  #length = 0
  #scanned = 0
  /** Where the next part begins, and the lines before it. */
  #start = 0
  #linesBefore = 0
  /** Where the last whole record ends, and the lines up to there. */
  #end = 0
  #endLines = 0
  #isLast = false
  /** A record `\.` ended the data: what follows is ignored, as COPY does. */
  #isOver = false

  constructor(dialect: CopyDialect, partBytes: number) {
    this.#scanner = new RecordScanner(dialect)
    this.#partBytes = partBytes
    this.#bytes = this.#takeBuffer(0)
    this.header = dialect.header === 'none' ? Buffer.alloc(0) : undefined
  }

  push(chunk: Buffer): void {
    if (this.#isOver) return
    this.#makeRoom(chunk.length)
    chunk.copy(this.#bytes, this.#length)
    this.#length += chunk.length
    this.#scan()
  }

  /** All data has come. */
  end(): void {
    this.#isLast = true
    this.#scan()
  }

  /** The next part; null if more data must come first, or if there is none. */
  take(): Part | null {
    const whole = this.#end - this.#start
    if (whole >= this.#partBytes || (this.#isLast && whole > 0)) return this.#cut(this.#end, false)
    const open = this.#length - this.#end
    if (this.#isOver || open === 0) return null
    if (this.#scanner.isInQuotes && (this.#isLast || open > maxRecordBytes))
      return whole > 0 ? this.#cut(this.#end, false) : this.#cutOpenLine()
    if (open > maxRecordBytes) throw errors.badRequest(rowTooLong)
    return null
  }

  /** The bytes of a part are not needed any more. */
  giveBack({ bytes: { buffer } }: Part): void {
    if (this.#spare.length < mostSpare && buffer.byteLength === this.#usualBytes)
      this.#spare.push(Buffer.from(buffer as ArrayBuffer))
  }

  get #usualBytes(): number {
    return this.#partBytes * 2
  }

  #scan(): void {
    if (this.#isOver) return
    const onEnd = (end: number) => this.#noteEnd(end)
    this.#scanned = this.#scanner.scan(this.#bytes, this.#scanned, this.#length, this.#isLast, onEnd)
    // The last record may have no line end.
    if (this.#isLast && !this.#isOver && this.#end < this.#length && !this.#scanner.isInQuotes) {
      this.#scanner.endLine()
      this.#noteEnd(this.#length)
    }
  }

  /** False: the data is over. */
  #noteEnd(end: number): boolean {
    if (this.#isEndMark(end)) {
      this.#isOver = true
      this.#length = this.#end
      return false
    }
    this.#end = end
    this.#endLines = this.#scanner.lines
    if (this.header === undefined) {
      this.header = Buffer.from(this.#bytes.subarray(0, end))
      this.#start = end
      this.#linesBefore = this.#endLines
    }
    return true
  }

  #isEndMark(end: number): boolean {
    const at = this.#end
    if (this.#bytes[at] !== BACKSLASH || this.#bytes[at + 1] !== DOT || end - at > 4) return false
    return this.#bytes.toString('latin1', at + 2, end).trim() === ''
  }

  #cut(end: number, isOpen: boolean): Part {
    const bytes = this.#bytes.subarray(this.#start, end)
    const part = { bytes, linesBefore: this.#linesBefore, isOpen }
    const rest = this.#bytes.subarray(end, this.#length)
    this.#bytes = this.#takeBuffer(rest.length)
    rest.copy(this.#bytes)
    this.#length = rest.length
    this.#scanned -= end
    this.#start = 0
    this.#end = 0
    this.#linesBefore = this.#endLines
    return part
  }

  /** The lines after it are scanned again. */
  #cutOpenLine(): Part {
    if (this.header === undefined) throw errors.badRequest(openHeader)
    const lineEnd = this.#scanner.lineEnd === 'CR' ? CR : LF
    const found = this.#bytes.subarray(0, this.#length).indexOf(lineEnd, this.#start)
    const end = found < 0 ? this.#length : found + 1
    this.#endLines = this.#linesBefore + 1
    this.#scanner.lines = this.#endLines
    this.#scanner.beginRecord()
    this.#scanned = end
    const part = this.#cut(end, true)
    this.#scan()
    return part
  }

  #makeRoom(more: number): void {
    if (this.#length + more <= this.#bytes.length) return
    const larger = this.#takeBuffer(2 * (this.#length + more))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }

  #takeBuffer(bytes: number): Buffer {
    if (bytes > this.#usualBytes) return Buffer.allocUnsafeSlow(bytes)
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#usualBytes)
  }
}

/** A record of a part: the line of the file it ends in, and the line that COPY counts. */
export type FoundRecord = Readonly<{ start: number; end: number; line: number; copyLine: number }>

/** The records of a part that was sent after the header. */
export function recordsOf({ bytes, linesBefore }: Part, header: Buffer, dialect: CopyDialect): FoundRecord[] {
  const scanner = new RecordScanner(dialect)
  scanner.scan(header, 0, header.length, true, () => true)
  scanner.lines = linesBefore
  const records: FoundRecord[] = []
  let start = 0
  const note = (end: number) => {
    records.push({ start, end, line: scanner.lines, copyLine: scanner.copyLines })
    start = end
    return true
  }
  scanner.scan(bytes, 0, bytes.length, true, note)
  if (start < bytes.length) {
    scanner.endLine()
    note(bytes.length)
  }
  return records
}

const LF = 10
const CR = 13
const DOT = 46
const BACKSLASH = 92
const mostSpare = 3

/** An open quotation mark makes one record of the rest of the file, which must not fill the memory. */
const maxRecordBytes = 16 * 1024 * 1024
const openHeader = 'The header has a quotation mark that is not closed'
const rowTooLong = 'on_error=skip loads rows of up to 16 MB: load longer ones without it'
