import { sortOrders } from '../../contract/formats.ts'
import {
  defaultPerPage,
  longestWaitSeconds,
  maxIdempotencyKeyLength,
  maxPerPage,
} from '../../contract/limits.ts'

/** What the descriptions of several endpoints have in common. */

export const text = (description: string) => ({ type: 'string', description })

/** The parameter of every path that belongs to an account. */
export const accountName = { name: text('User, or organization') } as const
/** The parameters of a path that has no other. */
export const accountParams = { type: 'object', properties: accountName } as const

/** A key is needed. */
export const keySecurity: Record<string, string[]>[] = [{ ApiKeyHTTPBasicAuth: [] }, { ApiKeyQueryParam: [] }]

/** An object of an answer: it has all of these members, but maybe not the optional ones. */
export function answered<P extends Readonly<Record<string, unknown>>>(
  properties: P,
  optional: readonly (keyof P)[] = [],
) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', required, properties } as const
}

/** The parameters of a list that comes in pages. */
export const paging = {
  page: { type: 'integer', minimum: 1, default: 1 },
  per_page: { type: 'integer', minimum: 1, maximum: maxPerPage, default: defaultPerPage },
  order_direction: { type: 'string', enum: sortOrders },
} as const

const link = answered({ href: { type: 'string' } })

/** To other pages of a list. */
export const pageLinks = answered({ first: link, last: link, prev: link, next: link }, [
  'first',
  'last',
  'prev',
  'next',
])

export const apiKey = text(
  'The token of an API key, unless it comes as the password of HTTP Basic authentication.',
)

export const error = {
  title: 'Error',
  type: 'object',
  properties: {
    error: { type: 'array', items: { type: 'string' } },
    code: { type: 'string' },
    sqlstate: { type: 'string' },
    detail: { type: 'string' },
    hint: { type: 'string' },
    context: { type: 'string' },
    position: { type: 'integer' },
    limit: text('The time limit that was reached, with the variable that sets it.'),
  },
}

/** The headers of an endpoint that calls `readIdempotencyKey`. */
export const idempotencyHeaders = (description: string) =>
  ({
    type: 'object',
    properties: { 'idempotency-key': { type: 'string', maxLength: maxIdempotencyKeyLength, description } },
  }) as const

/** The query of an endpoint whose answer may wait for the end of `what`. */
export const waitQuery = (what: string) =>
  ({
    type: 'object',
    properties: {
      wait: {
        type: 'number',
        minimum: 0,
        maximum: longestWaitSeconds,
        description: `Seconds to wait for the end of ${what} before the answer`,
      },
    },
  }) as const

/** The headers of an endpoint that calls `refuseRepeated`. */
export const onceHeaders = idempotencyHeaders(
  'A new value for each request. The request runs at most once, even if a browser or a proxy sends it again. Without an API key the header has no effect.',
)

export const repeated = 'A request with this Idempotency-Key has arrived before.'

/** Old clients put both into every body: used or ignored, never stored, never shown again. */
export const knownExtras = {
  api_key: { description: 'A credential, if there is no Basic header and no query parameter' },
  client: { description: 'What the client calls itself. Ignored.' },
} as const
