import type { LineEnd } from '../../contract/formats.ts'
import type { CopyDialect } from '../../sql/copy-load.ts'

/**
 * Finds where records end, by the rules of COPY in CSV and text format: a line end in quotes, or after a backslash in
 * text format, does not end one. Keeps its state between calls, so that data may come in pieces.
 */
export class RecordScanner {
  /** Lines passed: those of records, and in CSV those within quotes. */
  lines = 0
  /** The same as COPY counts them: it looks for CR in quotes until it knows that lines end with LF alone. */
  copyLines = 0
  readonly #isCsv: boolean
  readonly #quote: number
  /** -1 if it is the quote itself. */
  readonly #escape: number
  readonly #kinds: Uint8Array
  readonly #charLength: CharLength | undefined
  #lineEnd: LineEnd | undefined
  #isInQuotes = false

  constructor({ format, quote, escape: escaping, encoding }: CopyDialect) {
    this.#isCsv = format === 'csv'
    this.#quote = this.#isCsv ? quote.charCodeAt(0) : -1
    this.#escape = this.#isCsv ? (escaping === quote ? -1 : escaping.charCodeAt(0)) : BACKSLASH
    this.#charLength = wideEncodings.get(encodingKey(encoding))
    this.#kinds = kindsOf([LF, CR, this.#quote, this.#escape], this.#charLength !== undefined)
  }

  get lineEnd(): LineEnd | undefined {
    return this.#lineEnd
  }

  /** The data ends within quotes. */
  get isInQuotes(): boolean {
    return this.#isInQuotes
  }

  /** Forgets what is open: the next byte begins a record. */
  beginRecord(): void {
    this.#isInQuotes = false
  }

  endLine(): void {
    this.lines++
    this.copyLines++
  }

  /**
   * Scans `bytes` from `from` to `to`. `onEnd` gets the place behind each record; false ends the scan. Returns how far it
   * came: less than `to` where a character or a line end may be cut off.
   */
  scan(bytes: Buffer, from: number, to: number, isLast: boolean, onEnd: (end: number) => boolean): number {
    const kinds = this.#kinds
    let at = from
    for (; at < to; at++) {
      const byte = bytes[at]!
      if (kinds[byte] === 0) continue
      if (byte >= 0x80 && this.#charLength) {
        const length = this.#charLength(byte, bytes[at + 1] ?? 0)
        if (at + length > to && !isLast) return at
        at += length - 1
      } else if (byte === this.#quote || byte === this.#escape) {
        const isNextKnown = at + 1 < to || isLast
        if (byte === this.#escape && !isNextKnown) return at
        if (this.#mark(byte, bytes[at + 1])) at++
      } else {
        // Whether LF follows a CR, the next bytes will tell.
        if (byte === CR && at + 1 === to && !isLast) return at
        if (this.#isEnd(bytes, at, to) && !onEnd(at + 1)) return at + 1
      }
    }
    return at
  }

  /** A quote or an escape. True if the next byte means itself. */
  #mark(byte: number, next: number | undefined): boolean {
    if (!this.#isCsv) return true
    if (byte === this.#quote) this.#isInQuotes = !this.#isInQuotes
    else return this.#isInQuotes && (next === this.#quote || next === this.#escape)
    return false
  }

  /** Whether the line end at this place ends a record. */
  #isEnd(bytes: Buffer, at: number, to: number): boolean {
    const isLf = bytes[at] === LF
    if (this.#isInQuotes) {
      if (isLf === (this.#lineEnd !== 'CR')) this.lines++
      if (isLf === (this.#lineEnd === 'LF')) this.copyLines++
      return false
    }
    this.#lineEnd ??= isLf ? 'LF' : at + 1 < to && bytes[at + 1] === LF ? 'CRLF' : 'CR'
    if (isLf ? this.#lineEnd === 'CR' : this.#lineEnd !== 'CR') return false
    this.endLine()
    return true
  }
}

const LF = 10
const CR = 13
const BACKSLASH = 92

/** The bytes to look at. */
function kindsOf(bytes: readonly number[], isWide: boolean): Uint8Array {
  const kinds = new Uint8Array(256)
  if (isWide) kinds.fill(1, 0x80)
  for (const byte of bytes) if (byte >= 0) kinds[byte] = 1
  return kinds
}

type CharLength = (first: number, second: number) => number

/** Encodings in which the second byte of a character may look like a backslash or a letter. */
const wideEncodings: ReadonlyMap<string, CharLength> = new Map<string, CharLength>([
  ...['big5', 'win950', 'windows950', 'gbk', 'win936', 'windows936', 'uhc', 'win949', 'windows949'].map(
    (name) => [name, () => 2] as const,
  ),
  ...['sjis', 'mskanji', 'shiftjis', 'win932', 'windows932', 'shiftjis2004'].map(
    (name) => [name, (first: number) => (first >= 0xa1 && first <= 0xdf ? 1 : 2)] as const,
  ),
  ['johab', (first: number) => (first === 0x8f ? 3 : 2)],
  ['gb18030', (_first: number, second: number) => (second >= 0x30 && second <= 0x39 ? 4 : 2)],
])

/** PostgreSQL ignores case and signs in the name of an encoding. */
export const encodingKey = (name = 'utf8') => name.toLowerCase().replace(/[^a-z0-9]/g, '')
