import { type CopySql, copyUpload } from '../../src/client/api/copy-upload.ts'
import type { CopyAnswer } from '../../src/contract/documents.ts'
import { maxBadRows } from '../../src/contract/limits.ts'
import { request, requestJson } from '../api/request.ts'

export type Sending = Readonly<{
  sql: CopySql
  body: Blob
  isGzip: boolean
  /** Rows that PostgreSQL refuses are left out, and the answer lists them. */
  skipsBad: boolean
  signal: AbortSignal
  /** Called with the number of bytes of the file that were sent. */
  onProgress: (bytes: number) => void
}>

/** Sends a file into a COPY. */
export async function sendFile(sending: Sending): Promise<CopyAnswer> {
  const { sql, body, isGzip, skipsBad, signal, onProgress } = sending
  // Checks the key first: at a 401, XMLHttpRequest would make the browser show its own password dialog.
  await request('whoAmI', { signal })
  const upload = copyUpload(sql, body, isGzip ? 'gzip' : undefined, skipsBad ? skipping : {})
  return requestJson<CopyAnswer>('copyFrom', {
    query: upload.query,
    headers: upload.headers,
    upload: upload.body,
    signal,
    onProgress: ({ bytes }) => onProgress(Math.max(0, bytes - upload.sqlBytes)),
  })
}

const skipping = { onError: 'skip', rejects: 'all', maxBadRows } as const
