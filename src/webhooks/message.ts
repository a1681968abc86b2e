import { createHmac } from 'node:crypto'
import type { Job } from '../jobs/job.ts'

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

function dataOf({ job, isImport, tables }: Subject, includeSql: boolean): object {
  const { createdAt, updatedAt, failedReason } = job
  const times = { created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() }
  if (isImport) {
    const state = job.status === 'done' ? 'complete' : 'failure'
    const names = state === 'complete' ? tables : []
    return { id: job.id, user: job.user, state, table_names: names, ...times, failed_reason: failedReason }
  }
  return {
    job_id: job.id,
    user: job.user,
    status: job.status,
    ...times,
    name: job.name,
    labels: job.labels,
    schedule: job.schedule,
    failed_reason: failedReason,
    failed_sqlstate: job.failedSqlstate,
    fallback_status: job.fallbackStatus,
    items: job.items.map(({ statement, status, startedAt, endedAt, failedReason: reason }) => ({
      ...(includeSql && { query: statement }),
      status,
      started_at: startedAt?.toISOString(),
      ended_at: endedAt?.toISOString(),
      failed_reason: reason,
    })),
  }
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
