import { operator, recordAudit } from '../audit/audit-store.ts'
import type { Account } from '../auth/account.ts'
import { userByName } from '../auth/account-store.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import type { Installation } from '../hosts/installation.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { checkQuota } from './new-account.ts'
import { checkLimits } from './user-limits.ts'
import { updateUserRow } from './user-store.ts'

export type UserChanges = Readonly<{
  quotaBytes?: number | undefined
  apiKeyQuota?: number | null | undefined
  isOrgAdmin?: boolean | undefined
  limits?: Readonly<Record<string, unknown>> | undefined
}>

/** Changes what the operator may change of a user; the tenant database learns its new quota. */
export async function updateUser(
  installation: Installation,
  username: string,
  changes: UserChanges,
): Promise<Account> {
  const { control, admin, hosts } = installation.databases
  const account = await userByName(control, username)
  if (!account) throw errors.accountNotFound('User', username)
  checkChanges(account, changes)
  const changed = await inTransaction(control, async (tx) => {
    const { quotaBytes, apiKeyQuota, limits } = changes
    const orgRole = newOrgRole(account, changes)
    const isChanged = await updateUserRow(tx, account.userId, { quotaBytes, apiKeyQuota, limits, orgRole })
    if (!isChanged) throw errors.accountNotFound('User', username)
    await recordAudit(tx, {
      actor: operator,
      action: 'user.changed',
      account: username,
      details: {
        quota_in_bytes: changes.quotaBytes,
        api_key_quota: changes.apiKeyQuota,
        org_admin: changes.isOrgAdmin,
        limits: changes.limits,
      },
    })
    await announceChange(tx)
    return userByName(tx, username)
  })
  if (changes.quotaBytes !== undefined) {
    await admin.use(adminTarget(hosts, account.hostId, account.database), (session) =>
      session.query('update cartage.accounts set quota_in_bytes = $2 where username = $1', [
        username,
        changes.quotaBytes,
      ]),
    )
  }
  await awaitCaches(control, installation.log)
  return changed!
}

/** The owner of an organization stays its owner. */
function newOrgRole({ orgRole }: Account, { isOrgAdmin }: UserChanges): Account['orgRole'] | undefined {
  if (isOrgAdmin === undefined || orgRole === 'owner') return undefined
  return isOrgAdmin ? 'admin' : 'member'
}

function checkChanges(account: Account, changes: UserChanges): void {
  checkQuota(changes.quotaBytes)
  checkLimits(changes.limits)
  const { apiKeyQuota } = changes
  if (
    typeof apiKeyQuota === 'number' &&
    !(Number.isInteger(apiKeyQuota) && apiKeyQuota >= 0 && apiKeyQuota < 2 ** 31)
  ) {
    throw errors.accountInvalid('api_key_quota must be a whole number of 0 or more, or null for the default')
  }
  if (changes.isOrgAdmin !== undefined && !account.organization) {
    throw errors.accountInvalid('Only a member of an organization can be its admin')
  }
}
