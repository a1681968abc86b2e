import { errors } from '../../errors.ts'

/** The delimiter between elements, and whether these are json. */
type ElementSyntax = Readonly<{ delimiter: string; isOfJson: boolean }>

/**
 * Writes JSON arrays in PostgreSQL's array format, in one pass and with little garbage: callers without a key may send
 * long ones. Numbers, `true`, `false` and `null` are copied, as PostgreSQL accepts them in lower case; an object is
 * quoted as it is written.
 */
export class ArrayText {
  /** Every unit becomes at most two. */
  readonly #units: Uint16Array
  #length = 0

  constructor(longest: number) {
    this.#units = new Uint16Array(2 * longest)
  }

  /** Takes valid JSON. The elements of a json array are json, even if they are arrays. */
  write(json: string, place: number, { delimiter, isOfJson }: ElementSyntax): string {
    const between = delimiter.charCodeAt(0)
    this.#length = 0
    let depth = 0
    for (let at = 0; at < json.length; ) {
      const unit = json.charCodeAt(at)
      if (unit === quote) at = this.#string(json, at, place)
      else if (unit === openBrace || (unit === openBracket && isOfJson && depth === 1))
        at = this.#quoted(json, at)
      else {
        if (unit === openBracket && ++depth > maxDimensions) throw tooDeep(place)
        if (unit === closeBracket) depth--
        this.#add(
          unit === comma
            ? between
            : unit === openBracket
              ? openBrace
              : unit === closeBracket
                ? closeBrace
                : unit,
        )
        at++
      }
    }
    return Buffer.from(this.#units.buffer, 0, 2 * this.#length).toString('utf16le')
  }

  /** Both formats have `\"` and `\\`; the other escapes exist only in JSON. Returns where the string ends. */
  #string(json: string, from: number, place: number): number {
    this.#add(quote)
    for (let at = from + 1; ; ) {
      const unit = json.charCodeAt(at)
      if (unit !== backslash) {
        this.#add(unit)
        at++
        if (unit === quote) return at
        continue
      }
      const escaped = unitOf(json, at + 1)
      if (escaped === 0) throw containsNul(place)
      if (escaped === quote || escaped === backslash) this.#add(backslash)
      this.#add(escaped)
      at += json[at + 1] === 'u' ? 6 : 2
    }
  }

  /** An object or an array, as it is written. */
  #quoted(json: string, from: number): number {
    let at = from
    let depth = 0
    let isInString = false
    this.#add(quote)
    do {
      const unit = json.charCodeAt(at++)
      if (unit === quote || unit === backslash) this.#add(backslash)
      this.#add(unit)
      if (unit === quote) isInString = !isInString
      else if (!isInString) {
        if (unit === openBrace || unit === openBracket) depth++
        else if (unit === closeBrace || unit === closeBracket) depth--
      } else if (unit === backslash) {
        const escaped = json.charCodeAt(at++)
        if (escaped === quote || escaped === backslash) this.#add(backslash)
        this.#add(escaped)
      }
    } while (depth > 0)
    this.#add(quote)
    return at
  }

  #add(unit: number): void {
    this.#units[this.#length++] = unit
  }
}

/** The character of a JSON escape. */
function unitOf(json: string, at: number): number {
  const letter = json[at]!
  if (letter === 'u') return Number.parseInt(json.slice(at + 1, at + 5), 16)
  return controls.get(letter) ?? letter.charCodeAt(0)
}

const controls: ReadonlyMap<string, number> = new Map([
  ['b', 8],
  ['t', 9],
  ['n', 10],
  ['f', 12],
  ['r', 13],
])

const [quote, comma, backslash, openBrace, closeBrace, openBracket, closeBracket] = [
  34, 44, 92, 123, 125, 91, 93,
] as const

export const containsNul = (place: number) =>
  errors.paramsInvalid(`The parameter $${place} contains a NUL character`)

const tooDeep = (place: number) =>
  errors.paramsInvalid(`The parameter $${place} is an array of more than ${maxDimensions} dimensions`)

/** PostgreSQL's own limit. */
const maxDimensions = 6
