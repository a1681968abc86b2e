import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '../auth/account.ts'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { findFlights } from './key-store.ts'

/** Ends everything that a role is doing, here and in every other process. */
export async function endSessions(databases: Databases, hostId: number, role: string): Promise<void> {
  for (const pools of [databases.query, databases.copy, databases.job]) pools.closeRole(hostId, role)
  await terminate(databases, hostId, 'usename = $1', [role])
}

/**
 * Ends the requests of a role; jobs, which belong to the user and not to a token, go on. A session calls itself what it
 * likes, so only the backends on which a statement of a job was sent are spared. One that waits for the next statement
 * is replaced by its worker.
 */
export async function endRequests(
  databases: Databases,
  { userId, hostId }: Account,
  role: string,
): Promise<void> {
  for (const pools of [databases.query, databases.copy]) pools.closeRole(hostId, role)
  const now = await clockOf(databases, hostId)
  const flights = await findFlights(databases.control, userId)
  const condition = `usename = $1 and backend_start <= $2::timestamptz and (pid, backend_start) not in (
    select * from rows from (pg_catalog.unnest($3::integer[]), pg_catalog.unnest($4::timestamptz[])) flight (pid, start)
  )`
  const spared = [flights.map(({ pid }) => pid), flights.map(({ start }) => start)]
  await terminate(databases, hostId, condition, [role, now, ...spared])
}

async function clockOf({ admin, hosts }: Databases, hostId: number): Promise<string> {
  return admin.use(adminTarget(hosts, hostId), async (session) => {
    const { rows } = await session.query<{ now: string }>('select pg_catalog.clock_timestamp()::text as now')
    return rows[0]!.now
  })
}

/** All at once; and waits for a moment until they are gone, as a backend at work on something long may not listen. */
async function terminate(
  { admin, hosts }: Databases,
  hostId: number,
  condition: string,
  values: unknown[],
): Promise<void> {
  await admin.use(adminTarget(hosts, hostId), async (session) => {
    for (let attempt = 1; attempt <= maxLooks; attempt += 1) {
      const { rowCount } = await session.query(
        `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where ${condition}`,
        values,
      )
      if (rowCount === 0) return
      await sleep(betweenLooksMs)
    }
  })
}

const maxLooks = 20
const betweenLooksMs = 50
