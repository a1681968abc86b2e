import type { PoolClient } from 'pg'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { onConnection } from '../../postgres/transaction.ts'
import { poll } from '../../waiting/poll.ts'
import { endRequests } from '../suspension/suspend-user.ts'
import { holdJobs, jobsAtWork } from '../suspension/suspension-store.ts'
import { closeLogins, rolesOf } from '../tenant-roles.ts'
import type { Household } from './household.ts'
import { type Move, nameOf } from './move.ts'
import { markMoving } from './move-store.ts'

/**
 * From now on nothing of the account changes on its host: requests are refused in every process, running ones have
 * ended, jobs wait with known outcomes, and no role can log in. Returns the roles.
 */
export async function stopAccount(
  installation: Installation,
  client: PoolClient,
  { members }: Household,
  move: Move,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { databases, log } = installation
  signal.throwIfAborted()
  await onConnection(client, async (tx) => {
    if (!(await markMoving(tx, move, members))) throw errors.accountBusy(nameOf(move))
    for (const { userId } of members) await holdJobs(tx, userId, true)
    await announceChange(tx)
  })
  await awaitCaches(databases.control, log)
  for (const member of members) await endRequests(installation, member)
  for (const { userId } of members) await jobsSettled(installation, userId, signal)
  const roles: string[] = []
  for (const { hostId, masterRole } of members) {
    signal.throwIfAborted()
    await closeLogins(databases, hostId, masterRole)
    roles.push(
      ...(await databases.admin.use(adminTarget(databases.hosts, hostId), (session) =>
        rolesOf(session, masterRole),
      )),
    )
  }
  return roles
}

async function jobsSettled(
  { databases: { control } }: Installation,
  userId: number,
  signal: AbortSignal,
): Promise<void> {
  const areSettled = async () => {
    signal.throwIfAborted()
    const jobs = await jobsAtWork(control, userId)
    return jobs.every(({ hasWorker, pid }) => !hasWorker && pid === null) || undefined
  }
  if (!(await poll(areSettled, { everyMs: 100, timeoutMs: jobsMs })))
    throw errors.moveFailed('A job of the user did not stop in time')
}

/** A utility such as VACUUM or CREATE INDEX CONCURRENTLY is not cut short. */
const jobsMs = 60_000
