import type { JobDocument, JobQuery } from '../../src/client/documents.ts'
import { keep, readKept } from './kept.ts'
import { request, requestJson } from './request.ts'

/** A job that was started in this browser: the service has no list of jobs. */
export type KnownJob = Readonly<{ id: string; query: JobQuery; at: number }>

const storageName = 'jobs'
const mostJobs = 1000

/** The newest first. */
export const readKnownJobs = async () => (await readKept<readonly KnownJob[]>(storageName)) ?? []

export async function rememberJob(job: KnownJob): Promise<void> {
  const former = await readKnownJobs()
  await keep(storageName, [job, ...former.filter(({ id }) => id !== job.id)].slice(0, mostJobs))
}

/** Starts it once, also if the answer is lost and it is sent again. */
export async function startJob(query: JobQuery): Promise<JobDocument> {
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const job = await requestJson<JobDocument>('createJob', { json: { query }, headers })
  await rememberJob({ id: job.job_id, query, at: Date.now() })
  return job
}

export const isFinal = ({ status }: JobDocument) => !['pending', 'running'].includes(status)

/** Tells every change until the job has ended, by long polls. */
export async function watchJob(
  id: string,
  signal: AbortSignal,
  tell: (job: JobDocument) => void,
): Promise<JobDocument> {
  let wait = 0
  for (;;) {
    const job = await requestJson<JobDocument>('readJob', {
      parameters: { jobId: id },
      query: { wait },
      signal,
    })
    tell(job)
    if (isFinal(job)) return job
    // A long poll ends with the job; that it has begun is seen by short ones.
    wait = job.status === 'pending' ? 1 : 30
  }
}

export const cancelJob = (id: string) => request('cancelJob', { parameters: { jobId: id } })
