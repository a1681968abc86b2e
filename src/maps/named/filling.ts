import { errors } from '../../errors.ts'

export type PlaceholderType = 'sql_literal' | 'sql_ident' | 'number' | 'css_color'

/** A value that was checked against its type. */
export type PlacedValue = Readonly<{ type: PlaceholderType; text: string }>

export type PlacedValues = Readonly<Record<string, PlacedValue>>

/** Patterns that match `<%= name %>` of the known names. */
export type Holes = Readonly<{ one: RegExp; all: RegExp; whole: RegExp }>

/** One rendering of a template. It counts what is filled in, and ends before the texts become too long. */
export class Filling {
  /** Undefined: the template has no placeholders. */
  readonly holes: Holes | undefined
  readonly #values: PlacedValues
  #left = mostRendered

  constructor(values: PlacedValues) {
    this.#values = values
    this.holes = holesOf(Object.keys(values))
  }

  /** Counts a text of the template. */
  count(text: string): void {
    this.#take(text.length)
  }

  valueIn(hole: string): PlacedValue {
    return this.#values[/^<%=\s*(\w+)\s*%>$/.exec(hole)![1]!]!
  }

  /** The value of a hole as its place needs it. Also counts what the encoding removes, as reading it takes time. */
  fill(hole: string, encode: (value: PlacedValue) => string): string {
    const value = this.valueIn(hole)
    this.#take(value.text.length - hole.length)
    const encoded = encode(value)
    this.#take(Math.max(0, encoded.length - value.text.length))
    return encoded
  }

  #take(characters: number): void {
    this.#left -= characters
    if (this.#left < 0)
      throw errors.mapInvalid(`The rendered template is longer than ${mostRendered} characters`)
  }
}

/** Characters of all texts of a rendered template. */
const mostRendered = 256 * 1_024

function holesOf(names: readonly string[]): Holes | undefined {
  if (names.length === 0) return undefined
  const source = `<%=\\s*(?:${names.join('|')})\\s*%>`
  return { one: new RegExp(source), all: new RegExp(source, 'g'), whole: new RegExp(`^${source}$`) }
}
