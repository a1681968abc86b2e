import { poll } from '../waiting/poll.ts'
import type { Session } from './session.ts'

/** Identifies a backend for good: PostgreSQL reuses a pid, but not with the same start time. */
export type Backend = Readonly<{
  pid: number
  /** As text: a JavaScript Date has no microseconds. */
  backendStart: string
}>

/** The session's backend; undefined after the session has ended. */
export async function findBackend(administrator: Session, session: Session): Promise<Backend | undefined> {
  const { processId: pid } = session
  const { rows } = await administrator.query<{ start: string }>(
    'select backend_start::text as start from pg_catalog.pg_stat_activity where pid = $1',
    [pid],
  )
  // While our connection is open, its pid is not reused.
  return rows[0] && session.isAlive ? { pid, backendStart: rows[0].start } : undefined
}

/**
 * Ends a backend and waits; false if it is still there after `waitMs`. Terminates first, as a statement can catch a
 * cancel and go on; then cancels, as that is the only signal that GEOS and PostGIS check while they compute.
 */
export async function endBackend(
  administrator: Session,
  { pid, backendStart }: Backend,
  waitMs: number,
): Promise<boolean> {
  const onIt = (act: string) =>
    administrator.query<{ has_ended: boolean }>(
      `select ${act} from pg_catalog.pg_stat_activity where pid = $1 and backend_start = $2::timestamptz`,
      [pid, backendStart],
    )
  await onIt('pg_catalog.pg_terminate_backend(pid), pg_catalog.pg_cancel_backend(pid)')
  const { rows } = await onIt(`pg_catalog.pg_terminate_backend(pid, ${waitMs}) as has_ended`)
  // PostgreSQL also returns false for a backend that ended just before.
  return rows.every(({ has_ended }) => has_ended) || (await onIt('')).rowCount === 0
}

/**
 * Ends every backend whose row of pg_stat_activity satisfies `condition`, without waiting. Returns how many there were.
 * A condition on the pid alone is not enough: the pid may have been reused.
 */
export async function endBackends(
  administrator: Session,
  condition: string,
  values: unknown[] = [],
): Promise<number> {
  const { rowCount } = await administrator.query(
    `select pg_catalog.pg_terminate_backend(pid), pg_catalog.pg_cancel_backend(pid)
     from pg_catalog.pg_stat_activity where ${condition}`,
    values,
  )
  return rowCount ?? 0
}

/**
 * Repeats `endBackends` for a second, until none is left: a busy backend may not react at once, and a login in flight
 * may arrive after the first round.
 */
export async function endBackendsUntilGone(
  administrator: Session,
  condition: string,
  values: unknown[] = [],
): Promise<void> {
  const areGone = async () => (await endBackends(administrator, condition, values)) === 0 || undefined
  await poll(areGone, { everyMs: 50, timeoutMs: 1_000 })
}
