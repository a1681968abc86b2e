import { createHmac } from 'node:crypto'
import type { Job } from '../jobs/job.ts'
import { fullItemDocument, fullJobDocument } from '../jobs/shown/job-document.ts'

/** A job or import that has ended. */
export type Subject = Readonly<{ job: Job; isImport: boolean; tables: readonly string[] }>

type MessageHead = Readonly<{ type: string; subject: string | null; createdAt: Date; includeSql: boolean }>

/** The body of a message: its type, when it happened, and the job. */
export function bodyOf(
  { type, subject, createdAt, includeSql }: MessageHead,
  about: Subject | undefined,
): string {
  const data = subject === null ? {} : about ? dataOf(about, includeSql) : { job_id: subject }
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), data })
}

const dataOf = ({ job, isImport, tables }: Subject, includeSql: boolean): object =>
  isImport ? importData(job, tables) : jobData(job, includeSql)

function importData(
  { id, user, status, createdAt, updatedAt, failedReason }: Job,
  tables: readonly string[],
) {
  const state = status === 'done' ? 'complete' : 'failure'
  const names = state === 'complete' ? tables : []
  const times = { created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() }
  return { id, user, state, table_names: names, ...times, failed_reason: failedReason }
}

/** The document of the job. `items`: what became of each statement. The SQL and its values are in `query` and `params`. */
function jobData(job: Job, includeSql: boolean): object {
  const { query, params, ...outcome } = fullJobDocument(job)
  const items = job.items.map((item) => {
    const {
      query: _query,
      params: _params,
      onsuccess: _onsuccess,
      onerror: _onerror,
      ...itemOutcome
    } = fullItemDocument(item)
    return itemOutcome
  })
  return { ...outcome, items, ...(includeSql && { query, params }) }
}

/** `webhook-id`, `webhook-timestamp` and, with a secret, `webhook-signature`, as Standard Webhooks has them. */
export function signedHeaders(
  id: string,
  seconds: number,
  body: string,
  secret: string | undefined,
): Record<string, string> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds) }
  if (secret === undefined) return headers
  const hash = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${hash}` }
}

const prefix = 'whsec_'
const keyOf = (secret: string) => Buffer.from(secret.slice(prefix.length), 'base64')

export const secretOf = (bytes: Buffer) => prefix + bytes.toString('base64')

/** `whsec_` and base64 of 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return false
  const { length } = keyOf(text)
  return length >= 24 && length <= 64 && secretOf(keyOf(text)).replace(/=+$/, '') === text.replace(/=+$/, '')
}
