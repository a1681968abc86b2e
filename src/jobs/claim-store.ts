import type { Pool } from 'pg'
import { masterTargetOf } from '../auth/account.ts'
import type { SetLimits } from '../contract/admin-names.ts'
import type { SessionTarget } from '../postgres/session-target.ts'
import { type JobRow, readStoredJob, type StoredJob } from './job-store.ts'

/** What a worker asks for. */
export type ClaimRequest = Readonly<{
  workerId: number
  /** Waiting jobs, and running ones that have lost their worker. */
  wanted: number
  wantedOrphans: number
  /** Waiting imports, which have slots of their own. */
  wantedImports: number
  perUser: number
  importsPerUser: number
  perHost: number
  openHosts: readonly number[]
}>

export type Claims = Readonly<{
  /** A claimed job with a flight had it when it lost its last worker. */
  claimed: readonly ClaimedJob[]
  /** There may be more jobs to claim. */
  hasMore: boolean
}>

/** A job to run. */
export type ClaimedJob = StoredJob &
  Readonly<{
    claim: string
    /** Where to log in, and as which role. */
    target: SessionTarget
    /** What its account has in place of the configured limits. */
    limits: SetLimits
    /** How often its step lost its connection, and how often its worker or the whole server was lost. */
    losses: number
    restarts: number
    /** Its user is suspended: only settle its flight. */
    isHeld: boolean
  }>

/** A job of the view cartage.runnable_jobs, as JSON. */
type ClaimedRow = JobRow &
  Readonly<{
    claim: string
    flight_losses: number
    flight_restarts: number
    is_held?: boolean
    master_role: string
    schema_name: string
    host_id: number
    database_name: string
    limits: SetLimits
  }>

/** Claims as the queue's functions return them. Empty without a request. */
export type ClaimsRecord = Readonly<{ claimed?: readonly ClaimedRow[]; has_more?: boolean }>

export function readClaims({ claimed = [], has_more: hasMore = false }: ClaimsRecord): Claims {
  return { claimed: claimed.map(readClaimedJob), hasMore }
}

/** A request as the queue's functions take it; the limits per user are passed separately. */
export function claimValues(request: ClaimRequest | undefined): unknown[] {
  const { workerId, wanted, wantedOrphans, perHost, openHosts, wantedImports } = request ?? {}
  return [workerId, wanted, wantedOrphans, perHost, openHosts, wantedImports]
}

function readClaimedJob(row: ClaimedRow): ClaimedJob {
  const { host_id: hostId, database_name: database, schema_name: schema, master_role: masterRole } = row
  return {
    ...readStoredJob(row),
    target: masterTargetOf({ hostId, database, schema, masterRole, setLimits: row.limits }),
    limits: row.limits,
    claim: row.claim,
    losses: row.flight_losses,
    restarts: row.flight_restarts,
    isHeld: row.is_held ?? false,
  }
}

/** The job's current row, if it still has the same claim. */
export async function reloadJob(control: Pool, from: ClaimedJob): Promise<ClaimedJob | undefined> {
  const { rows } = await control.query<{ job: ClaimedRow }>(
    `select row_to_json(r) as job from cartage.runnable_jobs r
     where user_id = $1 and id = $2 and claim = $3`,
    [from.userId, from.job.id, from.claim],
  )
  return rows[0] && readClaimedJob(rows[0].job)
}
