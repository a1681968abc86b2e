import { elementsOf } from '../client/json-rows.ts'
import { errors } from '../errors.ts'

/**
 * The values of `params`, each as its JSON text, in the way PostgreSQL reads them. A number keeps its digits, because
 * it is never read here. An array is an array of PostgreSQL, unless its parameter is json.
 */
export function bindValues(params: readonly string[], types: readonly number[]): (string | null)[] {
  if (params.length !== types.length) throw errors.paramsInvalid(wrongCount(params.length, types.length))
  return params.map((json, place) => pgValue(json, types[place]!, `$${place + 1}`))
}

function wrongCount(given: number, wanted: number): string {
  const place = given < wanted ? `$${given + 1} has no value` : `$${wanted + 1} is not in the statement`
  return `The statement has ${counted(wanted, 'parameter')}, params has ${counted(given, 'value')}: ${place}`
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

function pgValue(json: string, type: number, place: string): string | null {
  switch (json[0]) {
    case 'n':
      return null
    case '"':
      return textOf(json, place)
    case '[':
      return isJson.has(type) ? json : arrayOf(json, place, 1)
    default:
      // true, false, the digits of a number, an object as it is written.
      return json
  }
}

const isJson: ReadonlySet<number> = new Set([114, 3802])

function textOf(json: string, place: string): string {
  const text = JSON.parse(json) as string
  if (text.includes('\0')) throw errors.paramsInvalid(`The parameter ${place} contains a NUL character`)
  return text
}

function arrayOf(json: string, place: string, dimension: number): string {
  if (dimension > maxDimensions)
    throw errors.paramsInvalid(`The parameter ${place} is an array of more than ${maxDimensions} dimensions`)
  return `{${[...elementsOf(json)].map((element) => elementOf(element, place, dimension)).join(',')}}`
}

function elementOf(json: string, place: string, dimension: number): string {
  if (json === 'null') return 'NULL'
  if (json.startsWith('[')) return arrayOf(json, place, dimension + 1)
  if (json.startsWith('"')) return quoted(textOf(json, place))
  return json.startsWith('{') ? quoted(json) : json
}

const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

/** PostgreSQL's own limit. */
const maxDimensions = 6
