import { setTimeout as sleep } from 'node:timers/promises'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'

/** Ends everything that a role is doing, here and in every other process. */
export async function endSessions(databases: Databases, hostId: number, role: string): Promise<void> {
  for (const pools of [databases.query, databases.copy, databases.job]) pools.closeRole(hostId, role)
  await terminate(databases, hostId, role, 'true')
}

/** Ends the requests of a role; jobs, which belong to the user and not to a token, go on. */
export async function endRequests(databases: Databases, hostId: number, role: string): Promise<void> {
  for (const pools of [databases.query, databases.copy]) pools.closeRole(hostId, role)
  await terminate(databases, hostId, role, "application_name !~ '^cartage job'")
}

/** All at once; and waits for a moment until they are gone, as a backend at work on something long may not listen. */
async function terminate(
  { admin, hosts }: Databases,
  hostId: number,
  role: string,
  condition: string,
): Promise<void> {
  await admin.use(adminTarget(hosts, hostId), async (session) => {
    for (let attempt = 1; attempt <= maxLooks; attempt += 1) {
      const { rowCount } = await session.query(
        `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
         where usename = $1 and ${condition}`,
        [role],
      )
      if (rowCount === 0) return
      await sleep(betweenLooksMs)
    }
  })
}

const maxLooks = 20
const betweenLooksMs = 50
