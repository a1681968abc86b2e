import { tellsForm } from './local-values.ts'
import { ALL_TYPES, BIGINT, COMMA, DOUBLE, NUMERIC, POINT, TEXT_ARRAY } from './type-bits.ts'
import { typesOf } from './value-types.ts'

export type SeenValue = Readonly<{ value: string; line: number }>

/** What the values of a column have in common so far. */
export class SeenColumn {
  types: number
  values = 0
  hasEmpty = false
  hasQuotedEmpty = false
  /** The value after which only text was left, and what the column could be before it. */
  last: (SeenValue & Readonly<{ types: number }>) | undefined
  /** The first value that may stand for NULL, and all the ways it is written. They do not count as values. */
  suspect: SeenValue | undefined
  readonly suspects = new Set<string>()
  /** The first value that is a number or a date only as people write them. */
  local: SeenValue | undefined
  /** A value that has a decimal comma, or a comma between thousands, and cannot have the other. */
  tellsComma = false
  tellsPoint = false
  readonly #encoding: string

  /** Arrays of texts are looked for only in files with tabs: elsewhere `{name}` is more likely a text. */
  constructor(encoding: string, hasTextArrays: boolean) {
    this.#encoding = encoding
    this.types = hasTextArrays ? ALL_TYPES : ALL_TYPES & ~TEXT_ARRAY
  }

  /** The column is text, and no further value can change this. */
  get isSettled(): boolean {
    return this.types === 0
  }

  seeQuoted(bytes: Uint8Array, line: number): void {
    if (bytes.length === 0) this.hasQuotedEmpty = true
    else this.see(bytes, 0, bytes.length, line)
  }

  see(bytes: Uint8Array, start: number, end: number, line: number): void {
    const types = typesOf(bytes, start, end, this.types) & this.types
    if (types === 0 && end - start <= longestSuspect && this.#isSuspect(bytes, start, end, line)) return
    if (types === 0) {
      const value = this.#text(bytes, start, Math.min(end, start + shownBytes))
      this.last = { types: this.values === 0 ? 0 : this.types, line, value }
    } else if ((types & PLAIN_NUMBERS) === 0 && types & LOCAL_NUMBERS)
      this.#seeLocalNumber(this.#text(bytes, start, end), line)
    else if (this.local === undefined && (types & ISO_AND_NUMBERS) === 0)
      this.local = { value: this.#text(bytes, start, Math.min(end, start + shownBytes)), line }
    this.types = types
    this.values++
  }

  #seeLocalNumber(text: string, line: number): void {
    this.local ??= { value: text, line }
    this.tellsComma ||= tellsForm(text, 'comma')
    this.tellsPoint ||= tellsForm(text, 'point')
  }

  #isSuspect(bytes: Uint8Array, start: number, end: number, line: number): boolean {
    const value = this.#text(bytes, start, end)
    if (!nullWords.test(value)) return false
    this.suspect ??= { value, line }
    this.suspects.add(value)
    return true
  }

  #text(bytes: Uint8Array, start: number, end: number): string {
    return new TextDecoder(this.#encoding).decode(bytes.subarray(start, end))
  }
}

const PLAIN_NUMBERS = BIGINT | DOUBLE | NUMERIC
const LOCAL_NUMBERS = (PLAIN_NUMBERS << COMMA) | (PLAIN_NUMBERS << POINT)
/** Bits below those of dates as people write them. */
const ISO_AND_NUMBERS = 0xffff

const shownBytes = 40
const longestSuspect = 10

/** Words and signs that people write where there is no value. */
const nullWords =
  /^(?:#?n\/?a|#n\/a|\(?null\)?|none|nil|unknown|missing|\\n|[-–—?.]+|k\.? ?a\.?|n\.? ?a\.?)$/i
