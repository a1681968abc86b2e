import type { Account } from '../auth/account.ts'
import { type Databases, tenantPools } from '../postgres/databases.ts'
import { endBackendsUntilGone } from '../postgres/end-backend.ts'
import { endOnReplicas, endRequestsBut } from '../postgres/end-requests.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { findFlights } from './key-store.ts'

/** Ends everything that a role is doing, here and in every other process. */
export async function endSessions(databases: Databases, hostId: number, role: string): Promise<void> {
  for (const pools of tenantPools(databases)) pools.closeRole(hostId, role)
  const { admin, hosts } = databases
  await Promise.all([
    admin.use(adminTarget(hosts, hostId), (session) => endBackendsUntilGone(session, 'usename = $1', [role])),
    endOnReplicas(databases, hostId, [role]),
  ])
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
