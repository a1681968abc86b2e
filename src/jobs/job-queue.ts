import type { Pool } from 'pg'
import { GroupCommit } from '../postgres/control/group-commit.ts'
import { hasSqlstate, isConnectionLoss, sqlstate } from '../postgres/sqlstate.ts'
import type { ClaimRequest } from './claim-store.ts'
import type { LocalWorker } from './local-worker.ts'
import { enqueueJobs, type NewJob, type QueueLimits } from './queue-store.ts'

/** The way into the queue, with group commit. */
export class JobQueue {
  readonly #control: Pool
  readonly #limits: QueueLimits
  readonly #groupCommit = new GroupCommit<NewJob, Date | null>((jobs, isPatient) =>
    this.#enqueue(jobs, isPatient),
  )
  #near: LocalWorker | undefined

  constructor(control: Pool, limits: QueueLimits) {
    this.#control = control
    this.#limits = limits
  }

  /** From now on this worker is given new jobs at once. The others are notified only when it has its hands full. */
  giveFirst(worker: LocalWorker): void {
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
    const enqueue = (request?: ClaimRequest) =>
      enqueueJobs(this.#control, this.#limits, jobs, { isPatient, request })
    // Who has to wait for somebody must not have the worker wait too.
    const near = isPatient ? undefined : this.#near
    const users = jobs.map(({ account }) => account.userId)
    const { queued } = await (near ? near.claimWith(users, enqueue) : enqueue())
    return queued
  }
}
