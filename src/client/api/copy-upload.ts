import type { ContentEncoding, OnConflict } from '../../contract/formats.ts'
import { joinNames } from '../../contract/text/name-list.ts'
import { type Body, isReplayable } from '../http/transport.ts'

export type CopySql = Readonly<{
  copy: string
  /** A CREATE TABLE: the table is made with its rows, or not at all. */
  create?: string | undefined
}>

/** What copyfrom does besides a plain COPY. */
export type LoadParameters = Readonly<{
  /** `skip`: rows that PostgreSQL refuses are left out, and the answer lists them. */
  onError?: 'stop' | 'skip'
  maxBadRows?: number
  /** `all`: with their whole text. */
  rejects?: 'first' | 'all'
  onConflict?: OnConflict
  /** The columns of a unique index. */
  key?: readonly string[]
}>

export type LoadQuery = Readonly<{
  on_error?: 'stop' | 'skip'
  max_bad_rows?: number
  rejects?: 'first' | 'all'
  on_conflict?: OnConflict
  key?: string
}>

export type CopyUpload = Readonly<{
  query: Readonly<{ q?: string; sql_bytes?: number; data_encoding?: ContentEncoding }> & LoadQuery
  headers: Readonly<Record<string, string>>
  /** A Blob, if the data are one. */
  body: Body
  /** How many bytes of the body come before the data. */
  sqlBytes: number
}>

/** A COPY and its data as one request. The SQL stands in the address if it is short, else before the data. */
export function copyUpload(
  { copy, create }: CopySql,
  data: Body,
  encoding: ContentEncoding | undefined,
  load: LoadParameters = {},
): CopyUpload {
  const loading = loadQuery(load)
  const type = { 'content-type': 'application/octet-stream' }
  if (create === undefined && encodeURIComponent(copy).length <= maxAddressCharacters) {
    const headers = { ...type, ...(encoding && { 'content-encoding': encoding }) }
    return { query: { q: copy, ...loading }, headers, body: data, sqlBytes: 0 }
  }
  const sql = new TextEncoder().encode(`${sqlOf({ copy, create })}\n`)
  return {
    query: { sql_bytes: sql.length, ...(encoding && { data_encoding: encoding }), ...loading },
    headers: type,
    body: isReplayable(data) ? new Blob([sql, data as Whole]) : inOrder(sql, data as Pieces),
    sqlBytes: sql.length,
  }
}

/** As copyfrom takes it. */
export function loadQuery({ onError, maxBadRows, rejects, onConflict, key }: LoadParameters): LoadQuery {
  return {
    ...(onError && { on_error: onError }),
    ...(maxBadRows !== undefined && { max_bad_rows: maxBadRows }),
    ...(rejects && { rejects }),
    ...(onConflict && { on_conflict: onConflict }),
    ...(key && { key: joinNames(key) }),
  }
}

/** Both statements as one text, to which the position in an error refers. On separate lines, because the first may end with a comment. */
export const sqlOf = ({ copy, create }: CopySql) => (create === undefined ? copy : `${create}\n;\n${copy}`)

/** Proxies before the service take some 8 KB. */
const maxAddressCharacters = 6_000

type Whole = string | Uint8Array<ArrayBuffer> | Blob
type Pieces = Exclude<Body, string | Uint8Array | Blob>

async function* inOrder(sql: Uint8Array, data: Pieces): AsyncGenerator<string | Uint8Array> {
  yield sql
  yield* data
}
