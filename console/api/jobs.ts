import { randomId } from '../../src/client/http/random-id.ts'
import type { FullJobDocument, JobDocument, JobOptions, JobQuery } from '../../src/contract/documents.ts'
import { jobAddresses } from '../../src/contract/job-items.ts'
import { isFinal } from '../../src/contract/job-status.ts'
import { UnreachableError } from './api-error.ts'
import { waitForService } from './connection.ts'
import { rememberJob } from './known-jobs.ts'
import { requestJson } from './request.ts'

/**
 * Queues a job, and announces its end. If the service restarts meanwhile, the request is repeated with the same
 * Idempotency-Key, so that there is one job, not two. `like`: the job of which it is a copy.
 */
export async function startJob(query: JobQuery, like?: FullJobDocument): Promise<JobDocument> {
  const headers = { 'idempotency-key': randomId() }
  const { operation, json } = jobRequest(query, like)
  const send = () => requestJson<JobDocument>(operation, { json, headers })
  const job = await send().catch(async (error: unknown) => {
    if (!(error instanceof UnreachableError)) throw error
    await Promise.race([waitForService(), new Promise((resolve) => setTimeout(resolve, restartMs))])
    return send()
  })
  await rememberJob(job)
  return job
}

/** The request that queues a job. */
export function jobRequest(query: JobQuery, like?: FullJobDocument) {
  if (!like) return { operation: jobAddresses(query).create, json: { query } }
  const { name, labels, retry }: JobOptions = like
  return { operation: 'createJobByV4', json: { query, name, labels, retry } } as const
}

/** With `waitSeconds` the answer comes when the job has ended, or after that time. */
export const readJob = (
  id: string,
  { waitSeconds, signal }: Readonly<{ waitSeconds?: number; signal?: AbortSignal }> = {},
) => requestJson<JobDocument>('readJob', { parameters: { jobId: id }, query: { wait: waitSeconds }, signal })

/** With its name, labels and limits. */
export const readFullJob = (id: string, signal: AbortSignal) =>
  requestJson<FullJobDocument>('readJobByV4', { parameters: { jobId: id }, signal })

/** Reads a job, waiting while the service restarts. */
export async function readJobPatiently(
  id: string,
  options: Readonly<{ waitSeconds?: number; signal: AbortSignal }>,
): Promise<JobDocument> {
  for (;;) {
    try {
      return await readJob(id, options)
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error
      await waitForService()
      options.signal.throwIfAborted()
    }
  }
}

/** Calls `tell` for every change until the job has ended. */
export async function watchJob(
  id: string,
  signal: AbortSignal,
  tell: (job: JobDocument) => void,
): Promise<JobDocument> {
  let waitSeconds = 0
  for (;;) {
    const job = await readJobPatiently(id, { waitSeconds, signal })
    tell(job)
    if (isFinal(job.status)) return job
    // A long poll answers only when the job ends. Short polls also see when it starts.
    waitSeconds = job.status === 'pending' ? 1 : 30
  }
}

export const changeJob = (id: string, query: JobQuery) =>
  requestJson<JobDocument>(jobAddresses(query).update, { parameters: { jobId: id }, json: { query } })

/** Resolves when the statement has been stopped. */
export const cancelJob = (id: string) => requestJson<JobDocument>('cancelJob', { parameters: { jobId: id } })

const restartMs = 60_000
