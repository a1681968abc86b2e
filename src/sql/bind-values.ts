import { errors } from '../errors.ts'
import { ArrayText, containsNul } from './array-text.ts'

/**
 * The values of `params`, each as its JSON text, in the way PostgreSQL reads them. A number keeps its digits, because
 * it is never read here. An array is an array of PostgreSQL, unless its parameter is json.
 */
export function bindValues(params: readonly string[], types: readonly number[]): (string | null)[] {
  if (params.length !== types.length) throw errors.paramsInvalid(wrongCount(params.length, types.length))
  const arrays = new ArrayText(params.reduce((longest, { length }) => Math.max(longest, length), 0))
  return params.map((json, place) => pgValue(json, types[place]!, place + 1, arrays))
}

function wrongCount(given: number, wanted: number): string {
  const place = given < wanted ? `$${given + 1} has no value` : `$${wanted + 1} is not in the statement`
  return `The statement has ${counted(wanted, 'parameter')}, params has ${counted(given, 'value')}: ${place}`
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

function pgValue(json: string, type: number, place: number, arrays: ArrayText): string | null {
  switch (json[0]) {
    case 'n':
      return null
    case '"':
      return wellFormed(textOf(json, place), place)
    case '[':
      return isJson.has(type) ? json : wellFormed(arrays.write(json, place, isArrayOfJson.has(type)), place)
    default:
      // true, false, the digits of a number, an object as it is written.
      return json
  }
}

const isJson: ReadonlySet<number> = new Set([114, 3802])
const isArrayOfJson: ReadonlySet<number> = new Set([199, 3807])

function textOf(json: string, place: number): string {
  if (!json.includes('\\')) return json.slice(1, -1)
  const text = JSON.parse(json) as string
  if (text.includes('\0')) throw containsNul(place)
  return text
}

/** JSON can write halves of characters, which no UTF-8 has. */
function wellFormed(text: string, place: number): string {
  if (!/\p{Surrogate}/u.test(text)) return text
  throw errors.paramsInvalid(`The parameter $${place} contains half of a surrogate pair`)
}
