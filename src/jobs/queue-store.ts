import type { Pool } from 'pg'
import type { ClaimedJob } from './claim-store.ts'

/** Anything that runs a prepared statement. */
type Control = Pick<Pool, 'query'>

/** New jobs, and jobs whose worker is gone. */
export const queueChannel = 'cartage_jobs'
/** The id of a job that has ended, if somebody waits for it. */
export const finishedChannel = 'cartage_finished_jobs'
/** Sent on the queue channel when there are orphans: running jobs without a worker. */
export const orphanMessage = 'orphan'

/** The epoch that the server is in: from one crash to the next. */
export async function readServerEpoch(control: Control): Promise<string> {
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
 * Releases jobs as they stand in the database, for whoever polls next. It names claims, never a worker: a statement that
 * arrives late cannot release a job that was claimed again.
 */
export async function releaseClaims(control: Control, claims: readonly ClaimedJob['claim'][]): Promise<void> {
  await control.query({
    name: 'release-claims',
    text: `update cartage.jobs set worker_id = null, claim = null, revision = revision + 1, write_id = null
      where status = 'running' and claim = any ($1)`,
    values: [claims],
  })
}

/** Wakes the workers: a job may be had. */
export async function announceJobs(control: Control): Promise<void> {
  await control.query(`select cartage.tell('${queueChannel}', '')`)
}
