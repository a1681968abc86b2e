import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../../audit/audit-store.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import type { AuditAction } from '../../contract/admin-names.ts'
import { maxReasonLength } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { endBackendsUntilGone } from '../../postgres/end-backend.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { poll } from '../../waiting/poll.ts'
import { holdJobs, jobsAtWork, markResumed, markSuspended, rolesOf } from './suspension-store.ts'

/**
 * From now on every request of the user is refused, in every process. Its requests and sessions are ended, and its
 * running jobs go back to the queue, where they wait. Can be repeated: that changes the reason.
 */
export async function suspendUser(
  installation: Installation,
  username: string,
  reason: string,
): Promise<Account> {
  checkReason(reason)
  const account = await change(installation, username, 'user.suspended', { reason }, async (tx, userId) => {
    const isMarked = await markSuspended(tx, userId, reason)
    await holdJobs(tx, userId, true)
    return isMarked
  })
  await endRequests(installation, account)
  await jobsReleased(installation, account)
  return account
}

/** The user is served again, and its jobs go on. */
export function resumeUser(installation: Installation, username: string): Promise<Account> {
  return change(installation, username, 'user.resumed', {}, async (tx, userId) => {
    const isMarked = await markResumed(tx, userId)
    await holdJobs(tx, userId, false)
    return isMarked
  })
}

function checkReason(reason: string): void {
  if (reason.trim() === '' || [...reason].length > maxReasonLength || /\p{Cc}|\p{Cs}/u.test(reason)) {
    throw errors.accountInvalid(
      `reason must be a text of 1 to ${maxReasonLength} characters without control characters`,
    )
  }
}

/** Returns the changed user, once no process trusts the old record. */
async function change(
  installation: Installation,
  username: string,
  action: AuditAction,
  details: Readonly<Record<string, unknown>>,
  write: (tx: ClientBase, userId: number) => Promise<boolean>,
): Promise<Account> {
  const { control } = installation.databases
  const changed = await inTransaction(control, async (tx) => {
    const account = await userByName(tx, username)
    if (!account || !(await write(tx, account.userId))) throw errors.accountNotFound('User', username)
    await recordAudit(tx, { actor: operator, action, account: username, details })
    await announceChange(tx)
    return userByName(tx, username)
  })
  await awaitCaches(control, installation.log)
  return changed!
}

/** Ends what the roles of all keys do, except statements of jobs: their workers end them and learn the outcome. */
async function endRequests({ databases }: Installation, { userId, hostId }: Account): Promise<void> {
  const { admin, control, copy, hosts, query, session, tile } = databases
  const roles = await rolesOf(control, userId)
  for (const pools of [query, copy, session, tile]) for (const role of roles) pools.closeRole(hostId, role)
  const flights = (await jobsAtWork(control, userId)).filter(({ pid }) => pid !== null)
  const condition = `usename = any ($1) and (pid, backend_start) not in (
    select * from rows from (pg_catalog.unnest($2::integer[]), pg_catalog.unnest($3::timestamptz[])) flight (pid, start)
  )`
  const values = [roles, flights.map(({ pid }) => pid), flights.map(({ start }) => start)]
  await admin.use(adminTarget(hosts, hostId), (administrator) =>
    endBackendsUntilGone(administrator, condition, values),
  )
}

/** A statement that cannot run in a transaction is not cut short: its job waits from its end on. */
async function jobsReleased({ databases, log }: Installation, { userId, username }: Account): Promise<void> {
  const areReleased = async () =>
    (await jobsAtWork(databases.control, userId)).every(({ hasWorker }) => !hasWorker) || undefined
  const done = await poll(areReleased, { everyMs: 50, timeoutMs: 5_000 })
  if (!done) log.warn({ username }, 'a job of a suspended user still runs')
}
