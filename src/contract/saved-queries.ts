import type { ChartDefinition } from './charts.ts'

/** Queries that callers run by name. */

/** With `/` a name is in a folder. No part is `.` or `..`, which programs would take out of an address. */
export const queryNameRule =
  '1 to 128 letters, digits, dots, hyphens, underscores or slashes, and begin with a letter, a digit or an underscore, also after each slash'
export const isQueryName = (text: string) =>
  text.length <= 128 &&
  /^[A-Za-z0-9_][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/.test(text) &&
  text !== 'openapi.json'

export const queryParamRule =
  '1 to 63 letters, digits or underscores, and begin with a letter or an underscore'
export const isQueryParam = (text: string) => /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(text)

/** Saved queries of one user. */
export const maxSavedQueries = 1_000
/** SQL, descriptions and parameters together. */
export const maxSavedQueryBytes = 4 * 1024 ** 2
/** Characters: longer texts hold the process for too long while they are read. */
export const maxQuerySql = 64 * 1024
export const maxQueryDescription = 4_000
export const maxQueryParams = 100

/** The types of parameters that a filter can set. */
export const filterTypes = [
  'text',
  'integer',
  'bigint',
  'numeric',
  'double',
  'boolean',
  'date',
  'timestamp',
  'timestamptz',
  'uuid',
] as const
export type FilterType = (typeof filterTypes)[number]

/** The types of parameters. `json` is jsonb of PostgreSQL. */
export const queryParamTypes = [
  ...filterTypes,
  'json',
  'geometry',
  'text[]',
  'integer[]',
  'bigint[]',
  'numeric[]',
  'double[]',
  'boolean[]',
  'date[]',
  'uuid[]',
] as const
export type QueryParamType = (typeof queryParamTypes)[number]

/** PostgreSQL's name of each type, which no schema of a tenant can shadow. */
export const queryParamSqlTypes: Readonly<Record<QueryParamType, string>> = {
  text: 'pg_catalog.text',
  integer: 'pg_catalog.int4',
  bigint: 'pg_catalog.int8',
  numeric: 'pg_catalog.numeric',
  double: 'pg_catalog.float8',
  boolean: 'pg_catalog.bool',
  date: 'pg_catalog.date',
  timestamp: 'pg_catalog.timestamp',
  timestamptz: 'pg_catalog.timestamptz',
  uuid: 'pg_catalog.uuid',
  json: 'pg_catalog.jsonb',
  geometry: 'postgis.geometry',
  'text[]': 'pg_catalog.text[]',
  'integer[]': 'pg_catalog.int4[]',
  'bigint[]': 'pg_catalog.int8[]',
  'numeric[]': 'pg_catalog.numeric[]',
  'double[]': 'pg_catalog.float8[]',
  'boolean[]': 'pg_catalog.bool[]',
  'date[]': 'pg_catalog.date[]',
  'uuid[]': 'pg_catalog.uuid[]',
}

/** Parameters of the request itself: a parameter of the query cannot have one of these names. */
export const rowsOptions = [
  'format',
  'rows_per_page',
  'page',
  'order_by',
  'sort_order',
  'skipfields',
  'dp',
  'filename',
  'total',
] as const
export const reservedParams: readonly string[] = [
  ...rowsOptions,
  'api_key',
  'map_key',
  'client',
  'q',
  'params',
]

export type QueryParam = Readonly<{
  type: QueryParamType
  /** A value as in a request. Without one, a parameter that is not required is null. */
  default?: unknown
  required: boolean
}>

export type QueryParams = Readonly<Record<string, QueryParam>>

/** What a client sends to save a query. */
export type QueryDefinition = Readonly<{
  /** One SELECT with `:name` parameters. */
  sql: string
  description?: string | undefined
  /** By name. A parameter of the SQL that is not here is a required text. */
  params?: Readonly<Record<string, Partial<QueryParam>>> | undefined
  /** Whether callers without a key may run it. */
  public?: boolean | undefined
  /** How a page draws the rows. */
  chart?: ChartDefinition | undefined
}>

export type SavedQueryDocument = Readonly<{
  name: string
  sql: string
  description: string
  params: QueryParams
  public: boolean
  /** Only if one was saved. */
  chart?: ChartDefinition
  created_at: string
  updated_at: string
}>

export type SavedQueryList = Readonly<{ queries: readonly SavedQueryDocument[] }>
