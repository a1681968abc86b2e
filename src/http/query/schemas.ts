import { sortOrders, sqlFormats, totals } from '../../contract/formats.ts'
import { defaultDecimals, maxDecimals, maxParams } from '../../contract/limits.ts'
import { maxFilenameLength } from '../middleware/parameters.ts'
import { dataAgeHeader, readFromHeader } from '../middleware/read-from.ts'
import { apiKey, error, onceHeaders, repeated, text } from '../middleware/schemas.ts'

/** Described, not enforced: bad values are refused by readQuery in the words of this API. */
export const parameters = {
  q: text('The SQL: one statement or several, sent to PostgreSQL in one message.'),
  params: text(
    'A JSON array with the values of $1, $2, ... in the SQL, which is a single statement then. In a JSON body the array itself.',
  ),
  format: { type: 'string', enum: sqlFormats, default: 'json' },
  rows_per_page: { type: 'integer', minimum: 0, description: 'Rows of one page.' },
  page: { type: 'integer', minimum: 0, default: 0, description: 'Which page, from 0.' },
  total: {
    type: 'string',
    enum: totals,
    description:
      'With rows_per_page: also count the rows on all pages (exact) or take the estimate of the planner (estimate). In `total` of a JSON answer and in the header X-Total-Rows.',
  },
  order_by: text('The column to order by.'),
  sort_order: { type: 'string', enum: sortOrders, default: 'asc' },
  skipfields: text('Columns to leave out, as a comma list.'),
  dp: {
    type: 'integer',
    minimum: 0,
    maximum: maxDecimals,
    default: defaultDecimals,
    description: 'Decimal digits of GeoJSON coordinates.',
  },
  filename: { ...text('Makes the answer a download of this name.'), maxLength: maxFilenameLength },
  api_key: apiKey,
} as const

const params = {
  type: ['array', 'string'],
  maxItems: maxParams,
  items: { type: ['string', 'number', 'boolean', 'null', 'array', 'object'] },
  description:
    'The values of $1, $2, ... in the SQL, which is a single statement then. An array is an array of PostgreSQL, unless its parameter is json; an object is json. In a form the array is JSON text.',
} as const

const rows = {
  title: 'json',
  type: 'object',
  required: ['rows', 'time', 'fields', 'total_rows'],
  properties: {
    rows: { type: 'array', items: { type: 'object' } },
    time: { type: 'number', description: 'Seconds.' },
    fields: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          type: { type: 'string', enum: ['number', 'string', 'boolean', 'date', 'geometry'] },
          pgtype: { type: 'string' },
        },
      },
    },
    total_rows: { type: 'integer' },
    total: { type: 'integer', description: 'Rows on all pages, if the request has total.' },
    total_kind: { type: 'string', enum: totals },
    notices: { type: 'array', items: { type: 'string' } },
    warnings: { type: 'array', items: { type: 'string' } },
  },
  examples: [
    { rows: [{ n: 1 }], time: 0.001, fields: { n: { type: 'number', pgtype: 'int4' } }, total_rows: 1 },
  ],
}

const features = {
  title: 'geojson',
  type: 'object',
  required: ['type', 'features'],
  properties: {
    type: { const: 'FeatureCollection' },
    features: { type: 'array', items: { type: 'object' } },
  },
}

export const responses = {
  200: {
    description:
      'The rows, in the format asked for. Compressed by Accept-Encoding, unless the answer is small.',
    headers: {
      ...dataAgeHeader,
      'X-Total-Rows': { type: 'integer', description: 'Rows on all pages, if the request has total' },
      Warnings: {
        type: 'string',
        description: 'What the format changed compared with the query: a JSON array of sentences',
      },
    },
    content: {
      'application/json': { schema: { anyOf: [rows, features] } },
      'text/csv': { schema: { type: 'string' } },
      'application/x-ndjson': { schema: { type: 'string' } },
      'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
      'application/vnd.apache.parquet': { schema: { type: 'string', format: 'binary' } },
      'application/vnd.apache.arrow.stream': { schema: { type: 'string', format: 'binary' } },
    },
  },
  400: { description: 'A bad parameter, or what PostgreSQL says of the SQL.', ...error },
  401: { description: 'A wrong credential.', ...error },
  403: { description: 'The key may not do this.', ...error },
  404: { description: 'There is no such account.', ...error },
  409: { description: repeated, ...error },
  429: {
    description:
      'The statement took too long, and the text names the limit; or there were too many requests.',
    ...error,
  },
}

const described = {
  tags: ['sql'],
  summary: 'Run SQL and read its rows',
  description:
    'Runs as the role of the key; without a key, as the public role of the account. Answers are streamed: an error after the first byte breaks the stream. The time limit holds until the first row, and later while PostgreSQL works without sending a row; a client may read for as long as a copy may last.',
  headers: { ...onceHeaders, properties: { ...onceHeaders.properties, ...readFromHeader } },
}

export const queryByGetSchema = {
  ...described,
  querystring: { type: 'object', required: ['q'], properties: parameters },
  response: responses,
}

export const queryByPostSchema = {
  ...described,
  consumes: ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'],
  body: {
    type: 'object',
    required: ['q'],
    properties: { ...parameters, params },
    examples: [
      { q: 'select * from airports limit 10' },
      { q: 'select * from airports where iata = $1 and elevation > $2', params: ['OSL', 100] },
    ],
  },
  response: responses,
}
