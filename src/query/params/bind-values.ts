import { type AppError, errors } from '../../errors.ts'
import { ArrayText, containsNul } from './array-text.ts'

/** How to write a JSON array: as JSON itself, or as a PostgreSQL array with this delimiter. */
export type ArraySyntax = 'json' | Readonly<{ delimiter: string; isOfJson: boolean }>

export const plainArray = { delimiter: ',', isOfJson: false } as const satisfies ArraySyntax

type Syntaxes = (types: readonly number[]) => ReadonlyMap<number, ArraySyntax>

/** Returns the function that writes the values once the parameter types are known. */
export function binding(params: readonly string[], syntaxes: Syntaxes) {
  return (types: readonly number[]) => bindValues(params, types, syntaxes)
}

/**
 * Converts the JSON texts of `params` to PostgreSQL's text format. A number keeps all its digits, as it is never
 * parsed. `syntaxes` is called once, with the types of all parameters that get arrays.
 */
function bindValues(
  params: readonly string[],
  types: readonly number[],
  syntaxes: Syntaxes,
): (string | null)[] {
  if (params.length !== types.length) throw wrongCount(params.length, types.length)
  const ofArrays = syntaxes([...new Set(types.filter((_, place) => params[place]![0] === '['))])
  const arrays = new ArrayText(params.reduce((longest, { length }) => Math.max(longest, length), 0))
  return params.map((json, place) => pgValue(json, ofArrays.get(types[place]!), place + 1, arrays))
}

export function wrongCount(given: number, wanted: number): AppError {
  const place = given < wanted ? `$${given + 1} has no value` : `$${wanted + 1} is not in the statement`
  return errors.paramsInvalid(
    `The statement has ${counted(wanted, 'parameter')}, params has ${counted(given, 'value')}: ${place}`,
  )
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

function pgValue(
  json: string,
  syntax: ArraySyntax | undefined,
  place: number,
  arrays: ArrayText,
): string | null {
  switch (json[0]) {
    case 'n':
      return null
    case '"':
      return wellFormed(textOf(json, place), place)
    case '[':
      return syntax === 'json' ? json : wellFormed(arrays.write(json, place, syntax!), place)
    default:
      // true, false, the digits of a number, or an object as it is written.
      return json
  }
}

function textOf(json: string, place: number): string {
  if (!json.includes('\\')) return json.slice(1, -1)
  const text = JSON.parse(json) as string
  if (text.includes('\0')) throw containsNul(place)
  return text
}

/** JSON can contain lone surrogates, which UTF-8 cannot. */
function wellFormed(text: string, place: number): string {
  if (text.isWellFormed()) return text
  throw errors.paramsInvalid(`The parameter $${place} contains half of a surrogate pair`)
}
