const text = (description: string) => ({ type: 'string', description })

const apiKey = text('The token of an API key, unless it comes as the password of HTTP Basic authentication.')

const copyToParameters = {
  q: text('One COPY ... TO STDOUT statement: of a table, some of its columns, or a query.'),
  filename: text('The name in the Content-Disposition header; carto-sql-copyto.dmp if absent.'),
  api_key: apiKey,
} as const

const error = {
  type: 'object',
  properties: {
    error: { type: 'array', items: { type: 'string' } },
    detail: { type: 'string' },
    hint: { type: 'string' },
    context: { type: 'string' },
    position: { type: 'integer' },
  },
}

const refusals = {
  400: { description: 'A bad statement, or what PostgreSQL says of it.', ...error },
  401: { description: 'A wrong credential.', ...error },
  403: { description: 'The key may not do this.', ...error },
  404: { description: 'There is no such account.', ...error },
  429: { description: 'It took longer than 5 hours, or there are too many copies or requests.', ...error },
  503: { description: 'The database is not reachable.', ...error },
}

export const copyFromSchema = {
  tags: ['copy'],
  summary: 'Stream a file into a table',
  description:
    'The body is the data of the COPY statement, chunked or with a length, of any content type, compressed if Content-Encoding says so. It is stored whole or not at all.',
  querystring: {
    type: 'object',
    properties: { q: text('One COPY ... FROM STDIN statement.'), api_key: apiKey },
  },
  consumes: ['application/octet-stream'],
  response: {
    200: {
      description: 'All rows are stored.',
      type: 'object',
      properties: {
        time: { type: 'number', description: 'Seconds.' },
        total_rows: { type: 'integer', description: 'Rows imported.' },
      },
    },
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
  response: {
    200: { description: 'What the COPY statement writes.' },
    ...refusals,
  },
}

export const copyToByGetSchema = {
  ...copyTo,
  querystring: { type: 'object', properties: copyToParameters },
}

export const copyToByPostSchema = {
  ...copyTo,
  consumes: ['application/json', 'application/x-www-form-urlencoded'],
  body: { type: 'object', properties: copyToParameters },
}
