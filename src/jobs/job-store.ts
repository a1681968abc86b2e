import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import type { Backend } from '../postgres/end-backend.ts'
import type { Control, Queryable } from '../postgres/transaction.ts'
import type { FallbackRecord, Item, Job, JobDefinition } from './job.ts'
import { accepted, beginStep, createJob } from './job-state.ts'
import { runningStep } from './job-step.ts'

/** A statement that was announced, and perhaps sent: the data needed to ask PostgreSQL for its outcome. */
export type Flight = Backend &
  Readonly<{
    /** Null for a statement that runs outside of a transaction of ours. */
    xid: string | null
  }>

/** A job, with its internal state. */
export type StoredJob = Readonly<{
  userId: number
  job: Job
  /** The fence: a write names the claim and revision that it read. If the row has others, nothing is changed. */
  claim: string | null
  revision: number
  flight: Flight | null
}>

export type JobRow = Readonly<{
  user_id: number
  id: string
  username: string
  status: Job['status']
  definition: JobDefinition
  progress: StoredProgress | null
  claim: string | null
  revision: number
  flight_xid: string | null
  flight_pid: number | null
  flight_backend_start: string | null
  created_at: Date | string
  updated_at: Date | string
  /** Set while a pending job waits for its time; null once it is claimed. */
  not_before?: Date | null
}>

/**
 * Requests a notification when the user's job ends. False: the row is locked, perhaps until a statement ends; this does
 * not wait.
 */
export async function watchJob(control: Pool, account: Account, id: string): Promise<boolean> {
  const { rows } = await control.query<{ is_watched: boolean }>({
    name: 'watch-job',
    // No need to wait for the disk: a crash ends the waiting too.
    text: `with marked as (
       update cartage.jobs set is_watched = true
       where user_id = $1 and id = (
         select id from cartage.jobs
         where user_id = $1 and id = $2 and finished_at is null and not is_watched
           and set_config('synchronous_commit', 'off', true) = 'off'
         for update skip locked
       )
       returning id
     )
     select is_watched or exists (select from marked) as is_watched
     from cartage.jobs where user_id = $1 and id = $2`,
    values: [account.userId, id],
  })
  return rows[0]?.is_watched ?? false
}

/** Returns those of the jobs that have ended. */
export async function endedJobs(
  control: Control,
  jobs: readonly Readonly<{ userId: number; id: string }>[],
): Promise<readonly string[]> {
  const { rows } = await control.query<{ id: string }>({
    name: 'ended-jobs',
    text: `select j.id from unnest($1::integer[], $2::uuid[]) w (user_id, id) join cartage.jobs j using (user_id, id)
      where j.finished_at is not null`,
    values: [jobs.map(({ userId }) => userId), jobs.map(({ id }) => id)],
  })
  return rows.map(({ id }) => id)
}

export async function findJob(control: Control, account: Account, id: string): Promise<Job | undefined> {
  return (await findStoredJob(control, account, id))?.job
}

/** The same with its internal state, such as the statement in flight. */
export async function findStoredJob(
  control: Control,
  account: Account,
  id: string,
): Promise<StoredJob | undefined> {
  const { rows } = await control.query<Omit<JobRow, 'username'>>({
    name: 'find-job',
    text: `${selectJobs} where user_id = $1 and id = $2`,
    values: [account.userId, id],
  })
  return rows[0] && readStoredJob({ ...rows[0], username: account.username })
}

/** The job submitted with an idempotency key, and the hash of that request. */
export async function findSubmitted(
  tx: Queryable,
  { userId }: Account,
  idempotencyKey: string,
): Promise<Readonly<{ id: string; requestHash: Buffer }> | undefined> {
  const { rows } = await tx.query<{ id: string; request_hash: Buffer }>(
    'select id, request_hash from cartage.jobs where user_id = $1 and idempotency_key = $2',
    [userId, idempotencyKey],
  )
  return rows[0] && { id: rows[0].id, requestHash: rows[0].request_hash }
}

