import type { Pool } from 'pg'
import { masterTargetOf } from '../auth/account.ts'
import type { SessionTarget } from '../postgres/session-target.ts'
import { type JobRow, readStoredJob, type StoredJob } from './job-store.ts'

/** A job to run. */
export type ClaimedJob = StoredJob &
  Readonly<{
    claim: string
    /** Where to log in, and as which role. */
    target: SessionTarget
    /** How often its step has lost its connection, and how often its worker or the whole server. */
    losses: number
    restarts: number
    /** More jobs of the same user are waiting. */
    isFollowed: boolean
  }>

/** A job of the view cartage.runnable_jobs, as JSON. */
export type ClaimedRow = JobRow &
  Readonly<{
    claim: string
    flight_losses: number
    flight_restarts: number
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
    claim: row.claim,
    losses: row.flight_losses,
    restarts: row.flight_restarts,
    isFollowed: row.is_followed ?? false,
  }
}

/** The job as it stands in the database, if it still has the same claim. */
export async function reloadJob(control: Pool, from: ClaimedJob): Promise<ClaimedJob | undefined> {
  const { rows } = await control.query<{ job: ClaimedRow }>(
    `select row_to_json(r) as job from cartage.runnable_jobs r
     where user_id = $1 and id = $2 and claim = $3`,
    [from.userId, from.job.id, from.claim],
  )
  return rows[0] && readClaimedJob(rows[0].job)
}
