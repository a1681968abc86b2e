import { type QueryParams, type QueryParamType, queryParamSqlTypes } from '../contract/saved-queries.ts'
import { errors } from '../errors.ts'
import { fillParameters, namedParameters } from '../sql/named-parameters.ts'

/** A value of a request: a text of a query string or a form, or JSON as it is written. */
export type GivenValue = Readonly<{ text: string } | { json: string }>

/** The statement with `$1`, `$2`, ... in the order of `params`, or with nulls of their types. */
export function statementOf(sql: string, params: QueryParams, write: 'places' | 'nulls'): string {
  const named = namedParameters(sql)
  if (!named.ok) throw errors.queryInvalid(named.message)
  const names = Object.keys(params)
  return fillParameters(named, (name) => {
    const value = write === 'nulls' ? 'null' : `$${names.indexOf(name) + 1}`
    return `(${value}::${queryParamSqlTypes[params[name]!.type]})`
  })
}

/** The values in the order of `params`, each as the SQL endpoint takes it: JSON text. Throws on one that is missing or unknown. */
export function valuesOf(params: QueryParams, given: ReadonlyMap<string, GivenValue>): readonly string[] {
  for (const name of given.keys())
    if (!Object.hasOwn(params, name))
      throw errors.queryValueInvalid(`The query has no parameter '${name.slice(0, 100)}'`)
  return Object.entries(params).map(([name, { type, default: value, required: isRequired }]) => {
    const one = given.get(name)
    if (one !== undefined && !isAbsent(one, type)) return readValue(name, type, one)
    if (isRequired) throw errors.queryValueInvalid(`The parameter '${name}' of the query is missing`)
    return value === undefined ? 'null' : encoded(type, JSON.stringify(value))
  })
}

/** Only a text can be empty. */
const isAbsent = (given: GivenValue, type: QueryParamType) =>
  'text' in given && given.text === '' && type !== 'text'

function readValue(name: string, type: QueryParamType, given: GivenValue): string {
  const json = 'json' in given ? given.json : jsonOf(type, given.text)
  if (json !== undefined && isFitting(type, json)) return encoded(type, json)
  const wanted = isArray(type)
    ? `must be an array of JSON with values of the type ${type.slice(0, -2)}`
    : `must be a value of the type ${type}`
  throw errors.queryValueInvalid(`The parameter '${name}' ${wanted}`)
}

/** Undefined if the text is not JSON and must be. */
function jsonOf(type: QueryParamType, text: string): string | undefined {
  if (type !== 'json' && !isArray(type)) return JSON.stringify(text)
  try {
    JSON.parse(text)
    return text.trim()
  } catch {
    return undefined
  }
}

/** Whether JSON of this kind can be a value of the type. PostgreSQL reads the value itself. */
export function isFitting(type: QueryParamType, json: string): boolean {
  if (json === 'null' || type === 'json') return true
  return isArray(type) ? json.startsWith('[') : !/^[[{]/.test(json)
}

const isArray = (type: QueryParamType) => type.endsWith('[]')

/** JSON is sent as the text that it is. */
const encoded = (type: QueryParamType, json: string) =>
  type === 'json' && json !== 'null' ? JSON.stringify(json) : json

/** PostgreSQL reads these as the time of the statement. */
export const hasMovingTime = (params: QueryParams, values: readonly string[]) =>
  Object.values(params).some(
    ({ type }, index) =>
      /^(date|timestamp)/.test(type) && /now|today|tomorrow|yesterday/i.test(values[index]!),
  )
