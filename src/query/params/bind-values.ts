import { type AppError, errors } from '../../errors.ts'
import { ArrayText, containsNul } from './array-text.ts'

/** What an array of JSON becomes: the JSON itself, or an array of PostgreSQL, in which this stands between elements. */
export type ArraySyntax = 'json' | Readonly<{ delimiter: string; isOfJson: boolean }>

export const plainArray = { delimiter: ',', isOfJson: false } as const satisfies ArraySyntax

type Syntaxes = (types: readonly number[]) => ReadonlyMap<number, ArraySyntax>

/** Answers how to write the values once the types of the parameters are known. */
export function binding(params: readonly string[], syntaxes: Syntaxes) {
  return (types: readonly number[]) => bindValues(params, types, syntaxes)
}

/**
 * The values of `params`, each as its JSON text, in the way PostgreSQL reads them. A number keeps its digits, because
 * it is never read here. `syntaxes` is asked once, for the types of all parameters that get arrays.
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
      // true, false, the digits of a number, an object as it is written.
      return json
  }
}

function textOf(json: string, place: number): string {
  if (!json.includes('\\')) return json.slice(1, -1)
  const text = JSON.parse(json) as string
  if (text.includes('\0')) throw containsNul(place)
  return text
}

/** JSON can write halves of characters, which no UTF-8 has. */
function wellFormed(text: string, place: number): string {
  if (text.isWellFormed()) return text
  throw errors.paramsInvalid(`The parameter $${place} contains half of a surrogate pair`)
}
