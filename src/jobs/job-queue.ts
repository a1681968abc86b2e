import type { Pool } from 'pg'
import { GroupCommit } from '../postgres/control/group-commit.ts'
import { hasSqlstate, isConnectionLoss, sqlstate } from '../postgres/sqlstate.ts'
import type { ClaimRequest, Claims } from './claim-store.ts'
import type { Job } from './job.ts'
import { enqueueJobs, type NewJob, type QueueLimits } from './queue-store.ts'

/** The worker inside this process, which needs no notification. */
export type LocalWorker = Readonly<{
  /** Runs the jobs that `send` claims. Without a request if the worker is at its limit. `users`: one for each new job. */
  claimWith: <Answer extends Claims>(
    users: readonly number[],
    send: (request?: ClaimRequest) => Promise<Answer>,
  ) => Promise<Answer>
  /** For a job that the worker runs: the job when it has ended. Undefined if the worker released or lost the job. */
  endOf: (userId: number, jobId: string) => Promise<Job | undefined> | undefined
}>

/** Adds jobs to the queue, with group commit. */
export class JobQueue {
  readonly #control: Pool
  readonly #limits: QueueLimits
  readonly #groupCommit = new GroupCommit<NewJob, Date | null>((jobs, isPatient) =>
    this.#enqueue(jobs, isPatient),
  )
  #localWorker: LocalWorker | undefined

  constructor(control: Pool, limits: QueueLimits) {
    this.#control = control
    this.#limits = limits
  }

  /** From now on this worker gets new jobs at once. The others are notified only when it is at its limit. */
  useLocalWorker(worker: LocalWorker): void {
    this.#localWorker = worker
  }

  /** Returns the creation time; null: the user's queue is full. */
  async add(job: NewJob): Promise<Date | null> {
    try {
      return await this.#groupCommit.write(job)
    } catch (error) {
      if (!isConnectionLoss(error)) throw error
      return this.#addAgain(job)
    }
  }

  /** The first attempt may have been written, or still arrive. The job has the same id, so it is not queued twice. */
  #addAgain(job: NewJob): Promise<Date | null> {
    return this.#groupCommit.write(job).catch((error: unknown) => {
      // The first attempt was written while the second was in flight.
      if (hasSqlstate(error, sqlstate.uniqueViolation)) return this.#groupCommit.write(job)
      throw error
    })
  }

  async #enqueue(jobs: readonly NewJob[], isPatient: boolean): Promise<readonly (Date | null)[]> {
    const enqueue = (request?: ClaimRequest) =>
      enqueueJobs(this.#control, this.#limits, jobs, { isPatient, request })
    // Patient writes may block; do not block the worker.
    const local = isPatient ? undefined : this.#localWorker
    const users = jobs.map(({ account }) => account.userId)
    const { queued } = await (local ? local.claimWith(users, enqueue) : enqueue())
    return queued
  }
}
