import type { Pool } from 'pg'
import { masterTargetOf } from '../auth/account.ts'
import type { SessionTarget } from '../postgres/session-target.ts'
import { type JobRow, readStoredJob, type StoredJob } from './job-store.ts'

/** A job to run. */
export type ClaimedJob = StoredJob &
  Readonly<{
    /** Where, and as whom. */
    target: SessionTarget
    /** How often its step has lost its backend. */
    losses: number
    /** More jobs of the same user are waiting. */
    isFollowed: boolean
  }>

/** A job of the view cartage.runnable_jobs, as JSON. */
export type ClaimedRow = JobRow &
  Readonly<{
    flight_losses: number
    is_followed?: boolean
    master_role: string
    schema_name: string
    host_id: number
    database_name: string
  }>

export function readClaimedJob(row: ClaimedRow): ClaimedJob {
  const { host_id: hostId, database_name: database, schema_name: schema, master_role: masterRole } = row
  return {
    ...readStoredJob(row),
    target: masterTargetOf({ hostId, database, schema, masterRole }),
    losses: row.flight_losses,
    isFollowed: row.is_followed ?? false,
  }
}

/** The job again as it stands in the database, if it is still the caller's. */
export async function reloadJob(control: Pool, from: ClaimedJob): Promise<ClaimedJob | undefined> {
  const { rows } = await control.query<{ job: ClaimedRow }>(
    `select row_to_json(r) as job from cartage.runnable_jobs r
     where user_id = $1 and id = $2 and attempt = $3 and status = 'running'`,
    [from.userId, from.job.id, from.attempt],
  )
  return rows[0] && readClaimedJob(rows[0].job)
}
