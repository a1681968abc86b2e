import type { FastifyRequest } from 'fastify'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { type AppError, errors } from '../../errors.ts'

/** A time with its zone, in UTC; undefined if it is none. */
export function zonedTime(value: unknown): string | undefined {
  const written = typeof value === 'string' ? /^(\d{4}-\d\d-\d\d)T.*(Z|[+-]\d\d:?\d\d)$/.exec(value) : null
  const time = written && isoOf(written[0])
  // In the zone of the service a year may become another one, and JavaScript takes 31 February for 3 March.
  const isReal =
    time && /^(?!0000)\d{4}-/.test(time) && isoOf(`${written[1]}T00:00:00Z`)?.startsWith(written[1]!)
  return isReal ? time : undefined
}

function isoOf(text: string): string | undefined {
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

/** Named values from a client, not yet checked. */
export type Parameters = Readonly<Record<string, unknown>>

/** The query string of a route, as Fastify's types want it. */
export type WithQuery = { Querystring: Parameters }

/**
 * Limit for everything besides the SQL, in encoded form. Reading a text of this length must not block other requests,
 * whatever it contains.
 */
export const maxParamsLength = 512 * 1024

/** Query string and body together; the SQL and its values may be in only one of them. */
export function parametersOf({ query, body }: FastifyRequest): Parameters {
  const inQuery = query as Parameters
  if (body === undefined || body === null) return inQuery
  if (!isJsonObject(body)) throw errors.badRequest('The body must be an object with the parameters')
  const twice = ['q', 'params'].find((name) => Object.hasOwn(inQuery, name) && Object.hasOwn(body, name))
  if (twice !== undefined) throw givenTwice(twice)
  return { ...inQuery, ...body }
}

/** For endpoints where an empty parameter counts as absent. */
export function withoutEmpty(parameters: Parameters): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => !isEmpty(value)))
}

export const unlessEmpty = (value: unknown) => (isEmpty(value) ? undefined : value)

const isEmpty = (value: unknown) => value === '' || value === null

export function textOf(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name]
  if (value === undefined || typeof value === 'string') return value
  throw Array.isArray(value) ? givenTwice(name) : errors.badRequest(`The parameter ${name} must be text`)
}

/** The name of a download. */
export function filenameOf(parameters: Parameters): string | undefined {
  const name = textOf(parameters, 'filename')
  if (name === undefined || name.length <= maxFilenameLength) return name
  throw errors.badRequest(`Invalid filename: it must have at most ${maxFilenameLength} characters`)
}

export const maxFilenameLength = 255

export const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

/** From a form or a query string as digits, from JSON also as a number. */
export function wholeOf(parameters: Parameters, name: string, min: number, max: number): number | undefined {
  const value = parameters[name]
  const text = typeof value === 'number' ? String(value) : textOf(parameters, name)
  if (text === undefined) return undefined
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw errors.badRequest(`Invalid ${name}: it must be a whole number from ${min} to ${max}`)
}

export function choiceOf<T extends string>(
  parameters: Parameters,
  name: string,
  choices: readonly T[],
): T | undefined {
  const text = textOf(parameters, name)
  if (text === undefined) return undefined
  const found = choices.find((choice) => choice === text)
  if (found !== undefined) return found
  throw errors.badRequest(`Invalid ${name}: it must be one of ${choices.join(', ')}`)
}

export function givenTwice(name: string): AppError {
  return errors.badRequest(`The parameter ${name} is given more than once`)
}

export function isJsonArray(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text))
  } catch {
    return false
  }
}
