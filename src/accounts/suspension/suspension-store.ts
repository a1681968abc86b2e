import type { ClientBase } from 'pg'
import type { Queryable } from '../../postgres/transaction.ts'

/** Suspends a user, or changes the reason. False: the user is being removed, or gone. */
export async function markSuspended(tx: ClientBase, userId: number, reason: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.users
     set suspended_at = coalesce(suspended_at, now()), suspended_reason = $2, updated_at = now()
     where id = $1 and state = 'active' and not is_moving`,
    [userId, reason],
  )
  return rowCount === 1
}

/** The same backwards. */
export async function markResumed(tx: ClientBase, userId: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.users set suspended_at = null, suspended_reason = null, updated_at = now(),
       resumed_at = case when suspended_at is null then resumed_at else clock_timestamp() end
     where id = $1 and state = 'active' and not is_moving`,
    [userId],
  )
  return rowCount === 1
}

/** While a user's jobs are held, no worker is given one, and those that run are released. */
export async function holdJobs(tx: ClientBase, userId: number, isHeld: boolean): Promise<void> {
  await tx.query('select cartage.hold_jobs($1, $2)', [userId, isHeld])
}

/** The roles of all keys of a user. */
export async function rolesOf(control: Queryable, userId: number): Promise<readonly string[]> {
  const { rows } = await control.query<{ role: string }>(
    'select role_name as role from cartage.api_keys where user_id = $1',
    [userId],
  )
  return rows.map(({ role }) => role)
}

/** The jobs of a user that a worker has, and the backends on which their statements run. */
export async function jobsAtWork(control: Queryable, userId: number): Promise<readonly JobAtWork[]> {
  const { rows } = await control.query<JobAtWork>(
    `select flight_pid as pid, flight_backend_start::text as start, worker_id is not null as "hasWorker"
     from cartage.jobs where user_id = $1 and status = 'running'`,
    [userId],
  )
  return rows
}

/** The start time as text: a JavaScript Date has no microseconds. */
export type JobAtWork = Readonly<{ pid: number | null; start: string | null; hasWorker: boolean }>
