import type {
  FullJobDocument,
  JobDocument,
  JobFilter,
  JobList,
  JobOptions,
  JobQuery,
} from '../../contract/documents.ts'
import { jobAddresses } from '../../contract/job-items.ts'
import { isFinal } from '../../contract/job-status.ts'
import { hasCode } from '../cartage-error.ts'
import { randomId } from '../http/random-id.ts'
import type { Connection } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'
import { JobError } from '../job-errors.ts'
import { followJob } from './follow-job-api.ts'
import { type Following, untilAnswered, type Waiting } from './until-answered.ts'

/** `after` is the `next` of an earlier page. */
export type JobListing = JobFilter & Readonly<{ per_page?: number | undefined; after?: string | undefined }>
export type Submitting = JobOptions & Readonly<{ idempotencyKey?: string | undefined }>

export function jobsOf(connection: Connection, name: string) {
  const one = (jobId: string) => ({ parameters: { name, jobId } })

  /** Sent with an idempotency key, so that a repeated request makes no second job. */
  const create = (query: JobQuery, { idempotencyKey = randomId(), ...beside }: Submitting = {}) => {
    const options = optionsOf(beside)
    const hasOptions = Object.values(options).some((value) => value !== undefined)
    return sendForJson<JobDocument>(connection, hasOptions ? 'createJobByV4' : jobAddresses(query).create, {
      parameters: { name },
      json: { query, ...options },
      headers: { 'idempotency-key': idempotencyKey },
    })
  }

  /** With `waitSeconds` the answer comes when the job has ended, or the time is over. */
  const read = (jobId: string, { waitSeconds, signal }: Waiting & { waitSeconds?: number } = {}) =>
    sendForJson<JobDocument>(connection, 'readJob', { ...one(jobId), query: { wait: waitSeconds }, signal })

  /** Answers when the statement has been stopped. */
  const cancel = (jobId: string) => sendForJson<JobDocument>(connection, 'cancelJob', one(jobId))

  /** Waits until the job has a final status, also through a restart of the service. */
  const finished = async (jobId: string, options: Following = {}): Promise<JobDocument> => {
    const { signal, onChange } = options
    // A long poll ends with the job; what happens in between is seen by short ones.
    const waitSeconds = onChange ? 1 : 30
    let told = ''
    for (;;) {
      const job = await untilAnswered(jobId, () => read(jobId, { waitSeconds, signal }), options)
      const shown = JSON.stringify(job)
      if (shown !== told) onChange?.(job)
      told = shown
      if (isFinal(job.status)) return job
    }
  }

  /** Queues a job and waits for its end. Unless it is `done` a JobError is thrown. The signal cancels the job. */
  const run = async (query: JobQuery, options: Following & Submitting = {}): Promise<JobDocument> => {
    options.signal?.throwIfAborted()
    const created = await create(query, options)
    const { job_id: id } = created
    options.onChange?.(created)
    const job = await finished(id, options).catch(async (error: unknown) => {
      if (options.signal?.aborted) await cancel(id).catch(unlessEnded)
      throw error
    })
    if (job.status !== 'done') throw new JobError(job)
    return job
  }

  /** `params`: of a query that is one statement. */
  const update = (jobId: string, query: JobQuery, params?: readonly unknown[]) =>
    sendForJson<JobDocument>(connection, params ? 'updateJobByV4' : jobAddresses(query).update, {
      ...one(jobId),
      json: { query, params },
    })

  return { create, read, update, cancel, finished, run, ...listedJobs(connection, name) }
}

/** What is sent beside the query; callers may have passed more than that. */
function optionsOf(options: JobOptions): JobOptions {
  const { name, labels, timeout, params, not_before, retry, notify } = options
  return { name, labels, timeout, params, not_before, retry, notify }
}

function listedJobs(connection: Connection, name: string) {
  /** The document at each change, with its progress, until the job has ended: an async iterator. */
  const follow = (jobId: string, options: Omit<Following, 'onChange'> = {}) =>
    followJob(connection, name, jobId, options)

  /** Its name, labels, times and place in the queue too. */
  const details = (jobId: string, { waitSeconds, signal }: Waiting & { waitSeconds?: number } = {}) =>
    sendForJson<FullJobDocument>(connection, 'readJobByV4', {
      parameters: { name, jobId },
      query: { wait: waitSeconds },
      signal,
    })

  /** All jobs of the account, newest first, page by page as they are asked for. */
  async function* list(filter: JobListing = {}): AsyncGenerator<FullJobDocument> {
    for (let { after } = filter; ; ) {
      const query = { ...filter, after }
      const page = await sendForJson<JobList>(connection, 'listJobs', { parameters: { name }, query })
      yield* page.jobs
      if (page.next === null) return
      after = page.next
    }
  }

  return { details, follow, list }
}

/** A job that has ended by itself in the meantime need not be cancelled. */
function unlessEnded(error: unknown): void {
  if (!hasCode(error, 'cancel-refused')) throw error
}
