import { createHash, randomUUID } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import type { Config } from '../config.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import type { Job, JobDefinition } from './job.ts'
import { createJob } from './job-state.ts'
import { findJob } from './job-store.ts'
import { queueChannel } from './queue-store.ts'

export type JobsContext = Readonly<{ databases: Databases; config: Config }>

export type SubmittedJob = Readonly<{ job: Job; isReplay: boolean }>

/**
 * Puts a job into the queue and wakes a worker, in one transaction. With an idempotency key, the same request made
 * again answers the same job.
 */
export async function submitJob(
  context: JobsContext,
  account: Account,
  definition: JobDefinition,
  idempotencyKey?: string,
): Promise<SubmittedJob> {
  const { control } = context.databases
  const request = { key: idempotencyKey ?? null, hash: hashOf(definition) }
  if (request.key === null) {
    return { job: await enqueue(control, context.config, account, definition, request), isReplay: false }
  }
  return inTransaction(control, async (tx) => {
    const earlier = await findEarlier(tx, account, request)
    if (earlier) return { job: earlier, isReplay: true }
    return { job: await enqueue(tx, context.config, account, definition, request), isReplay: false }
  })
}

type Request = Readonly<{ key: string | null; hash: Buffer }>

function hashOf(definition: JobDefinition): Buffer {
  return createHash('sha256').update(JSON.stringify(definition)).digest()
}

/** Holding the user's queue, so that of two requests with one key the second finds the first. */
async function findEarlier(tx: ClientBase, account: Account, request: Request): Promise<Job | undefined> {
  await tx.query(
    `insert into cartage.job_queues as q (user_id, host_id) values ($1, $2)
     on conflict (user_id) do update set pending = q.pending`,
    [account.userId, account.hostId],
  )
  const { rows } = await tx.query<{ id: string; request_hash: Buffer }>(
    'select id, request_hash from cartage.jobs where user_id = $1 and idempotency_key = $2',
    [account.userId, request.key],
  )
  const earlier = rows[0]
  if (!earlier) return undefined
  if (!earlier.request_hash.equals(request.hash)) throw errors.idempotencyKeyReused()
  return findJob(tx, account, earlier.id)
}

/** A worker needs to be woken only by the first that waits, and if the user has a slot free: whoever ends a job takes the next one anyway. */
async function enqueue(
  control: Pick<Pool, 'query'>,
  { jobQueueLimit, jobsPerUser }: Config,
  account: Account,
  definition: JobDefinition,
  request: Request,
): Promise<Job> {
  const id = randomUUID()
  const { rows } = await control.query<{ created_at: Date }>({
    name: 'enqueue-job',
    text: `with queue as (
             insert into cartage.job_queues as q (user_id, host_id, pending) values ($1, $2, 1)
             on conflict (user_id) do update set pending = q.pending + 1 where q.pending < $3
             returning user_id, host_id, pending, running
           ), job as (
             insert into cartage.jobs (user_id, host_id, id, definition, idempotency_key, request_hash, created_at, updated_at)
             select user_id, host_id, $5, $6, $7, $8, now(), now() from queue
             returning created_at
           )
           select job.created_at, case when queue.pending = 1 and queue.running < $4 then pg_notify('${queueChannel}', '') end
           from job, queue`,
    values: [
      account.userId,
      account.hostId,
      jobQueueLimit,
      jobsPerUser,
      id,
      JSON.stringify(definition),
      request.key,
      request.key === null ? null : request.hash,
    ],
  })
  if (!rows[0]) throw errors.jobQueueFull(jobQueueLimit)
  return createJob(definition, id, account.username, rows[0].created_at)
}
