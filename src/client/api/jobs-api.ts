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
import { isPassing, pause, waitBeforeReconnect } from '../http/retry.ts'
import type { Connection } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'
import { JobError, JobNotFollowedError } from '../job-errors.ts'

export type Waiting = Readonly<{ signal?: AbortSignal | undefined }>
export type Following = Waiting &
  Readonly<{
    onChange?: ((job: JobDocument) => void) | undefined
    /** The service does not answer, or refuses for the moment: the job goes on, and it is asked for again. Called once per loss. */
    onLost?: ((error: unknown) => void) | undefined
    /** How long to ask a service that does not answer. Without it, until it does. */
    giveUpAfterMs?: number | undefined
  }>
/** `after` is the `next` of an earlier page. */
export type JobListing = JobFilter & Readonly<{ per_page?: number | undefined; after?: string | undefined }>
export type Submitting = JobOptions & Readonly<{ idempotencyKey?: string | undefined }>

export function jobsOf(connection: Connection, name: string) {
  const one = (jobId: string) => ({ parameters: { name, jobId } })

  /** Sent with an idempotency key, so that a repeated request makes no second job. */
  const create = (query: JobQuery, { idempotencyKey = randomId(), ...beside }: Submitting = {}) => {
    const { name: jobName, labels, timeout, params, not_before, retry, notify } = beside
    const options = { name: jobName, labels, timeout, params, not_before, retry, notify }
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

  /** Waits until the job has a final status, whichever. A service that restarts meanwhile is waited for. */
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

function listedJobs(connection: Connection, name: string) {
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

  return { details, list }
}

/** Asks again while the service does not answer. What it refuses for good is thrown. */
export async function untilAnswered<T>(
  jobId: string,
  ask: () => Promise<T>,
  { signal, onLost, giveUpAfterMs = Number.POSITIVE_INFINITY }: Omit<Following, 'onChange'>,
): Promise<T> {
  let lostAt: number | undefined
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      signal?.throwIfAborted()
      if (!isPassing(error)) throw error
      if (lostAt === undefined) onLost?.(error)
      lostAt ??= performance.now()
      const waitMs = waitBeforeReconnect(error, attempt)
      const leftMs = giveUpAfterMs - (performance.now() - lostAt)
      if (leftMs <= 0) throw new JobNotFollowedError(jobId, error)
      await pause(Math.min(waitMs, leftMs), signal)
    }
  }
}

/** A job that has ended by itself in the meantime need not be cancelled. */
function unlessEnded(error: unknown): void {
  if (!hasCode(error, 'cancel-refused')) throw error
}
