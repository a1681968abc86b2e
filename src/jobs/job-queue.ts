import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import type { Config } from '../config.ts'
import { GroupCommit } from '../postgres/group-commit.ts'
import { hasSqlstate, isConnectionLoss, sqlstate } from '../postgres/sqlstate.ts'
import type { JobDefinition } from './job.ts'
import { announceJobs } from './queue-store.ts'

/** A job on its way into the queue. */
export type NewJob = Readonly<{
  id: string
  account: Account
  definition: JobDefinition
  idempotencyKey: string | null
  /** Tells the same request, made again with the same key, from another one. */
  requestHash: Buffer | null
}>

export type QueueLimits = Pick<Config, 'jobQueueLimit' | 'jobsPerUser'>

/** The worker inside this process. */
export type NearWorker = Readonly<{ hasRoom: boolean; wake: () => void }>

/** The way into the queue, with group commit. */
export class JobQueue {
  readonly #control: Pool
  readonly #limits: QueueLimits
  readonly #groupCommit = new GroupCommit<NewJob, Date | null>((jobs, isPatient) =>
    this.#enqueue(jobs, isPatient),
  )
  #near: NearWorker | undefined

  constructor(control: Pool, limits: QueueLimits) {
    this.#control = control
    this.#limits = limits
  }

  /** From now on this worker is told of new jobs at once. The others are notified only when it has no room. */
  tellFirst(worker: NearWorker): void {
    this.#near = worker
  }

  /** When it was created; null: the queue of its user is full. */
  async add(job: NewJob): Promise<Date | null> {
    try {
      return await this.#groupCommit.write(job)
    } catch (error) {
      if (!isConnectionLoss(error)) throw error
      return this.#addAgain(job)
    }
  }

  /** The first attempt may have been written, or may still be. The job has the same id, so it is not queued twice. */
  #addAgain(job: NewJob): Promise<Date | null> {
    return this.#groupCommit.write(job).catch((error: unknown) => {
      // The first attempt was written while the second was under way.
      if (hasSqlstate(error, sqlstate.uniqueViolation)) return this.#groupCommit.write(job)
      throw error
    })
  }

  async #enqueue(jobs: readonly NewJob[], isPatient: boolean): Promise<readonly (Date | null)[]> {
    const isQuiet = this.#near?.hasRoom ?? false
    const queued = await enqueueJobs(this.#control, this.#limits, jobs, { isPatient, isQuiet })
    if (isQuiet && queued.some(({ isFree }) => isFree)) this.#tell()
    return queued.map(({ at }) => at)
  }

  #tell(): void {
    if (this.#near?.hasRoom) this.#near.wake()
    // If this fails, a worker finds the job when it polls.
    else announceJobs(this.#control).catch(() => undefined)
  }
}

/** `isFree`: it could run at once, if a worker is woken. */
export type QueuedJob = Readonly<{ at: Date | null; isFree: boolean }>

/** Puts jobs into the queue and, unless `isQuiet`, wakes the workers, in one transaction. */
export async function enqueueJobs(
  control: Pick<Pool, 'query'>,
  { jobQueueLimit, jobsPerUser }: QueueLimits,
  jobs: readonly NewJob[],
  { isPatient = true, isQuiet = false } = {},
): Promise<readonly QueuedJob[]> {
  // One lock order, by user, so no deadlock.
  const sorted = [...jobs].sort((one, other) => one.account.userId - other.account.userId)
  const { rows } = await control.query<{ at: Date | null; is_free: boolean }>({
    name: 'enqueue-jobs',
    text: 'select at, is_free from cartage.enqueue_jobs($1, $2, $3, $4, $5)',
    values: [JSON.stringify(sorted.map(recordOf)), isPatient, isQuiet, jobQueueLimit, jobsPerUser],
  })
  const queued = new Map(rows.map(({ at, is_free: isFree }, index) => [sorted[index], { at, isFree }]))
  return jobs.map((job) => queued.get(job)!)
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
