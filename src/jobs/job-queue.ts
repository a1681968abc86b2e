import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import type { Config } from '../config.ts'
import { Together } from '../postgres/together.ts'
import type { JobDefinition } from './job.ts'

/** A job on its way into the queue. */
export type NewJob = Readonly<{
  id: string
  account: Account
  definition: JobDefinition
  idempotencyKey: string | null
  /** By which the same request is known when it comes again with the same key. */
  requestHash: Buffer | null
}>

export type QueueLimits = Pick<Config, 'jobQueueLimit' | 'jobsPerUser'>

/** The way into the queue: jobs that come at the same time go in together. */
export class JobQueue {
  readonly #together: Together<NewJob, Date | null>

  constructor(control: Pool, limits: QueueLimits) {
    this.#together = new Together((jobs, isPatient) => enqueueJobs(control, limits, jobs, isPatient))
  }

  /** When it was created; null: the queue of its user is full. */
  add(job: NewJob): Promise<Date | null> {
    return this.#together.write(job)
  }
}

/** Puts jobs into the queue and wakes a worker, in one transaction. */
export async function enqueueJobs(
  control: Pick<Pool, 'query'>,
  { jobQueueLimit, jobsPerUser }: QueueLimits,
  jobs: readonly NewJob[],
  isPatient = true,
): Promise<readonly (Date | null)[]> {
  // In the order of their users, as everybody locks the queues.
  const sorted = [...jobs].sort((one, other) => one.account.userId - other.account.userId)
  const { rows } = await control.query<{ at: Date | null }>({
    name: 'enqueue-jobs',
    text: 'select at from cartage.enqueue_jobs($1, $2, $3, $4) at',
    values: [JSON.stringify(sorted.map(recordOf)), isPatient, jobQueueLimit, jobsPerUser],
  })
  const times = new Map(sorted.map((job, index) => [job, rows[index]!.at]))
  return jobs.map((job) => times.get(job)!)
}

/** As `cartage.enqueue_jobs` reads it. */
function recordOf({ id, account, definition, idempotencyKey, requestHash }: NewJob) {
  return {
    user_id: account.userId,
    host_id: account.hostId,
    id,
    definition,
    idempotency_key: idempotencyKey,
    request_hash: requestHash?.toString('hex'),
  }
}
