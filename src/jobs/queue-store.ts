import type { Pool } from 'pg'
import type { StoredJob } from './job-store.ts'

/** Anything that runs a prepared statement. */
type Control = Pick<Pool, 'query'>

/** New jobs, and jobs whose worker is gone. */
export const queueChannel = 'cartage_jobs'
/** The id of a job that has ended, if somebody waits for it. */
export const finishedChannel = 'cartage_finished_jobs'
/** What is said on the queue channel of a job that runs without a worker. */
export const orphanMessage = 'orphan'

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

/**
 * Lets go of what a worker has had for a moment, according to the database, and does not know of: the answer that gave
 * it was lost. Should it arrive after all, the fence keeps the worker from it.
 */
export async function disownJobs(
  control: Control,
  workerId: number,
  known: readonly StoredJob[],
): Promise<number> {
  const { rowCount } = await control.query({
    name: 'disown-jobs',
    text: `update cartage.jobs j set worker_id = null, attempt = attempt + 1
      where status = 'running' and worker_id = $1 and updated_at < clock_timestamp() - interval '1 second'
        and not exists (select from unnest($2::uuid[], $3::integer[]) k (id, attempt) where k.id = j.id and k.attempt = j.attempt)`,
    values: [workerId, known.map(({ job }) => job.id), known.map(({ attempt }) => attempt)],
  })
  return rowCount ?? 0
}

/** Wakes the workers: a job may be had. */
export async function announceJobs(control: Control): Promise<void> {
  await control.query(`select pg_notify('${queueChannel}', '')`)
}
