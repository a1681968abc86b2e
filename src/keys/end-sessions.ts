import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'

/** Ends everything that a role is doing, here and in every other process. */
export async function endSessions(
  databases: Databases,
  hostId: number,
  role: string,
  roleId: number,
): Promise<void> {
  for (const pools of [databases.query, databases.copy, databases.job]) pools.closeRole(hostId, role)
  await databases.admin.use(adminTarget(databases.hosts, hostId), (session) =>
    session.query(
      'select pg_catalog.pg_terminate_backend(pid, 5000) from pg_catalog.pg_stat_activity where usesysid = $1',
      [roleId],
    ),
  )
}

/** Ends the requests of a role; jobs, which belong to the user and not to a token, go on. */
export async function endRequests(databases: Databases, hostId: number, role: string): Promise<void> {
  for (const pools of [databases.query, databases.copy]) pools.closeRole(hostId, role)
  await databases.admin.use(adminTarget(databases.hosts, hostId), (session) =>
    session.query(
      `select pg_catalog.pg_terminate_backend(pid, 5000) from pg_catalog.pg_stat_activity
       where usename = $1 and application_name !~ '^cartage job'`,
      [role],
    ),
  )
}
