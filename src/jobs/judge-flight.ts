import { setTimeout as sleep } from 'node:timers/promises'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import type { Flight } from './job-store.ts'

export type Verdict = Readonly<{
  outcome: 'committed' | 'aborted' | 'unknown'
  /** The server has been started anew since: the backend did not end by its own doing. */
  isServerRestarted: boolean
}>

/**
 * Ends the backend that a statement was sent to, if it is still there, and asks PostgreSQL what became of the
 * statement. Afterwards nothing can change the answer.
 */
export async function judgeFlight(
  { admin, hosts }: Databases,
  hostId: number,
  flight: Flight,
): Promise<Verdict> {
  return admin.use(adminTarget(hosts, hostId), async (session) => {
    await endBackend(session, flight)
    return {
      outcome: flight.xid === null ? 'unknown' : await transactionOutcome(session, flight.xid),
      isServerRestarted: await isServerRestarted(session, flight),
    }
  })
}

/** Whether a statement is running right now on the backend. */
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

/** Terminated, not cancelled: a statement can catch the latter and go on. */
async function endBackend(session: Session, { pid, backendStart }: Flight): Promise<void> {
  for (let patience = endAttempts; patience > 0; patience--) {
    const { rowCount } = await session.query(
      `select pg_terminate_backend(pid, ${endWaitMs}) from pg_stat_activity
       where pid = $1 and backend_start = $2::timestamptz`,
      [pid, backendStart],
    )
    if (rowCount === 0) return
  }
  throw errors.statementNotStopped()
}

const endAttempts = 6
const endWaitMs = 5_000

async function transactionOutcome(session: Session, xid: string): Promise<Verdict['outcome']> {
  for (;;) {
    const status = await transactionStatus(session, xid)
    // Null: so old that PostgreSQL has forgotten it.
    if (status === null) return 'unknown'
    if (status !== 'in progress') return status
    await sleep(askAgainMs)
  }
}

const askAgainMs = 5

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
      // In the future: this is not the cluster that gave the xid, or it was set back.
      if (hasSqlstate(error, sqlstate.invalidParameterValue)) return { rows: [{ status: null }] }
      throw error
    })
  return rows[0]!.status
}

async function isServerRestarted(session: Session, { backendStart }: Flight): Promise<boolean> {
  const { rows } = await session.query<{ restarted: boolean }>(
    'select pg_postmaster_start_time() > $1::timestamptz as restarted',
    [backendStart],
  )
  return rows[0]!.restarted
}
