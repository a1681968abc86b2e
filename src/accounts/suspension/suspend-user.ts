import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../../audit/audit-store.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import type { AuditAction } from '../../contract/admin-names.ts'
import { maxReasonLength } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { endRequestsBut } from '../../postgres/end-requests.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { poll } from '../../waiting/poll.ts'
import { whyNotChanged } from '../user-store.ts'
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
    if (account?.isMoving) throw errors.accountBusy(username)
    if (!account) throw errors.accountNotFound('User', username)
    if (!(await write(tx, account.userId))) throw await whyNotChanged(tx, username)
    await recordAudit(tx, { actor: operator, action, account: username, details })
    await announceChange(tx)
    return userByName(tx, username)
  })
  await awaitCaches(control, installation.log)
  return changed!
}

/** Ends what the roles of all keys do, except statements of jobs with a worker, which ends them and learns the outcome. */
export async function endRequests({ databases }: Installation, { userId, hostId }: Account): Promise<void> {
  const { control } = databases
  await endRequestsBut(databases, hostId, await rolesOf(control, userId), async () =>
    (await jobsAtWork(control, userId)).flatMap(({ pid, start, hasWorker }) =>
      hasWorker && pid !== null && start !== null ? [{ pid, start }] : [],
    ),
  )
}

/** A utility such as VACUUM is not cut short: its job waits from its end on. */
async function jobsReleased({ databases, log }: Installation, { userId, username }: Account): Promise<void> {
  const areReleased = async () =>
    (await jobsAtWork(databases.control, userId)).every(({ hasWorker }) => !hasWorker) || undefined
  const done = await poll(areReleased, { everyMs: 50, timeoutMs: 5_000 })
  if (!done) log.warn({ username }, 'a job of a suspended user still runs')
}
