import type { OpenAPIV3_1 as OpenApi } from 'openapi-types'

/** The answers that every operation of an area may give besides its own. */
export function commonAnswers(area: string): OpenApi.ResponsesObject {
  const { error, statuses } = answers[area] ?? { error: 'Error', statuses: [] }
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${error}${status}` }]),
  )
}

type ErrorName = 'Error' | 'KeyError' | 'MapError'

const answers: Readonly<Record<string, Readonly<{ error: ErrorName; statuses: readonly Status[] }>>> = {
  keys: { error: 'KeyError', statuses: [400, 401, 403, 404, 408, 413, 415, 429, 500, 503] },
  jobs: { error: 'Error', statuses: [400, 401, 403, 404, 408, 413, 415, 429, 500, 503] },
  schedules: { error: 'Error', statuses: [400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503] },
  imports: { error: 'Error', statuses: [400, 401, 403, 404, 408, 413, 415, 429, 500, 503] },
  copy: { error: 'Error', statuses: [400, 401, 403, 404, 408, 415, 429, 500, 503] },
  sql: { error: 'Error', statuses: [400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503] },
  tables: { error: 'Error', statuses: [400, 401, 403, 404, 500, 503] },
  maps: { error: 'MapError', statuses: [400, 401, 403, 404, 429, 500, 503] },
  accounts: { error: 'Error', statuses: [401, 500, 503] },
  admin: { error: 'Error', statuses: [400, 401, 404, 408, 409, 413, 415, 422, 500, 503] },
}

const meanings = {
  400: 'The request is not valid, or PostgreSQL reports an error in the SQL',
  401: 'The credential is missing or wrong',
  403: 'The key does not allow this',
  404: 'There is no such account, or it has nothing with this name',
  408: 'The client took too long to send its request',
  409: 'The name is taken, or the state of the account does not allow this',
  413: 'The body is too large',
  415: 'The type or encoding of the body is not supported',
  422: 'A member of the body is not valid',
  429: 'Too many requests, too many copies at once, or a statement that took too long',
  500: 'An error of the service; its log has more under the request id',
  503: 'The database is not reachable or has no connection free, or the service is stopping: try again',
} as const
type Status = keyof typeof meanings

const whole = { type: 'integer' } as const
const headers: Partial<Record<Status, Record<string, OpenApi.HeaderObject>>> = {
  401: {
    'WWW-Authenticate': {
      schema: { type: 'string' },
      description: 'Basic realm="Cartage"; for browsers a scheme that opens no password dialog',
    },
  },
  429: {
    'Retry-After': { schema: whole, description: 'Seconds until the next request is allowed' },
    'Carto-Rate-Limit-Limit': { schema: whole, description: 'Size of the burst' },
    'Carto-Rate-Limit-Remaining': { schema: whole, description: 'Requests left of the burst' },
    'Carto-Rate-Limit-Reset': { schema: whole, description: 'Seconds until the burst is full again' },
  },
  503: { 'Retry-After': { schema: whole, description: 'Seconds' } },
}

const errorSchemas: Record<ErrorName, OpenApi.SchemaObject> = {
  Error: {
    type: 'object',
    required: ['error', 'code'],
    properties: {
      error: {
        type: 'array',
        items: { type: 'string' },
        description: 'What happened; the first text counts',
      },
      code: { type: 'string', description: 'From the list in docs/errors.md; never changes' },
      sqlstate: { type: 'string', pattern: '^[0-9A-Z]{5}$', description: 'If PostgreSQL gave one' },
      detail: { type: 'string' },
      hint: { type: 'string' },
      context: { type: 'string', description: '`limit` if a limit was reached' },
      position: { type: 'integer', description: 'Character of the SQL' },
    },
    examples: [{ error: ['relation "t" does not exist'], code: 'database', sqlstate: '42P01', position: 15 }],
  },
  KeyError: {
    type: 'object',
    required: ['errors', 'errors_cause'],
    properties: { errors: { type: 'string' }, errors_cause: { type: 'null' } },
    examples: [{ errors: 'API key not found: k', errors_cause: null }],
  },
  MapError: {
    type: 'object',
    required: ['errors', 'errors_with_context'],
    properties: {
      errors: { type: 'array', items: { type: 'string' } },
      errors_with_context: {
        type: 'array',
        items: {
          type: 'object',
          required: ['type', 'message'],
          properties: {
            type: { enum: ['auth', 'layer', 'mapconfig', 'tile', 'dataview', 'limit', 'unknown'] },
            subtype: { type: 'string', description: 'Of a limit: `datasource`, `rate-limit` or `size`' },
            message: { type: 'string' },
          },
        },
      },
      code: { type: 'string', description: 'From the list in docs/errors.md; never changes' },
    },
  },
}

export const components: OpenApi.ComponentsObject = {
  securitySchemes: {
    ApiKeyHTTPBasicAuth: {
      type: 'http',
      scheme: 'basic',
      description: 'The user name, and the token of an API key as the password',
    },
    ApiKeyQueryParam: {
      type: 'apiKey',
      in: 'query',
      name: 'api_key',
      description: 'The token of an API key',
    },
    AdminToken: { type: 'http', scheme: 'bearer', description: 'CARTAGE_ADMIN_TOKEN' },
  },
  schemas: errorSchemas,
  responses: Object.fromEntries(
    (Object.keys(errorSchemas) as ErrorName[]).flatMap((name) =>
      (Object.keys(meanings) as unknown as Status[]).map((status) => [
        `${name}${status}`,
        errorAnswer(name, status),
      ]),
    ),
  ),
}

function errorAnswer(name: ErrorName, status: Status): OpenApi.ResponseObject {
  return {
    description: meanings[status],
    ...(headers[status] && { headers: headers[status] }),
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
  }
}
