import assert from 'node:assert/strict'
import { eventually, type Setup } from '../service/setup.ts'

export type RunningStatement = Readonly<{ pid: number; backendStart: string }>

/** The backend that runs a statement of a job now, found as the service does: by the job's row. */
export async function findRunning(
  { admin, service }: Pick<Setup, 'admin' | 'service'>,
  jobId: string,
  item?: number,
): Promise<RunningStatement | undefined> {
  const { rows } = await admin(
    `select flight_pid as pid, flight_backend_start::text as "backendStart" from cartage.jobs
     where id = $1 and flight_pid is not null and ($2::integer is null or
       coalesce(progress -> 'items' -> $2 ->> 'status', case when $2 = 0 then 'running' end) = 'running')`,
    [jobId, item],
    service.services.config.namespace,
  )
  if (!rows[0]) return undefined
  const { rowCount } = await admin(
    `select from pg_stat_activity where pid = $1 and backend_start = $2::timestamptz and state = 'active'`,
    [rows[0].pid, rows[0].backendStart],
  )
  return rowCount === 1 ? rows[0] : undefined
}

/** Waits until the statement of a job, or of one of its items, runs. */
export async function untilRunning(
  bundle: Pick<Setup, 'admin' | 'service'>,
  jobId: string,
  item?: number,
  timeoutMs?: number,
): Promise<RunningStatement> {
  return eventually(async () => {
    const found = await findRunning(bundle, jobId, item)
    assert.ok(found, 'the statement runs')
    return found
  }, timeoutMs)
}
