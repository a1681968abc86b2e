/**
 * Finds the rows in an answer of the SQL endpoint while it arrives, without reading what is in them. Positions are in
 * bytes from the beginning of the answer: row n lies from `starts(n)` to `ends(n)`, its braces included.
 */
export class RowScanner {
  /** How many rows are complete. */
  count = 0
  /** Where what follows the rows begins; undefined while they still come. */
  tailStart: number | undefined
  #starts = new Float64Array(1024)
  #lengths = new Uint32Array(1024)
  #at = 0
  #depth = 0
  #isInString = false
  #isEscaped = false
  #rowStart = 0

  start(row: number): number {
    return this.#starts[row]!
  }

  end(row: number): number {
    return this.#starts[row]! + this.#lengths[row]!
  }

  /** Looks through the next bytes. Nothing is kept of them. */
  feed(bytes: Uint8Array): void {
    if (this.tailStart === undefined) this.#scan(bytes)
    this.#at += bytes.length
  }

  #scan(bytes: Uint8Array): void {
    const base = this.#at
    for (let at = 0; at < bytes.length; at++) {
      if (this.#isInString) {
        at = this.#skipString(bytes, at)
        continue
      }
      const byte = bytes[at]!
      if (byte === quote) this.#isInString = true
      else if (byte === openBrace || byte === openBracket) {
        if (this.#depth === depthOfRows) this.#rowStart = base + at
        this.#depth++
      } else if (byte === closeBrace || byte === closeBracket) {
        this.#depth--
        if (this.#depth === depthOfRows) this.#addRow(base + at + 1)
        else if (this.#depth === 1) {
          this.tailStart = base + at + 1
          return
        }
      }
    }
  }

  /** Answers the place of the last byte that belongs to the string, or of the last byte that there is. */
  #skipString(bytes: Uint8Array, from: number): number {
    let at = from
    if (this.#isEscaped) {
      this.#isEscaped = false
      at++
    }
    for (; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === quote) {
        this.#isInString = false
        return at
      }
      if (byte !== backslash) continue
      at++
      this.#isEscaped = at === bytes.length
    }
    return at
  }

  #addRow(end: number): void {
    if (this.count === this.#starts.length) this.#grow()
    this.#starts[this.count] = this.#rowStart
    this.#lengths[this.count] = end - this.#rowStart
    this.count++
  }

  #grow(): void {
    const starts = new Float64Array(this.count * 2)
    const lengths = new Uint32Array(this.count * 2)
    starts.set(this.#starts)
    lengths.set(this.#lengths)
    this.#starts = starts
    this.#lengths = lengths
  }
}

/** `{"rows":[` has opened two. */
const depthOfRows = 2

const [quote, comma, backslash, openBrace, closeBrace, openBracket, closeBracket] = [
  34, 44, 92, 123, 125, 91, 93,
] as const

/** A member of an object: its name, and its value as it is written, digit by digit. */
export type RawMember = readonly [name: string, value: string]

/** The members of an object in the order in which they are written. (JSON.parse puts a member named `1` first, and rounds.) */
export function membersOf(text: string): RawMember[] {
  return Array.from(memberPlaces(text), ({ name, start, end }) => [name, text.slice(start, end)])
}

/** Where the value of each member is written, of the object at `begin`. Of a text that is not JSON, those before the mistake. */
export function* memberPlaces(
  text: string,
  begin = 0,
): Generator<{ name: string; start: number; end: number }> {
  let at = skipSpace(text, begin + 1)
  while (text[at] === '"') {
    const nameEnd = valueEnd(text, at)
    const name = stringOf(text.slice(at, nameEnd))
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = valueEnd(text, start)
    yield { name, start, end }
    at = skipSpace(text, end)
    if (text[at] !== ',') break
    at = skipSpace(text, at + 1)
  }
}

/** The elements of an array as they are written. */
export function* elementsOf(text: string): Generator<string> {
  let at = skipSpace(text, 1)
  while (at < text.length && text[at] !== ']') {
    const end = valueEnd(text, at)
    yield text.slice(at, end)
    at = skipSpace(text, end)
    if (text[at] !== ',') break
    at = skipSpace(text, at + 1)
  }
}

/** A value as people read it: null, the content of a string, anything else as it is written. */
export function shownValue(raw: string): string | null {
  if (raw === 'null') return null
  return raw.startsWith('"') ? stringOf(raw) : raw
}

function stringOf(raw: string): string {
  return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) <= 32) at++
  return at
}

function valueEnd(text: string, from: number): number {
  const first = text.charCodeAt(from)
  if (first === quote) return stringEnd(text, from)
  if (first !== openBrace && first !== openBracket) return wordEnd(text, from)
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) at = stringEnd(text, at) - 1
    else if (unit === openBrace || unit === openBracket) depth++
    else if ((unit === closeBrace || unit === closeBracket) && --depth === 0) return at + 1
  }
  return text.length
}

/** Where a number, true, false or null ends. */
function wordEnd(text: string, from: number): number {
  let at = from
  while (at < text.length) {
    const unit = text.charCodeAt(at)
    if (unit <= 32 || unit === comma || unit === closeBrace || unit === closeBracket) break
    at++
  }
  return at
}

function stringEnd(text: string, from: number): number {
  let at = from + 1
  while (at < text.length) {
    const unit = text.charCodeAt(at)
    if (unit === quote) break
    at += unit === backslash ? 2 : 1
  }
  return at + 1
}

/** JSON.parse always keeps this many digits of a number. */
export const keptDigits = 15

/** Counts the digits of a JSON number, without its exponent and leading zeros. */
export function significantDigits(json: string): number {
  return json
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '').length
}
