import { type CopySql, copyUpload } from '../../src/client/api/copy-upload.ts'
import { copyResumably, isLarge, isShort } from '../../src/client/api/uploads-api.ts'
import type { CopyAnswer } from '../../src/contract/documents.ts'
import { maxBadRows } from '../../src/contract/limits.ts'
import type { RowMerge } from '../../src/file-import/import-plan.ts'
import { ownConnection, request, requestJson } from '../api/request.ts'

export type Sending = Readonly<{
  sql: CopySql
  body: Blob
  isGzip: boolean
  /** Rows that PostgreSQL refuses are left out, and the answer lists them. */
  skipsBad: boolean
  merge: RowMerge | undefined
  signal: AbortSignal
  /** Called with the number of bytes of the file that were sent. */
  onProgress: (bytes: number) => void
  /** Called when the connection was cut and the upload continues: with the bytes that the service has. */
  onCut: (bytes: number) => void
}>

/** Sends a file into a COPY. */
export async function sendFile(sending: Sending): Promise<CopyAnswer> {
  const { sql, body, isGzip, skipsBad, merge, signal, onProgress, onCut } = sending
  const load = { ...(skipsBad && skipping), ...merge }
  // Checks the key first: at a 401, XMLHttpRequest would make the browser show its own password dialog.
  await request('whoAmI', { signal })
  if (isLarge(body, {}) && isShort(sql)) {
    const { connection, name } = ownConnection('createUpload')
    return copyResumably(connection, name, sql, body, {
      ...(isGzip && { contentEncoding: 'gzip' }),
      ...load,
      signal,
      onProgress: ({ bytes }) => onProgress(bytes),
      onCut: ({ bytes }) => onCut(bytes),
    })
  }
  const upload = copyUpload(sql, body, isGzip ? 'gzip' : undefined, load)
  return requestJson<CopyAnswer>('copyFrom', {
    query: upload.query,
    headers: upload.headers,
    upload: upload.body,
    signal,
    onProgress: ({ bytes }) => onProgress(Math.max(0, bytes - upload.sqlBytes)),
  })
}

const skipping = { onError: 'skip', rejects: 'all', maxBadRows } as const
