import { poll } from '../waiting/poll.ts'
import type { Session } from './session.ts'

/** One backend for ever: PostgreSQL gives a pid out again, but not together with the same start. */
export type Backend = Readonly<{
  pid: number
  /** As text: dates of JavaScript have no microseconds. */
  backendStart: string
}>

/** The backend of a session; none once the session has ended. */
export async function findBackend(administrator: Session, session: Session): Promise<Backend | undefined> {
  const { processId: pid } = session
  const { rows } = await administrator.query<{ start: string }>(
    'select backend_start::text as start from pg_catalog.pg_stat_activity where pid = $1',
    [pid],
  )
  // As long as our connection is open, nobody else has its pid.
  return rows[0] && session.isAlive ? { pid, backendStart: rows[0].start } : undefined
}

/**
 * Ends a backend and waits for its end; false if it is still there after `waitMs`. It is terminated first, as a statement can
 * catch a cancel and go on; then cancelled, as that is the only signal which GEOS and PostGIS look at while they compute.
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
  // PostgreSQL says false as well of one that ended just before.
  return rows.every(({ has_ended }) => has_ended) || (await onIt('')).rowCount === 0
}

/**
 * Ends every backend of which `condition`, on a row of pg_stat_activity, is true, and does not wait. Answers how many
 * there were. A condition on the pid alone is not enough, as another backend may have it by now.
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
 * The same, again and again until none is left, for a second: a backend at work on something long may not listen at
 * once, and a login that was on its way may come after the first look.
 */
export async function endBackendsUntilGone(
  administrator: Session,
  condition: string,
  values: unknown[] = [],
): Promise<void> {
  const areGone = async () => (await endBackends(administrator, condition, values)) === 0 || undefined
  await poll(areGone, { everyMs: 50, timeoutMs: 1_000 })
}
