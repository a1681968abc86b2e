import { createHash, randomUUID } from 'node:crypto'
import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { limitOf } from '../config/account-limits.ts'
import type { Config } from '../config/config.ts'
import { maxJobCharacters } from '../contract/limits.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction, type Queryable } from '../postgres/transaction.ts'
import type { Job, JobDefinition } from './job.ts'
import type { JobQueue } from './job-queue.ts'
import { createJob } from './job-state.ts'
import { findJob, findSubmitted } from './job-store.ts'
import { enqueueJobs, lockQueue, type NewJob } from './queue-store.ts'

export type JobsContext = Readonly<{ databases: Databases; config: Config; jobQueue: JobQueue }>

export type SubmittedJob = Readonly<{ job: Job; isReplay: boolean }>

/** Whom a job tells. `write` writes it before the job is written. */
export type JobNotices = Readonly<{
  wanted: readonly unknown[]
  write: (control: Queryable, id: string) => Promise<void>
}>

/**
 * Queues a job. With an idempotency key, a repeated request returns the same job, and the notices are written in the transaction of
 * the job. Without one they are written before it, and may be written for a job that then is not.
 */
export async function submitJob(
  { databases, config, jobQueue }: JobsContext,
  account: Account,
  definition: JobDefinition,
  idempotencyKey?: string,
  notices: JobNotices = noNotices,
): Promise<SubmittedJob> {
  const newJob = { id: randomUUID(), account, definition, idempotencyKey: null, requestHash: null }
  if (idempotencyKey === undefined) {
    await notices.write(databases.control, newJob.id)
    const queuedAt = isLong(definition)
      ? (await enqueueJobs(databases.control, config, [newJob])).queued[0]!
      : await jobQueue.add(newJob)
    return { job: created(config, newJob, queuedAt), isReplay: false }
  }
  const request = { key: idempotencyKey, hash: hashOf(definition, notices.wanted) }
  return inTransaction(databases.control, async (tx) => {
    const earlier = await findEarlier(tx, account, request)
    if (earlier) return { job: earlier, isReplay: true }
    await notices.write(tx, newJob.id)
    const keyed = { ...newJob, idempotencyKey, requestHash: request.hash }
    const { queued } = await enqueueJobs(tx, config, [keyed])
    return { job: created(config, keyed, queued[0] ?? null), isReplay: false }
  })
}

const noNotices: JobNotices = { wanted: [], write: async () => undefined }

/** Written alone: jobs that share a commit are one message. */
const isLong = (definition: JobDefinition) => JSON.stringify(definition).length > maxJobCharacters

function created(config: Config, { id, account, definition }: NewJob, at: Date | null): Job {
  if (!at) throw errors.jobQueueFull(limitOf(config, account.setLimits, 'jobs_queued').value)
  return createJob(definition, id, account.username, at)
}

type Request = Readonly<{ key: string; hash: Buffer }>

function hashOf(definition: JobDefinition, wanted: JobNotices['wanted']): Buffer {
  // Without notices as in 0.1.0, whose keys are still stored.
  const request = wanted.length > 0 ? [definition, wanted] : definition
  return createHash('sha256').update(JSON.stringify(request)).digest()
}

/** Locks the user's queue: the second of two requests with one key waits, and then finds the job of the first. */
async function findEarlier(tx: ClientBase, account: Account, request: Request): Promise<Job | undefined> {
  await lockQueue(tx, account)
  const earlier = await findSubmitted(tx, account, request.key)
  if (!earlier) return undefined
  if (!earlier.requestHash.equals(request.hash)) throw errors.idempotencyKeyReused()
  return findJob(tx, account, earlier.id)
}
