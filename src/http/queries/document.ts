import type { QueryParam, QueryParamType, SavedQueryDocument } from '../../contract/saved-queries.ts'
import { readVersion } from '../../files/package-file.ts'
import type { SavedQuery } from '../../saved-queries/saved-query-store.ts'
import { rowsParameters, rowsResponse } from './schemas.ts'

export function queryDocument(query: SavedQuery): SavedQueryDocument {
  const { name, sql, description, params, isPublic, chart, createdAt, updatedAt } = query
  return {
    name,
    sql,
    description,
    params,
    public: isPublic,
    ...(chart && { chart }),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  }
}

/** The OpenAPI description of the queries of an account. Their SQL is not in it. */
export function openapiOfQueries(username: string, url: string, queries: readonly SavedQuery[]): object {
  return {
    openapi: '3.1.0',
    info: { title: `Saved queries of ${username}`, version: readVersion() },
    servers: [{ url }],
    security: [{ ApiKeyHTTPBasicAuth: [] }, { ApiKeyQueryParam: [] }],
    components: {
      securitySchemes: {
        ApiKeyHTTPBasicAuth: { type: 'http', scheme: 'basic' },
        ApiKeyQueryParam: { type: 'apiKey', in: 'query', name: 'api_key' },
      },
    },
    paths: Object.fromEntries(
      queries.map((query) => [`/api/v4/queries/${encodeURIComponent(query.name)}/rows`, pathOf(query)]),
    ),
  }
}

function pathOf({ name, description, params, isPublic }: SavedQuery): object {
  const own = Object.entries(params)
  const { api_key: _key, ...options } = rowsParameters
  const described = {
    summary: name,
    ...(description && { description }),
    ...(isPublic && { security: [{ ApiKeyHTTPBasicAuth: [] }, { ApiKeyQueryParam: [] }, {}] }),
    responses: rowsResponse,
  }
  const parameters = [
    ...own.map(([param, of]) => ({ name: param, in: 'query', required: of.required, ...inQueryString(of) })),
    ...Object.entries(options).map(([option, schema]) => ({ name: option, in: 'query', schema })),
  ]
  const required = own.filter(([, of]) => of.required).map(([param]) => param)
  const properties = { ...Object.fromEntries(own.map(([param, of]) => [param, schemaOf(of)])), ...options }
  const schema = { type: 'object', ...(required.length > 0 && { required }), properties }
  return {
    get: { operationId: `get_${name}`, parameters, ...described },
    post: {
      operationId: `post_${name}`,
      requestBody: { content: { 'application/json': { schema } } },
      ...described,
    },
  }
}

/** In an address, arrays and json are written as JSON. */
function inQueryString(param: QueryParam): object {
  const schema = schemaOf(param)
  const isJson = param.type === 'json' || param.type.endsWith('[]')
  return isJson ? { content: { 'application/json': { schema } } } : { schema }
}

function schemaOf({ type, default: value }: QueryParam): object {
  const element = type.replace('[]', '') as QueryParamType
  const schema = type === element ? schemas[element] : { type: 'array', items: schemas[element] }
  return { ...schema, ...(value !== undefined && { default: value }) }
}

const schemas: Readonly<Partial<Record<QueryParamType, object>>> = {
  text: { type: 'string' },
  integer: { type: 'integer', format: 'int32' },
  bigint: { type: 'integer', format: 'int64' },
  numeric: { type: 'number' },
  double: { type: 'number', format: 'double' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  timestamp: { type: 'string' },
  timestamptz: { type: 'string', format: 'date-time' },
  uuid: { type: 'string', format: 'uuid' },
  json: {},
  geometry: { type: 'string', description: 'WKT, EWKT, hexadecimal WKB or GeoJSON' },
}
