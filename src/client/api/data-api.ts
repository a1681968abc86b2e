import type { CopyAnswer, SqlAnswer } from '../../contract/documents.ts'
import type { ContentEncoding, SortOrder, SqlFormat, Total } from '../../contract/formats.ts'
import { type FormatFacts, formatFacts } from '../../contract/formats.ts'
import { jsonReader, type Numbers } from '../exact-json.ts'
import type { ExpectedStart } from '../http/expected-answer.ts'
import type { Call, Connection, OnProgress } from '../http/send.ts'
import { type OnWarnings, sendForBytes, sendForJson } from '../http/send-checked.ts'
import type { Body } from '../http/transport.ts'
import { copyUpload, type LoadParameters } from './copy-upload.ts'
import { RowStream } from './row-stream.ts'
import { bodyOf, type SqlValue, type Statement, tagged } from './sql-statement.ts'
import type { Waiting } from './until-answered.ts'
import {
  copyResumably,
  isLarge,
  isShort,
  type LargeFrom,
  type PartialFile,
  type Resuming,
  wholeFile,
} from './uploads-api.ts'

export type SqlParameters = Readonly<{
  rows_per_page?: number
  page?: number
  order_by?: string
  sort_order?: SortOrder
  skipfields?: string
  /** With `rows_per_page`: `total` of the answer has the rows on all pages. */
  total?: Total
}>
/** Only what this says is sent again after a cut connection: whether a statement writes is for its author to know. */
type Repeating = Readonly<{ isRepeatable?: boolean }>
export type SqlOptions = SqlParameters &
  Waiting &
  Repeating &
  Readonly<{
    /** The values of `$1`, `$2`, ... */
    params?: readonly SqlValue[]
    /** Over the choice of the client. */
    numbers?: Numbers
  }>
export type DownloadOptions = Omit<SqlOptions, 'numbers'> &
  Readonly<{
    format?: SqlFormat
    /** Decimal digits of GeoJSON coordinates. */
    dp?: number
    onProgress?: OnProgress
    onWarnings?: OnWarnings
  }>
export type CopyToOptions = Waiting & Repeating & Readonly<{ onProgress?: OnProgress }>
export type CopyFromOptions = Omit<CopyToOptions, 'isRepeatable'> &
  Readonly<{
    contentEncoding?: ContentEncoding
    /** A CREATE TABLE for the rows: the table is made with them, or not at all. */
    create?: string | undefined
  }> &
  LoadParameters &
  Pick<Resuming, 'onCut'> &
  LargeFrom

export type SqlCall<Options = SqlOptions, Formats = unknown> = {
  <Row = Record<string, unknown>>(sql: Statement, options?: Options): Promise<SqlAnswer<Row>> & Formats
  <Row = Record<string, unknown>>(
    parts: TemplateStringsArray,
    ...values: SqlValue[]
  ): Promise<SqlAnswer<Row>> & Formats
}
/** Called at once, it makes the request one for a file: its bytes as they come. */
export type AsFile = Readonly<{ as: (format: SqlFormat) => Promise<AsyncIterable<Uint8Array>> }>
export type RowsCall<Options = SqlOptions> = {
  <Row = Record<string, unknown>>(sql: Statement, options?: Options): RowStream<Row>
  <Row = Record<string, unknown>>(parts: TemplateStringsArray, ...values: SqlValue[]): RowStream<Row>
}

export function dataOf(connection: Connection, name: string, clientNumbers: Numbers) {
  const parameters = { name }

  /** The bytes of the answer in a format, as the service writes them. */
  const download = (sql: Statement, { onProgress, onWarnings, ...options }: DownloadOptions = {}) =>
    sendForBytes(connection, 'query', queryCall(name, sql, options), onProgress, onWarnings)

  const rowStream = (sql: Statement, { numbers = clientNumbers, ...options }: SqlOptions) =>
    new RowStream(() => download(sql, { ...options, format: 'json' }), jsonReader(numbers))

  return {
    /** All rows at once, and what is known of them. */
    sql: tagged((sql, { numbers, ...options }: SqlOptions) => {
      const whole = () => rowStream(sql, { ...options, ...(numbers && { numbers }) }).whole()
      return unlessAs(whole, (format) => download(sql, { ...options, format }))
    }, {}) as SqlCall<SqlOptions, AsFile>,
    /** The rows while they arrive. */
    rows: tagged(rowStream, {}) as RowsCall,
    download,
    /** Loads rows with `COPY ... FROM STDIN`: all of them, or none. A large file goes by a resumable upload. */
    copyFrom: (copy: string, data: Body | PartialFile, options: CopyFromOptions = {}) => {
      const { contentEncoding, create, signal, onProgress } = options
      const sql = { copy, create }
      if (isLarge(data, options) && isShort(sql)) return copyResumably(connection, name, sql, data, options)
      const { query, headers, body } = copyUpload(sql, wholeFile(data), contentEncoding, options)
      const call: Call = { parameters, query, headers, upload: body, signal, onProgress }
      return sendForJson<CopyAnswer>(connection, 'copyFrom', call)
    },
    /** The bytes of `COPY ... TO STDOUT`. A copy that fails half-way throws in the middle of them. */
    copyTo: (q: string, options: CopyToOptions = {}): Promise<AsyncIterable<Uint8Array>> => {
      const { signal, onProgress, isRepeatable = false } = options
      const call: Call = { parameters, json: { q }, headers: { accept: '*/*' }, signal, isRepeatable }
      return sendForBytes(connection, 'copyToByPost', call, onProgress)
    },
  }
}

/** Runs a little later, so that `as` can replace it. Otherwise the request is sent, even without a reader of the answer. */
export function unlessAs<Answer, Bytes>(run: () => Promise<Answer>, runAs: (format: SqlFormat) => Bytes) {
  let state: 'new' | 'started' | 'file' = 'new'
  const answer = Promise.resolve().then(() => {
    if (state === 'file') return new Promise<never>(() => undefined)
    state = 'started'
    return run()
  })
  const as = (format: SqlFormat): Bytes => {
    if (state !== 'new') throw new TypeError('The request has been sent: call as() right after sql()')
    state = 'file'
    return runAs(format)
  }
  return Object.assign(answer, { as })
}

function queryCall(
  name: string,
  sql: Statement,
  options: Omit<DownloadOptions, 'onProgress' | 'onWarnings'>,
): Call {
  const { params, signal, isRepeatable = false, ...rest } = options
  const bound = typeof sql === 'string' && params ? { text: sql, params } : sql
  return {
    parameters: { name },
    json: { ...bodyOf(bound), ...rest },
    headers: { accept: '*/*' },
    look: startOf(options.format ?? 'json'),
    isRepeatable,
    signal,
  }
}

/** How the answer of a format begins. */
export function startOf(format: SqlFormat): ExpectedStart {
  const { type, start = '' }: FormatFacts = formatFacts[format]
  return { type: type.split(';')[0]!, start }
}
