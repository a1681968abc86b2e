import { errors } from '../errors.ts'
import { awaitReplicas } from '../hosts/await-replicas.ts'
import type { Databases } from '../postgres/databases.ts'
import { endBackend } from '../postgres/end-backend.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget, type SessionTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { poll } from '../waiting/poll.ts'
import type { Job } from './job.ts'
import { stepSucceeded, stepUnknown, type Transition } from './job-state.ts'
import type { Flight } from './job-store.ts'
import { findMark } from './mark-store.ts'

/** The final outcome of a statement. */
export type FlightOutcome =
  | Readonly<{ kind: 'committed' }>
  /** `isServerRestarted`: the server was restarted or promoted since, so the statement did not end its own backend. */
  | Readonly<{ kind: 'aborted'; isServerRestarted: boolean }>
  | Readonly<{ kind: 'unknown'; reason: string }>

/** The statement has happened, or its outcome is unknown: it must not be sent again. */
export type SettledOutcome = Exclude<FlightOutcome, { kind: 'aborted' }>

/** Applies a settled flight to the running step of a job. */
export function stepSettled(job: Job, outcome: SettledOutcome): Transition {
  const at = new Date()
  return outcome.kind === 'committed' ? stepSucceeded(job, at) : stepUnknown(job, outcome.reason, at)
}

export type Patience = Readonly<{ attempts: number; waitMs: number }>

/**
 * Settles a flight: ends the statement's backend if it still exists, and asks PostgreSQL for the outcome. Throws if the
 * backend does not end in time, or if the synchronous replicas do not confirm the commit: a fail-over would undo it.
 */
export async function settleFlight(
  databases: Databases,
  hostId: number,
  jobId: string,
  flight: Flight,
  patience: Patience = { attempts: 6, waitMs: 5_000 },
): Promise<FlightOutcome> {
  return databases.admin.use(ownDatabase(databases, hostId), async (session) => {
    await endStatement(session, flight, patience)
    const aborted = async () =>
      ({ kind: 'aborted', isServerRestarted: await isServerRestarted(session, flight) }) as const
    switch (await findMark(session, jobId, flight)) {
      case 'lost':
        return aborted()
      case 'foreign':
        return { kind: 'unknown', reason: outcomeForeign }
      case 'stands':
        if (flight.xid === null) return { kind: 'unknown', reason: outcomeUnknowable }
    }
    const status = await finalStatus(session, flight.xid)
    if (status === null) return { kind: 'unknown', reason: outcomeTooOld }
    if (status === 'aborted') return aborted()
    if (!(await awaitReplicas(session, patience.waitMs))) throw errors.statementNotStopped()
    return { kind: 'committed' }
  })
}

/** True if the backend is running a statement now. */
export async function isInFlight(
  { admin, hosts }: Databases,
  hostId: number,
  { pid, backendStart }: Flight,
): Promise<boolean> {
  return admin.use(adminTarget(hosts, hostId), async (session) => {
    const { rowCount } = await session.query(
      `select from pg_stat_activity where pid = $1 and backend_start = $2::timestamptz and state = 'active'`,
      [pid, backendStart],
    )
    return rowCount === 1
  })
}

/** Where the marks of flights are; the host of the control database has none. */
function ownDatabase({ hosts, namespace }: Databases, hostId: number): SessionTarget {
  return hostId === firstHostId ? adminTarget(hosts, hostId) : adminTarget(hosts, hostId, namespace)
}

async function endStatement(session: Session, flight: Flight, { attempts, waitMs }: Patience): Promise<void> {
  for (let left = attempts; left > 0; left--) if (await endBackend(session, flight, waitMs)) return
  throw errors.statementNotStopped()
}

/** Null: so old that PostgreSQL has no record of it. */
async function finalStatus(session: Session, xid: string): Promise<'committed' | 'aborted' | null> {
  const ask = async () => {
    const status = await transactionStatus(session, xid)
    return status === 'in progress' ? undefined : status
  }
  const status = await poll(ask, { everyMs: 5, timeoutMs: 10_000 })
  if (status === undefined) throw errors.statementNotStopped()
  return status
}

async function transactionStatus(
  session: Session,
  xid: string,
): Promise<'committed' | 'aborted' | 'in progress' | null> {
  const { rows } = await session
    .query<{ status: 'committed' | 'aborted' | 'in progress' | null }>(
      'select pg_xact_status($1::xid8) as status',
      [xid],
    )
    .catch((error: unknown) => {
      // An xid in the future: another cluster assigned it, or this one was restored to an earlier state.
      if (hasSqlstate(error, sqlstate.invalidParameterValue)) return { rows: [{ status: null }] }
      throw error
    })
  return rows[0]!.status
}

async function isServerRestarted(session: Session, { backendStart }: Flight): Promise<boolean> {
  const { rows } = await session.query<{ restarted: boolean }>(
    `select pg_postmaster_start_time() > $1::timestamptz
       or coalesce(history.modification + interval '1 s' > $1::timestamptz, false) as restarted
     from pg_stat_file(${historyFile}, true) as history`,
    [backendStart],
  )
  return rows[0]!.restarted
}

/**
 * Written when a server is promoted, which may have been started long before. The first timeline has none. The file
 * time has no fractions of a second.
 */
const historyFile = `'pg_wal/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '.history'`

/** Why the outcome of a statement is unknown. */
const outcomeTooOld =
  'The outcome of the statement is not known: PostgreSQL no longer has a record of its transaction'

const outcomeUnknowable =
  'The outcome of the statement is not known: it cannot run inside a transaction, and its connection was lost while it ran'

const outcomeForeign =
  'The outcome of the statement is not known: its host was restored from a dump, which has no record of transactions'
