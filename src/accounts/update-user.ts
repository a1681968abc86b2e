import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../audit/audit-store.ts'
import type { Account } from '../auth/account.ts'
import { userByName } from '../auth/account-store.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import type { Installation } from '../hosts/installation.ts'
import { whileAskingHost } from '../postgres/control/while-asking-host.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { type GivenLimits, readLimits } from './limits/check-limits.ts'
import { limitJobs } from './limits/plan-store.ts'
import { checkKeyQuota, checkQuota } from './new-account.ts'
import { updateUserRow, whyNotChanged } from './user-store.ts'

export type WantedUserChanges = Readonly<{
  quotaBytes?: number | undefined
  apiKeyQuota?: number | null | undefined
  isOrgAdmin?: boolean | undefined
  limits?: GivenLimits | undefined
  /** Null is none. */
  plan?: string | null | undefined
}>

/** Changes what the operator may change of a user; a new quota also goes to the tenant database. */
export async function updateUser(
  installation: Installation,
  username: string,
  changes: WantedUserChanges,
): Promise<Account> {
  const { control } = installation.databases
  const account = await userByName(control, username)
  if (!account) throw errors.accountNotFound('User', username)
  if (account.isMoving) throw errors.accountBusy(username)
  checkChanges(account, changes)
  const limits = changes.limits && readLimits(changes.limits)
  const change = async (tx: ClientBase) => {
    const { quotaBytes, apiKeyQuota, plan } = changes
    const columns = { quotaBytes, apiKeyQuota, limits, plan, orgRole: newOrgRole(account, changes) }
    const isChanged = await updateUserRow(tx, account.userId, columns).catch(explainPlan(plan))
    if (!isChanged) throw await whyNotChanged(tx, username)
    await recordAudit(tx, {
      actor: operator,
      action: 'user.changed',
      account: username,
      details: {
        quota_in_bytes: changes.quotaBytes,
        api_key_quota: changes.apiKeyQuota,
        org_admin: changes.isOrgAdmin,
        limits,
        plan,
      },
    })
    await announceChange(tx)
    // While the row is locked, so that two concurrent changes arrive there in the same order.
    if (quotaBytes !== undefined) await storeQuota(installation, account, quotaBytes)
    // Last: it holds a lock that all changes of limits need, and the queue of the user. A host that is silent must not hold them up.
    if (limits !== undefined || plan !== undefined) await limitJobs(tx, { userId: account.userId })
    return userByName(tx, username)
  }
  const changed = await whileAskingHost(control, account.hostId, () => inTransaction(control, change))
  await awaitCaches(control, installation.log)
  return changed!
}

/** Stores it in the tenant's own database, which enforces it. */
async function storeQuota(
  { databases: { admin, hosts } }: Installation,
  { username, hostId, database }: Account,
  bytes: number,
): Promise<void> {
  await admin.use(adminTarget(hosts, hostId, database), (session) =>
    session.query('update cartage.accounts set quota_in_bytes = $2 where username = $1', [username, bytes]),
  )
}

/** A plan that was deleted a moment ago is unknown too. */
const explainPlan = (plan: string | null | undefined) => (error: unknown) => {
  throw hasSqlstate(error, sqlstate.foreignKeyViolation)
    ? errors.accountInvalid(`There is no plan '${plan}'`)
    : error
}

/** The owner of an organization stays its owner. */
function newOrgRole({ orgRole }: Account, { isOrgAdmin }: WantedUserChanges): Account['orgRole'] | undefined {
  if (isOrgAdmin === undefined || orgRole === 'owner') return undefined
  return isOrgAdmin ? 'admin' : 'member'
}

function checkChanges(account: Account, changes: WantedUserChanges): void {
  checkQuota(changes.quotaBytes)
  checkKeyQuota(changes.apiKeyQuota)
  if (changes.isOrgAdmin !== undefined && !account.organization) {
    throw errors.accountInvalid('Only a member of an organization can be its admin')
  }
}