/** Locks a job until the transaction ends. Undefined: it does not exist, or is locked already. */
export async function lockJob(tx: Queryable, account: Account, id: string): Promise<StoredJob | undefined> {
  const { rows } = await tx.query<Omit<JobRow, 'username'>>(
    `${selectJobs} where user_id = $1 and id = $2 for update skip locked`,
    [account.userId, id],
  )
  return rows[0] && readStoredJob({ ...rows[0], username: account.username })
}

/** Replaces the definition of a locked job that has not run yet. */
export async function replaceDefinition(
  tx: Queryable,
  { userId, job }: StoredJob,
  definition: JobDefinition,
): Promise<Date> {
  const { rows } = await tx.query<{ updated_at: Date }>(
    `update cartage.jobs
     set definition = $3, progress = null, revision = revision + 1, write_id = null, updated_at = clock_timestamp()
     where user_id = $1 and id = $2 returning updated_at`,
    [userId, job.id, JSON.stringify(definition)],
  )
  return rows[0]!.updated_at
}

const selectJobs = `select user_id, id, status, definition, progress, claim, revision, created_at, updated_at, not_before,
  flight_xid, flight_pid, flight_backend_start::text from cartage.jobs`

export function readStoredJob(row: JobRow): StoredJob {
  return {
    userId: row.user_id,
    job: readJob(row),
    claim: row.claim,
    revision: row.revision,
    flight:
      row.flight_pid === null
        ? null
        : { pid: row.flight_pid, backendStart: row.flight_backend_start!, xid: row.flight_xid },
  }
}

/** The progress of a job: everything that its definition does not contain. */
type StoredProgress = Partial<Pick<Job, 'failedReason' | 'failedSqlstate' | 'retries'>> &
  FallbackRecord & {
    readonly items: readonly (Omit<StoredStep, StepTime> & Partial<Record<StepTime, string>>)[]
  }
type StoredStep = Pick<Item, 'status' | 'failedReason' | 'failedSqlstate' | 'rows' | StepTime> &
  FallbackRecord
type StepTime = 'startedAt' | 'endedAt'

/** For JSON, which leaves out undefined members and turns dates into text. */
export function progressOf(job: Job) {
  const items = job.items.map((item) => ({
    ...outcomeOf(item),
    status: item.status,
    startedAt: item.startedAt,
    endedAt: item.endedAt,
    rows: item.rows,
  }))
  return { ...outcomeOf(job), retries: job.retries, items }
}

function outcomeOf({
  failedReason,
  failedSqlstate,
  fallbackStatus,
  fallbackFailedReason,
}: Pick<Item, 'failedReason' | 'failedSqlstate'> & FallbackRecord) {
  return { failedReason, failedSqlstate, fallbackStatus, fallbackFailedReason }
}

export function readJob(row: JobRow): Job {
  const untouched = createJob(row.definition, row.id, row.username, new Date(row.created_at))
  const { items = [], ...ofJob } = row.progress ?? {}
  const job = {
    ...untouched,
    ...ofJob,
    items: untouched.items.map((item, index) => ({ ...item, ...readRecord(items[index]) })),
    status: row.status,
    updatedAt: new Date(row.updated_at),
    ...(row.not_before && { delayedUntil: row.not_before }),
  }
  // Up to 0.1.0 a job could be claimed with a transaction begun before; such a row may be left by a worker that was killed.
  const isHandedOver = row.flight_pid !== null && !runningStep(job)
  return isHandedOver ? accepted(beginStep(job, job.updatedAt)) : job
}

function readRecord(record: StoredProgress['items'][number] | undefined): Partial<StoredStep> {
  if (!record) return {}
  const { startedAt, endedAt, ...others } = record
  return {
    ...others,
    ...(startedAt === undefined ? {} : { startedAt: new Date(startedAt) }),
    ...(endedAt === undefined ? {} : { endedAt: new Date(endedAt) }),
  }
}
