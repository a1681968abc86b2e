import type { Account } from '../auth/account.ts'
import { type Databases, tenantPools } from '../postgres/databases.ts'
import { endBackendsUntilGone } from '../postgres/end-backend.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { findFlights } from './key-store.ts'

/** Ends everything that a role is doing, here and in every other process. */
export async function endSessions(databases: Databases, hostId: number, role: string): Promise<void> {
  for (const pools of tenantPools(databases)) pools.closeRole(hostId, role)
  await endUntilGone(databases, hostId, 'usename = $1', [role])
}

/**
 * Ends a role's requests; jobs continue, as they belong to the user and not to a token. A session can choose its
 * application name, so only backends are spared on which a job's statement was sent. A worker replaces one that was
 * waiting for its next statement.
 */
export async function endRequests(
  databases: Databases,
  { userId, hostId }: Account,
  role: string,
): Promise<void> {
  await endRequestsBut(databases, hostId, [role], () => findFlights(databases.control, userId))
}

/** The same for several roles. Backends that start from now on are spared: only workers open them. */
export async function endRequestsBut(
  databases: Databases,
  hostId: number,
  roles: readonly string[],
  findSpared: () => ReturnType<typeof findFlights>,
): Promise<void> {
  const { query, copy, session, tile } = databases
  for (const pools of [query, copy, session, tile]) for (const role of roles) pools.closeRole(hostId, role)
  const now = await clockOf(databases, hostId)
  const flights = await findSpared()
  const condition = `usename = any ($1) and backend_start <= $2::timestamptz and (pid, backend_start) not in (
    select * from rows from (pg_catalog.unnest($3::integer[]), pg_catalog.unnest($4::timestamptz[])) flight (pid, start)
  )`
  const spared = [flights.map(({ pid }) => pid), flights.map(({ start }) => start)]
  await endUntilGone(databases, hostId, condition, [roles, now, ...spared])
}

async function clockOf({ admin, hosts }: Databases, hostId: number): Promise<string> {
  return admin.use(adminTarget(hosts, hostId), async (session) => {
    const { rows } = await session.query<{ now: string }>('select pg_catalog.clock_timestamp()::text as now')
    return rows[0]!.now
  })
}

async function endUntilGone(
  { admin, hosts }: Databases,
  hostId: number,
  condition: string,
  values: unknown[],
): Promise<void> {
  await admin.use(adminTarget(hosts, hostId), (session) => endBackendsUntilGone(session, condition, values))
}
