import type { Account } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import type { Control } from '../postgres/transaction.ts'
import {
  type ClaimedJob,
  type ClaimRequest,
  type Claims,
  type ClaimsRecord,
  claimValues,
  readClaims,
} from './claim-store.ts'
import type { JobDefinition } from './job.ts'

/** New jobs, and jobs whose worker is gone. */
export const queueChannel = 'cartage_jobs'
/** The id of a job that has ended, if a request waits for it. */
export const finishedChannel = 'cartage_finished_jobs'
/** Sent on the queue channel for orphans: running jobs without a worker. */
export const orphanMessage = 'orphan'
/** Sent on the queue channel when an account was suspended: workers release its jobs. By `cartage.hold_jobs`. */
export const heldMessage = 'held'

/** A job to be queued. */
export type NewJob = Readonly<{
  id: string
  account: Account
  definition: JobDefinition
  idempotencyKey: string | null
  /** Distinguishes a repeated request from another one with the same key. */
  requestHash: Buffer | null
}>

export type QueueLimits = Pick<Config, 'jobQueueLimit' | 'jobsPerUser' | 'importsPerUser'>

/** `queued` is the creation time of each; null: the user's queue is full. */
export type QueuedJobs = Claims & Readonly<{ queued: readonly (Date | null)[] }>

/**
 * Queues jobs in one transaction. If they need a worker, the one with the request gets what it asks for; without a
 * request the workers are notified.
 */
export async function enqueueJobs(
  control: Control,
  { jobQueueLimit, jobsPerUser, importsPerUser }: QueueLimits,
  jobs: readonly NewJob[],
  { isPatient = true, request }: { isPatient?: boolean; request?: ClaimRequest | undefined } = {},
): Promise<QueuedJobs> {
  // One lock order, imports last and then by user, so no deadlock.
  const sorted = [...jobs].sort(
    (one, other) =>
      Number(isImport(one)) - Number(isImport(other)) || one.account.userId - other.account.userId,
  )
  const { rows } = await control.query<{ answer: QueuedRecord }>({
    name: 'enqueue-jobs',
    text: 'select cartage.enqueue_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as answer',
    values: [
      JSON.stringify(sorted.map(recordOf)),
      isPatient,
      jobQueueLimit,
      jobsPerUser,
      ...claimValues(request),
      importsPerUser,
    ],
  })
  const { answer } = rows[0]!
  const times = new Map(sorted.map((job, index) => [job, answer.queued[index]]))
  const timeOf = (job: NewJob) => {
    const at = times.get(job)
    return at ? new Date(at) : null
  }
  return { queued: jobs.map(timeOf), ...readClaims(answer) }
}

type QueuedRecord = ClaimsRecord & Readonly<{ queued: readonly (string | null)[] }>

/** As `cartage.enqueue_jobs` reads it. */
function recordOf(job: NewJob) {
  const { id, account, definition, idempotencyKey, requestHash } = job
  return {
    user_id: account.userId,
    host_id: account.hostId,
    id,
    is_import: isImport(job),
    definition,
    // Columns beside the definition, by which jobs are listed.
    labels: definition.labels?.length ? definition.labels : undefined,
    schedule: definition.schedule,
    idempotency_key: idempotencyKey,
    request_hash: requestHash?.toString('hex'),
    not_before: definition.notBefore,
  }
}

const isImport = ({ definition }: NewJob) => definition.isImport ?? false

/** Locks a user's queue until the transaction ends, for jobs and imports alike: they share their idempotency keys. */
export async function lockQueue(tx: Control, { userId, hostId }: Account): Promise<void> {
  await tx.query(
    `insert into cartage.job_queues as q (user_id, host_id) values ($1, $2)
     on conflict (user_id, is_import) do update set pending = q.pending`,
    [userId, hostId],
  )
}

/** The server's epoch: from one crash to the next. */
export async function readServerEpoch(control: Control): Promise<string> {
  await control.query('insert into cartage.server_epoch default values on conflict do nothing')
  const { rows } = await control.query<{ id: string }>('select id from cartage.server_epoch')
  return rows[0]!.id
}

export async function queueStats(control: Control): Promise<Readonly<{ pending: number; running: number }>> {
  const { rows } = await control.query<{ pending: number; running: number }>(
    `select coalesce(sum(pending), 0)::integer as pending, coalesce(sum(running), 0)::integer as running
     from cartage.job_queues`,
  )
  return rows[0]!
}

/** After the clock was set back, users with a `last_served` in the future would come last until then. */
export async function capLastServed(control: Control): Promise<void> {
  await control.query({
    name: 'cap-last-served',
    text: `update cartage.job_queues set last_served = clock_timestamp()
      where pending > 0 and last_served > clock_timestamp()`,
  })
}

/** The claims that a worker has had for over a second, according to the database. */
export async function claimsOf(control: Control, workerId: number): Promise<readonly string[]> {
  const { rows } = await control.query<{ claim: string }>({
    name: 'claims-of',
    text: `select claim from cartage.jobs
      where status = 'running' and worker_id = $1 and updated_at < clock_timestamp() - interval '1 second'`,
    values: [workerId],
  })
  return rows.map(({ claim }) => claim)
}

/**
 * Releases jobs as they stand in the database, for the next worker that polls. Names claims, never a worker: a late
 * statement cannot release a job that was claimed again.
 */
export async function releaseClaims(control: Control, claims: readonly ClaimedJob['claim'][]): Promise<void> {
  await control.query({
    name: 'release-claims',
    text: `update cartage.jobs set worker_id = null, claim = null, revision = revision + 1, write_id = null
      where status = 'running' and claim = any ($1)`,
    values: [claims],
  })
}

/** Which of these users have waiting jobs because they are suspended. */
export async function heldUsers(control: Control, userIds: readonly number[]): Promise<readonly number[]> {
  const { rows } = await control.query<{ id: number }>({
    name: 'held-users',
    text: 'select distinct user_id as id from cartage.job_queues where user_id = any ($1) and is_held',
    values: [userIds],
  })
  return rows.map(({ id }) => id)
}

/** Notifies the workers of a new job. */
export async function announceJobs(control: Control): Promise<void> {
  await control.query(`select cartage.tell('${queueChannel}', '')`)
}

/** By `cartage.queue_due_jobs`. */
export const mostDueAtOnce = 200

/** Queues jobs whose time has come; how many. */
export async function queueDueJobs(control: Control): Promise<number> {
  const { rows } = await control.query<{ count: number }>({
    name: 'queue-due-jobs',
    text: 'select cartage.queue_due_jobs() as count',
  })
  return rows[0]!.count
}

/** Removes some jobs past their retention; true: there may be more. Small steps hold locks only briefly. */
export async function cleanJobs(control: Control, retentionDays: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.jobs j using (
       select user_id, id from cartage.jobs
       where finished_at < now() - $1 * interval '1 day'
       order by finished_at limit ${stepJobs} for update skip locked
     ) old where j.user_id = old.user_id and j.id = old.id`,
    [retentionDays],
  )
  return rowCount === stepJobs
}

const stepJobs = 500
