import { type CopySql, copyUpload } from '../../src/client/api/copy-upload.ts'
import type { CopyAnswer } from '../../src/contract/documents.ts'
import { request, requestJson } from '../api/request.ts'

export type Sending = Readonly<{
  sql: CopySql
  body: Blob
  isGzip: boolean
  signal: AbortSignal
  /** Called with the number of bytes of the file that were sent. */
  onProgress: (bytes: number) => void
}>

/** Sends a file into a COPY. */
export async function sendFile({ sql, body, isGzip, signal, onProgress }: Sending): Promise<CopyAnswer> {
  // Checks the key first: at a 401, XMLHttpRequest would make the browser show its own password dialog.
  await request('whoAmI', { signal })
  const upload = copyUpload(sql, body, isGzip ? 'gzip' : undefined)
  return requestJson<CopyAnswer>('copyFrom', {
    query: upload.query,
    headers: upload.headers,
    upload: upload.body,
    signal,
    onProgress: ({ bytes }) => onProgress(Math.max(0, bytes - upload.sqlBytes)),
  })
}
