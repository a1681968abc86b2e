import { onConflicts, onErrors } from '../../contract/formats.ts'
import { defaultBadRows, maxBadRows } from '../../contract/limits.ts'
import { maxFilenameLength } from '../middleware/parameters.ts'
import { dataAgeHeader, readFromHeader } from '../middleware/read-from.ts'
import { answered, apiKey, error, onceHeaders, repeated, text } from '../middleware/schemas.ts'

/** The size of SQL at the beginning of a body. The parser takes 256 Ki characters, enough for 1,600 columns with the longest names. */
export const maxSqlBytes = 512 * 1024

const copyToParameters = {
  q: {
    ...text('One COPY ... TO STDOUT statement: of a table, some of its columns, or a query.'),
    examples: ['COPY airports TO STDOUT WITH (FORMAT csv, HEADER true)'],
  },
  filename: {
    ...text('The name in the Content-Disposition header; carto-sql-copyto.dmp if absent.'),
    maxLength: maxFilenameLength,
  },
  api_key: apiKey,
} as const

const refusals = {
  400: { description: 'A bad statement, or what PostgreSQL says of it.', ...error },
  401: { description: 'A wrong credential.', ...error },
  403: { description: 'The key may not do this.', ...error },
  404: { description: 'There is no such account.', ...error },
  409: { description: repeated, ...error },
  429: { description: 'It took longer than 5 hours, or there are too many copies or requests.', ...error },
  503: { description: 'The database is not reachable.', ...error },
}

export const rejectedRow = answered({
  line: { type: 'integer', description: 'The line in which the row ends, counted as COPY does.' },
  column: { type: ['string', 'null'] },
  value: { type: ['string', 'null'], description: 'Cut at 100 bytes.' },
  error: { type: 'string' },
  sqlstate: { type: 'string' },
  text: { type: 'string', description: 'The row as it stood.' },
})

export const copyAnswer = {
  ...answered(
    {
      time: { type: 'number', description: 'Seconds.' },
      total_rows: { type: 'integer', description: 'Rows imported.' },
      inserted_rows: { type: 'integer', description: 'With on_conflict.' },
      updated_rows: { type: 'integer', description: 'With on_conflict.' },
      rejected_rows: { type: 'integer', description: 'With on_error=skip.' },
      rejected: { type: 'array', items: rejectedRow, description: 'With on_error=skip, by line.' },
    },
    ['inserted_rows', 'updated_rows', 'rejected_rows', 'rejected'],
  ),
  examples: [{ time: 0.42, total_rows: 10000 }],
} as const

export const copyFromSchema = {
  tags: ['copy'],
  summary: 'Stream a file into a table',
  description:
    'The body is the data of the COPY statement, chunked or with a length, of any content type, compressed if Content-Encoding says so. It is stored whole or not at all. The SQL stands in `q`, or at the beginning of the body: then a CREATE TABLE may come before the COPY, and the table is made with its rows or not at all.',
  headers: onceHeaders,
  querystring: {
    type: 'object',
    properties: {
      q: {
        ...text('One COPY ... FROM STDIN statement.'),
        examples: ['COPY airports (name, the_geom) FROM STDIN WITH (FORMAT csv, HEADER true)'],
      },
      sql_bytes: {
        type: 'integer',
        minimum: 1,
        maximum: maxSqlBytes,
        description:
          'Instead of `q`: so many bytes at the beginning of the body are SQL in UTF-8, one COPY ... FROM STDIN or a CREATE TABLE and then the COPY. The data follow.',
      },
      data_encoding: text(
        'How the data are compressed that follow the SQL, in the words of Content-Encoding. Only with `sql_bytes`.',
      ),
      on_error: {
        type: 'string',
        enum: onErrors,
        default: 'stop',
        description:
          'skip: rows that PostgreSQL refuses are left out and listed, all others are stored in one transaction. For CSV and text.',
      },
      max_bad_rows: {
        type: 'integer',
        minimum: 0,
        maximum: maxBadRows,
        default: defaultBadRows,
        description: 'With on_error=skip: one more bad row, and the whole load fails.',
      },
      rejects: {
        type: 'string',
        enum: ['first', 'all'],
        default: 'first',
        description:
          'With on_error=skip: list the first 100 rejected rows, their text cut at 1 KB, or all with their whole text, up to 16 MB.',
      },
      on_conflict: {
        type: 'string',
        enum: onConflicts,
        description:
          'Merge by `key`: a row whose key is there already updates that row, or is ignored. Of rows with one key in the data, the last one counts for update, the first one for nothing.',
      },
      key: text('With on_conflict: the columns of a unique index, as a comma list.'),
      api_key: apiKey,
    },
  },
  consumes: ['application/octet-stream'],
  body: { type: 'string', format: 'binary' },
  response: {
    200: { description: 'All rows are stored.', ...copyAnswer },
    ...refusals,
    408: { description: 'The client stopped sending.', ...error },
    415: { description: 'A Content-Encoding that is not supported.', ...error },
  },
}

const copyTo = {
  tags: ['copy'],
  summary: 'Stream a table or a query out',
  description:
    'Compressed by Accept-Encoding. An error after the first byte breaks the stream, so that no part is taken for the whole. With `TE: trailers` the trailer X-Copy-Rows tells the number of rows.',
  headers: { ...onceHeaders, properties: { ...onceHeaders.properties, ...readFromHeader } },
  response: {
    200: {
      description: 'What the COPY statement writes.',
      headers: dataAgeHeader,
      content: {
        'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
        'text/csv': { schema: { type: 'string' } },
      },
    },
    ...refusals,
  },
}

export const copyToByGetSchema = {
  ...copyTo,
  querystring: { type: 'object', required: ['q'], properties: copyToParameters },
}

export const copyToByPostSchema = {
  ...copyTo,
  consumes: ['application/json', 'application/x-www-form-urlencoded'],
  body: {
    type: 'object',
    required: ['q'],
    properties: copyToParameters,
    examples: [{ q: 'COPY airports TO STDOUT WITH (FORMAT csv, HEADER true)', filename: 'airports.csv' }],
  },
}
