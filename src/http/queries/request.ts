import type { FastifyRequest } from 'fastify'
import { rowsOptions } from '../../contract/saved-queries.ts'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { membersOf } from '../../contract/text/json-rows.ts'
import { errors } from '../../errors.ts'
import type { GivenValue } from '../../saved-queries/parameter-values.ts'
import type { RowsOptions } from '../../saved-queries/saved-queries.ts'
import { textOfBody } from '../middleware/body/body.ts'
import { givenTwice, type Parameters, unlessEmpty } from '../middleware/parameters.ts'
import { rowsOptionsOf } from '../query/request.ts'

export type RowsRequest = Readonly<{ options: RowsOptions; given: ReadonlyMap<string, GivenValue> }>

/** Reads the values of parameters, and how the rows are wanted, from the query string and the body. */
export function readRowsRequest({ query, body }: FastifyRequest): RowsRequest {
  const inQuery = query as Parameters
  const inBody = body === undefined || body === null ? {} : body
  if (!isJsonObject(inBody)) throw errors.badRequest('The body must be an object with the parameters')
  const twice = Object.keys(inQuery).find((name) => Object.hasOwn(inBody, name))
  if (twice !== undefined) throw givenTwice(twice.slice(0, 100))
  const all: Parameters = { ...inQuery, ...inBody }
  const options = rowsOptionsOf(Object.fromEntries(rowsOptions.map((name) => [name, unlessEmpty(all[name])])))
  const given = new Map<string, GivenValue>()
  for (const [name, value] of Object.entries(inQuery)) add(given, name, asText(name, value))
  const bodyJson = textOfBody(inBody)
  const members = bodyJson === undefined ? Object.entries(inBody) : membersOf(bodyJson)
  for (const [name, value] of members)
    add(given, name, bodyJson === undefined ? asText(name, value) : { json: value as string })
  return { options, given }
}

function add(given: Map<string, GivenValue>, name: string, value: GivenValue): void {
  if (others.includes(name)) return
  if (given.has(name)) throw givenTwice(name.slice(0, 100))
  given.set(name, value)
}

const others: readonly string[] = [...rowsOptions, 'api_key', 'map_key', 'client']

function asText(name: string, value: unknown): GivenValue {
  if (typeof value !== 'string') throw givenTwice(name.slice(0, 100))
  // Bytes that are not UTF-8 have become this: a bad value must not turn into another one.
  if (value.includes('\ufffd'))
    throw errors.queryValueInvalid(`The parameter '${name.slice(0, 100)}' is not valid UTF-8`)
  return { text: value }
}
