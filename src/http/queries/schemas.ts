import {
  chartAggregates,
  chartKinds,
  chartOrders,
  maxChartName,
  maxChartValues,
} from '../../contract/charts.ts'
import { maxQueryDescription, queryNameRule, queryParamTypes } from '../../contract/saved-queries.ts'
import {
  accountName,
  accountParams,
  answered,
  keySecurity,
  knownExtras,
  text,
} from '../middleware/schemas.ts'
import { parameters, responses } from '../query/schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const tags = ['sql']

const queryParams = {
  type: 'object',
  properties: { ...accountName, query: text(`The name of the query: ${queryNameRule}`) },
} as const

const param = {
  type: { type: 'string', enum: queryParamTypes, default: 'text' },
  default: { description: 'The value if a request has none; else it is null' },
  required: { type: 'boolean', default: false },
} as const

const columnName = { type: 'string', minLength: 1, maxLength: maxChartName } as const

const chart = {
  title: 'Chart',
  type: 'object',
  required: ['kind', 'x'],
  additionalProperties: false,
  properties: {
    kind: { type: 'string', enum: chartKinds },
    x: { ...columnName, description: 'A column of names, times or numbers' },
    y: {
      type: 'array',
      items: columnName,
      maxItems: maxChartValues,
      uniqueItems: true,
      description: 'Columns of numbers. Without one, rows are counted',
    },
    series: { ...columnName, description: 'A column that splits the rows into series, one for each value' },
    aggregate: {
      type: 'string',
      enum: chartAggregates,
      description:
        'What is drawn of the rows with one x. `none` draws each row: lines, areas and scatter only, and the default there; else `sum`, without y `count`',
    },
    order: { type: 'string', enum: chartOrders, description: 'Of names on the x axis' },
  },
  description: 'How a page draws the rows',
} as const

const definition = {
  sql: text('One SELECT with `:name` parameters. It may not write, not even in a WITH'),
  description: { type: 'string', maxLength: maxQueryDescription },
  params: {
    type: 'object',
    additionalProperties: { type: 'object', properties: param },
    description: 'By name. A parameter of the SQL that is not here is a required text',
  },
  public: { type: 'boolean', default: false, description: 'Whether callers without a key may run it' },
  chart,
} as const

const document = {
  title: 'SavedQuery',
  ...answered(
    {
      name: { type: 'string' },
      sql: { type: 'string' },
      description: { type: 'string' },
      params: {
        type: 'object',
        additionalProperties: {
          type: 'object',
          required: ['type', 'required'],
          properties: { type: param.type, default: {}, required: { type: 'boolean' } },
        },
      },
      public: { type: 'boolean' },
      chart,
      created_at: { type: 'string', format: 'date-time' },
      updated_at: { type: 'string', format: 'date-time' },
    },
    ['chart'],
  ),
} as const

export const saveQuerySchema = {
  tags,
  security: keySecurity,
  summary: 'Save a query',
  description: 'PostgreSQL plans it first: what cannot run is refused. Needs the master key.',
  params: queryParams,
  body: {
    type: 'object',
    required: ['sql'],
    properties: { ...definition, ...knownExtras },
    examples: [
      {
        sql: 'select name, population from cities where country = :country order by 2 desc limit :most',
        params: { country: { required: true }, most: { type: 'integer', default: 10 } },
      },
    ],
  },
  response: {
    200: { description: 'It was replaced', ...document },
    201: { description: 'It was made', ...document },
  },
} as const

export const listQueriesSchema = {
  tags,
  security: keySecurity,
  summary: 'List saved queries',
  description: 'By name. Needs the master key.',
  params: accountParams,
  response: {
    200: { description: 'All of the account', ...answered({ queries: { type: 'array', items: document } }) },
  },
} as const

export const readQuerySchema = {
  tags,
  security: keySecurity,
  summary: 'Read a saved query',
  description: 'With its SQL. Needs the master key.',
  params: queryParams,
  response: { 200: { description: 'The query', ...document } },
} as const

export const deleteQuerySchema = {
  tags,
  security: keySecurity,
  summary: 'Delete a saved query',
  description: 'Needs the master key.',
  params: queryParams,
  response: { 204: { description: 'It is gone', type: 'null' } },
} as const

const { q: _q, params: _params, ...options } = parameters
export const rowsParameters = options

export const rowsResponse = {
  200: { description: responses[200].description, content: responses[200].content },
  304: { description: 'The client has these rows already (`If-None-Match`)' },
  400: { description: 'A value is missing, unknown or wrong' },
  404: { description: 'There is no such query' },
  429: { description: 'The statement took too long, or there were too many requests' },
}

const rows = {
  tags,
  summary: 'Run a saved query',
  description:
    'Runs as the role of the key; without a key a public query runs as the public role of the account. Takes the values of the parameters by their names, besides those of the SQL endpoint. Values are bound, never part of the SQL.',
  params: queryParams,
} as const

export const runQueryByGetSchema = {
  ...rows,
  querystring: { type: 'object', properties: options, additionalProperties: { type: 'string' } },
  response: { ...responses, 304: rowsResponse[304] },
}

export const runQuerySchema = {
  ...rows,
  consumes: ['application/json', 'application/x-www-form-urlencoded'],
  body: { type: 'object', properties: options, additionalProperties: true },
  response: responses,
}

export const describeQueriesSchema = {
  tags,
  summary: 'The OpenAPI description of the saved queries',
  description: 'Without their SQL. Callers without a key see the public ones.',
  params: accountParams,
  response: { 200: { description: 'OpenAPI 3.1', type: 'object', additionalProperties: true } },
} as const
