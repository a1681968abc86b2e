import type { SqlAnswer } from '../../contract/documents.ts'
import type { SqlFormat } from '../../contract/formats.ts'
import type { QueryDefinition, SavedQueryDocument, SavedQueryList } from '../../contract/saved-queries.ts'
import { jsonReader, type Numbers } from '../exact-json.ts'
import { type Connection, sendForText } from '../http/send.ts'
import { sendForBytes, sendForJson } from '../http/send-checked.ts'
import { type AsFile, type DownloadOptions, startOf, unlessAs } from './data-api.ts'
import { RowStream } from './row-stream.ts'
import { jsonValue, type SqlValue } from './sql-statement.ts'

export type RunOptions = Omit<DownloadOptions, 'params' | 'format' | 'isRepeatable'> &
  Readonly<{ numbers?: Numbers }>

/** The values of parameters by their names. */
export type QueryValues = Readonly<Record<string, SqlValue>>

export function savedQueriesOf(connection: Connection, name: string, clientNumbers: Numbers) {
  const parameters = { name }

  const bytesOf = (query: string, values: QueryValues, options: RunOptions, format: SqlFormat) =>
    sendRun(connection, { name, query }, values, options, format)

  const download = (
    query: string,
    values: QueryValues = {},
    { format = 'json', ...options }: RunOptions & Readonly<{ format?: SqlFormat }> = {},
  ) => bytesOf(query, values, options, format)

  const rows = <Row = Record<string, unknown>>(
    query: string,
    values: QueryValues = {},
    options: RunOptions = {},
  ) =>
    new RowStream<Row>(
      () => bytesOf(query, values, options, 'json'),
      jsonReader(options.numbers ?? clientNumbers),
    )

  return {
    /** Makes it, or replaces the one of this name. Needs the master key, as all but `run` and `describe`. */
    save: (query: string, definition: QueryDefinition) =>
      sendForJson<SavedQueryDocument>(connection, 'saveQuery', {
        parameters: { name, query },
        json: definition,
        isRepeatable: true,
      }),
    list: async () => (await sendForJson<SavedQueryList>(connection, 'listQueries', { parameters })).queries,
    get: (query: string) =>
      sendForJson<SavedQueryDocument>(connection, 'readQuery', { parameters: { name, query } }),
    delete: async (query: string): Promise<void> => {
      await sendForText(connection, 'deleteQuery', { parameters: { name, query } })
    },
    /** All rows, or with `.as(format)` the bytes of a file. The values are bound, never part of the SQL. */
    run: <Row = Record<string, unknown>>(
      query: string,
      values: QueryValues = {},
      options: RunOptions = {},
    ): Promise<SqlAnswer<Row>> & AsFile =>
      unlessAs(
        () => rows<Row>(query, values, options).whole(),
        (format) => bytesOf(query, values, options, format),
      ),
    /** The rows while they arrive. */
    rows,
    download,
    /** The OpenAPI description of all that this key may run. */
    describe: () => sendForJson<Record<string, unknown>>(connection, 'describeQueries', { parameters }),
  }
}

function sendRun(
  connection: Connection,
  parameters: Readonly<{ name: string; query: string }>,
  values: QueryValues,
  { signal, onProgress, onWarnings, numbers: _numbers, ...rest }: RunOptions,
  format: SqlFormat,
) {
  const json = Object.fromEntries(
    Object.entries(values).map(([param, value]) => [param, jsonValue(value, `:${param}`)]),
  )
  const call = {
    parameters,
    json: { ...json, ...rest, format },
    headers: { accept: '*/*' },
    look: startOf(format),
    isRepeatable: true,
    signal,
  }
  return sendForBytes(connection, 'runQuery', call, onProgress, onWarnings)
}
