import type { Pool } from 'pg'
import type { Job } from './job.ts'
import { type Flight, type StoredJob, writeProgress } from './job-store.ts'

/** Anything that runs a prepared statement. */
type Control = Pick<Pool, 'query'>

/** New jobs, and jobs whose worker is gone. */
export const queueChannel = 'cartage_jobs'
/** The id of a job that has ended, if somebody waits for it. */
export const finishedChannel = 'cartage_finished_jobs'
/** What is said on the queue channel of a job that runs without a worker. */
export const orphanMessage = 'orphan'

/** `not ours`: the job has changed hands, or ended. `other life`: the server has crashed since what is written was learnt. */
export type Written = 'written' | 'not ours' | 'other life'

/** What a worker writes of a job in its hands: how it is now, and the statement that is about to be sent. */
export type Progress = Readonly<{
  job: Job
  flight: Flight | null
  losses: number
  /** The life of the server in which all this was learnt; null where that does not matter. */
  life: string | null
}>

export async function saveProgress(control: Control, from: StoredJob, progress: Progress): Promise<Written> {
  return writtenBy(
    await control.query<WriteRow>({
      name: 'save-progress',
      text: `with job as (
               update cartage.jobs set ${setProgress}
               where ${fence} and status = 'running' and ${sameLife}
               returning id
             )
             select exists (select from job) as is_written, ${sameLife} as is_same_life`,
      values: progressValues(from, progress),
    }),
  )
}

/** Gives a job back: to its place in the queue if nothing of it has run, else to whichever worker comes first. */
export async function releaseJob(control: Control, from: StoredJob, progress: Progress): Promise<Written> {
  return writtenBy(
    await control.query<WriteRow>({
      name: 'release-job',
      text: `with job as (
               update cartage.jobs set ${setProgress}, status = $10, worker_id = null
               where ${fence} and status = 'running' and ${sameLife}
               returning user_id, pg_notify('${queueChannel}', '${orphanMessage}')
             ), queue as (
               update cartage.job_queues q set pending = q.pending + 1, running = q.running - 1
               from job where q.user_id = job.user_id and $10 = 'pending'
             )
             select exists (select from job) as is_written, ${sameLife} as is_same_life`,
      values: [...progressValues(from, progress), progress.job.status],
    }),
  )
}

const fence = 'user_id = $1 and id = $2 and attempt = $3'
const setProgress = `progress = $5, flight_xid = $6, flight_pid = $7, flight_backend_start = $8::timestamptz,
  flight_losses = $9, updated_at = clock_timestamp()`
const sameLife = '($4::uuid is null or exists (select from cartage.server_life where id = $4))'

function progressValues(
  { userId, job: { id }, attempt }: StoredJob,
  { job, flight, losses, life }: Progress,
): unknown[] {
  const { xid = null, pid = null, backendStart = null } = flight ?? {}
  return [userId, id, attempt, life, writeProgress(job), xid, pid, backendStart, losses]
}

type WriteRow = Readonly<{ is_written: boolean; is_same_life: boolean }>

function writtenBy({ rows }: { rows: readonly WriteRow[] }): Written {
  const { is_written: isWritten, is_same_life: isSameLife } = rows[0]!
  if (isWritten) return 'written'
  return isSameLife ? 'not ours' : 'other life'
}

export type Ended =
  | Readonly<{ written: 'written'; at: Date }>
  | Readonly<{ written: Exclude<Written, 'written'> }>

/** Writes the final status of a job that was pending or running. */
export async function endJob(
  control: Control,
  from: StoredJob,
  job: Job,
  life: string | null = null,
): Promise<Ended> {
  const result = await control.query<WriteRow & { updated_at: Date }>({
    name: 'end-job',
    text: `with job as (
             update cartage.jobs set status = $6, progress = $7, worker_id = null, flight_xid = null, flight_pid = null,
               flight_backend_start = null, updated_at = clock_timestamp(), finished_at = clock_timestamp()
             where ${fence} and status = $5 and ${sameLife}
             returning user_id, updated_at,
               case when is_watched then pg_notify('${finishedChannel}', id::text) end
           ), queue as (
             update cartage.job_queues q
             set pending = q.pending - ($5 = 'pending')::integer, running = q.running - ($5 = 'running')::integer
             from job where q.user_id = job.user_id
           )
           select exists (select from job) as is_written, ${sameLife} as is_same_life,
             (select updated_at from job) as updated_at`,
    values: [from.userId, from.job.id, from.attempt, life, from.job.status, job.status, writeProgress(job)],
  })
  const written = writtenBy(result)
  return written === 'written' ? { written, at: result.rows[0]!.updated_at } : { written }
}

/** The life that the server is in. */
export async function readServerLife(control: Control): Promise<string> {
  await control.query('insert into cartage.server_life default values on conflict do nothing')
  const { rows } = await control.query<{ id: string }>('select id from cartage.server_life')
  return rows[0]!.id
}

export async function queueStats(control: Control): Promise<Readonly<{ pending: number; running: number }>> {
  const { rows } = await control.query<{ pending: number; running: number }>(
    `select coalesce(sum(pending), 0)::integer as pending, coalesce(sum(running), 0)::integer as running
     from cartage.job_queues`,
  )
  return rows[0]!
}

/** Lets go of a job as it stands in the database. Nobody is woken: whoever polls next finds it. */
export async function dropJob(control: Control, { userId, job: { id }, attempt }: StoredJob): Promise<void> {
  await control.query(
    `update cartage.jobs set worker_id = null
     where user_id = $1 and id = $2 and attempt = $3 and status = 'running'`,
    [userId, id, attempt],
  )
}

/** Wakes the workers: a job may be had. */
export async function announceJobs(control: Control): Promise<void> {
  await control.query(`select pg_notify('${queueChannel}', '')`)
}
