import { type CopySql, copyUpload } from '../../src/client/api/copy-upload.ts'
import { onlyOnce } from '../../src/client/http/only-once.ts'
import type { CopyAnswer } from '../../src/contract/documents.ts'
import { ApiError, UnreachableError } from '../api/api-error.ts'
import { waitForService } from '../api/connection.ts'
import { authorizationOf } from '../api/credential.ts'
import { addressOf, request } from '../api/request.ts'
import { askToSignIn, credential } from '../api/session.ts'

export type Sending = Readonly<{
  sql: CopySql
  body: Blob
  isGzip: boolean
  signal: AbortSignal
  /** Called with the number of bytes of the file that were sent. */
  onProgress: (bytes: number) => void
}>

/** Sends a file into a COPY. Uses XMLHttpRequest, because fetch has no upload progress. */
export async function sendFile(sending: Sending): Promise<CopyAnswer> {
  for (;;) {
    // Checks the key first: at a 401, XMLHttpRequest would make the browser show its own password dialog.
    await request('whoAmI', { signal: sending.signal })
    try {
      return await sendOnce(sending)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401 && (await askToSignIn()))) throw error
    }
  }
}

function sendOnce({ sql, body, isGzip, signal, onProgress }: Sending): Promise<CopyAnswer> {
  const upload = copyUpload(sql, body, isGzip ? 'gzip' : undefined)
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    xhr.open('POST', addressOf('copyFrom', { query: upload.query }))
    const headers = {
      ...upload.headers,
      ...onlyOnce(),
      ...(credential.value && authorizationOf(credential.value)),
    }
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.upload.onprogress = ({ loaded }) => onProgress(Math.max(0, loaded - upload.sqlBytes))
    xhr.onload = () => {
      if (xhr.status === 200) resolve(JSON.parse(xhr.responseText) as CopyAnswer)
      else reject(new ApiError(xhr.status, headersOf(xhr), xhr.responseText))
    }
    xhr.onerror = () => {
      void waitForService()
      reject(new UnreachableError(undefined))
    }
    signal.addEventListener('abort', () => {
      xhr.abort()
      reject(signal.reason)
    })
    xhr.send(upload.body as Blob)
  })
}

function headersOf(xhr: XMLHttpRequest): Headers {
  const lines = xhr.getAllResponseHeaders().trim().split('\r\n')
  return new Headers(lines.filter(Boolean).map((line) => line.split(/:\s*/, 2) as [string, string]))
}
