import type { ContentEncoding } from '../../contract/formats.ts'
import { type Body, isReplayable } from '../http/transport.ts'

export type CopySql = Readonly<{
  copy: string
  /** A CREATE TABLE: the table is made with its rows, or not at all. */
  create?: string | undefined
}>

export type CopyUpload = Readonly<{
  query: Readonly<{ q?: string; sql_bytes?: number; data_encoding?: ContentEncoding }>
  headers: Readonly<Record<string, string>>
  /** A Blob, if the data are one. */
  body: Body
  /** So many bytes of the body are none of the data. */
  sqlBytes: number
}>

/** A COPY and its data as one request. The SQL stands in the address if it is short, else before the data. */
export function copyUpload(
  { copy, create }: CopySql,
  data: Body,
  encoding: ContentEncoding | undefined,
): CopyUpload {
  const type = { 'content-type': 'application/octet-stream' }
  if (create === undefined && encodeURIComponent(copy).length <= maxAddressCharacters) {
    const headers = { ...type, ...(encoding && { 'content-encoding': encoding }) }
    return { query: { q: copy }, headers, body: data, sqlBytes: 0 }
  }
  const sql = new TextEncoder().encode(`${sqlOf({ copy, create })}\n`)
  return {
    query: { sql_bytes: sql.length, ...(encoding && { data_encoding: encoding }) },
    headers: type,
    body: isReplayable(data) ? new Blob([sql, data as Whole]) : inOrder(sql, data as Pieces),
    sqlBytes: sql.length,
  }
}

/** As one text, to which the position in an error refers. On lines of their own, as the first may end with a comment. */
export const sqlOf = ({ copy, create }: CopySql) => (create === undefined ? copy : `${create}\n;\n${copy}`)

/** Proxies before the service take some 8 KB. */
const maxAddressCharacters = 6_000

type Whole = string | Uint8Array<ArrayBuffer> | Blob
type Pieces = Exclude<Body, string | Uint8Array | Blob>

async function* inOrder(sql: Uint8Array, data: Pieces): AsyncGenerator<string | Uint8Array> {
  yield sql
  yield* data
}
