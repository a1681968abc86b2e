import type { PoolClient } from 'pg'
import type { Account } from '../../auth/account.ts'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { onConnection } from '../../postgres/transaction.ts'
import { poll } from '../../waiting/poll.ts'
import { endRequests } from '../suspension/suspend-user.ts'
import { holdJobs, jobsAtWork } from '../suspension/suspension-store.ts'
import { closeLogins, rolesOf } from '../tenant-roles.ts'
import type { Move } from './move.ts'
import { markMoving } from './move-store.ts'

/**
 * From now on nothing of the user changes on its host: requests are refused in every process, running ones have ended,
 * jobs wait with known outcomes, and no role can log in. Returns the roles.
 */
export async function stopAccount(
  installation: Installation,
  client: PoolClient,
  account: Account,
  move: Move,
): Promise<readonly string[]> {
  const { databases, log } = installation
  const { hostId, masterRole, userId } = account
  await onConnection(client, async (tx) => {
    if (!(await markMoving(tx, move))) throw errors.accountBusy(account.username)
    await holdJobs(tx, userId, true)
    await announceChange(tx)
  })
  await awaitCaches(databases.control, log)
  await endRequests(installation, account)
  const areSettled = async () =>
    (await jobsAtWork(databases.control, userId)).every(({ hasWorker, pid }) => !hasWorker && pid === null) ||
    undefined
  if (!(await poll(areSettled, { everyMs: 100, timeoutMs: jobsMs })))
    throw errors.moveFailed('A job of the user did not stop in time')
  await closeLogins(databases, hostId, masterRole)
  return databases.admin.use(adminTarget(databases.hosts, hostId), (session) => rolesOf(session, masterRole))
}

/** A utility such as VACUUM or CREATE INDEX CONCURRENTLY is not cut short. */
const jobsMs = 60_000
