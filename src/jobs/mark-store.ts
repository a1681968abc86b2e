import type { Databases } from '../postgres/databases.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { Flight } from './job-store.ts'

/** A canceller's mark: the step must not be sent. No backend has this pid. */
const notToBeSent: Flight = { pid: 0, backendStart: 'epoch', xid: null }

export const isNotToBeSent = ({ pid }: Flight) => pid === notToBeSent.pid

/** Marks that a step must not be sent. False: it has a flight that the caller has not settled. */
export async function markNotToBeSent(
  databases: Databases,
  hostId: number,
  step: Readonly<{ jobId: string; step: string }>,
  settled: Flight | null,
): Promise<boolean> {
  return (await markFlight(databases, hostId, step, notToBeSent, settled)) === 'marked'
}

/** `gone`: the backend has ended. A flight: an existing mark of the same step that the caller has not settled. */
export type Marked = 'marked' | 'gone' | Flight

/**
 * Marks on the statement's host that it is about to be sent, and waits for that host's disk. (In the control database's
 * cluster the job's row is in the same WAL, so no mark is needed.)
 */
export async function markFlight(
  { admin, hosts, namespace }: Databases,
  hostId: number,
  { jobId, step }: Readonly<{ jobId: string; step: string }>,
  flight: Flight,
  settled: Flight | null,
): Promise<Marked> {
  return admin.use(adminTarget(hosts, hostId, namespace), async (session) => {
    await session.query('set synchronous_commit = on')
    const { rows } = await session.query<{ mark: MarkRow }>(
      `select cartage.mark_flight($1, $2, $3, $4, $5, $6, $7, $8) as mark`,
      [jobId, step, ...fieldsOf(flight), ...fieldsOf(settled)],
    )
    const { outcome, ...other } = rows[0]!.mark
    return outcome === 'other'
      ? { pid: other.pid, backendStart: other.backend_start, xid: other.xid }
      : outcome
  })
}

type MarkRow =
  | Readonly<{ outcome: 'other'; pid: number; backend_start: string; xid: string | null }>
  | Readonly<{ outcome: 'marked' | 'gone'; pid: never; backend_start: never; xid: never }>

/**
 * Whether a flight's mark exists on its host. `lost`: it does not, so the statement was never sent, or a fail-over has
 * lost it. `foreign`: it was copied there from another cluster, where its xid meant something else.
 */
export async function findMark(
  session: Session,
  jobId: string,
  flight: Flight,
): Promise<'stands' | 'lost' | 'foreign'> {
  if (session.target.hostId === firstHostId) return 'stands'
  const { rows } = await session.query<{ is_own: boolean }>(
    `select f.system_identifier = c.system_identifier as is_own
     from cartage.flights f, pg_control_system() c
     where f.job_id = $1 and (f.xid, f.pid, f.backend_start) is not distinct from ($2::xid8, $3::integer, $4::timestamptz)`,
    [jobId, ...fieldsOf(flight)],
  )
  if (!rows[0]) return 'lost'
  return rows[0].is_own ? 'stands' : 'foreign'
}

/** The flights marked on a job's host, by step. The host of the control database has none. */
export async function listMarks(
  { admin, hosts, namespace }: Databases,
  hostId: number,
  jobId: string,
): Promise<ReadonlyMap<string, Flight>> {
  if (hostId === firstHostId) return new Map()
  return admin.use(adminTarget(hosts, hostId, namespace), async (session) => {
    const { rows } = await session.query<Flight & { step: string }>(
      `select step, pid, backend_start::text as "backendStart", xid::text from cartage.flights where job_id = $1`,
      [jobId],
    )
    return new Map(rows.map(({ step, ...flight }) => [step, flight]))
  })
}

/** Removes the marks of jobs past their retention. */
export async function cleanMarks(
  { admin, hosts, namespace }: Databases,
  hostId: number,
  retentionDays: number,
): Promise<void> {
  await admin.use(adminTarget(hosts, hostId, namespace), (session) =>
    session.query("delete from cartage.flights where marked_at < now() - $1 * interval '1 day'", [
      retentionDays,
    ]),
  )
}

function fieldsOf(flight: Flight | null): readonly [string | null, number | null, string | null] {
  return flight ? [flight.xid, flight.pid, flight.backendStart] : [null, null, null]
}
