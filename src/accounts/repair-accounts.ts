import type { Installation } from '../hosts/installation.ts'
import { removeAbandonedFolders } from '../postgres/dump/work-folder.ts'
import { isBusy, isOutOfReach } from '../postgres/sqlstate.ts'
import type { TenantDatabase } from '../postgres/tenant-names.ts'
import { holdingLocks, lockOrganization, lockUser } from './account-lock.ts'
import { removeOrganization } from './delete-organization.ts'
import { removeUser } from './delete-user.ts'
import { isInUse } from './in-use.ts'
import { listUnfinishedOrganizations, organizationState } from './organization-store.ts'
import { listUnfinishedUsers, userState } from './user-store.ts'

/**
 * Removes what a dead process left half-made or half-removed, and returns the names. An account in work has its lock
 * taken and is left alone.
 */
export async function repairAccounts(installation: Installation): Promise<readonly string[]> {
  // Of downloads, and of moves; the service ends what these moves have begun.
  await removeAbandonedFolders().catch(() => undefined)
  return [...(await repairOrganizations(installation)), ...(await repairUsers(installation))]
}

async function repairOrganizations(installation: Installation): Promise<string[]> {
  const removed: string[] = []
  for (const organization of await listUnfinishedOrganizations(installation.databases.control)) {
    await holdingLocks(installation.databases.control, async (client) => {
      if (!(await lockOrganization(client, organization.id))) return
      const state = await organizationState(client, organization.id)
      const remove = () => removeOrganization(installation, organization)
      if (await finish(installation, { state, place: organization, role: installation.namespace, remove }))
        removed.push(organization.name)
    })
  }
  return removed
}

async function repairUsers(installation: Installation): Promise<string[]> {
  const removed: string[] = []
  for (const { account } of await listUnfinishedUsers(installation.databases.control)) {
    await holdingLocks(installation.databases.control, async (client) => {
      if (!(await lockUser(client, account.userId))) return
      const state = await userState(client, account.userId)
      const remove = () => removeUser(installation, account)
      if (await finish(installation, { state, place: account, role: account.masterRole, remove }))
        removed.push(account.username)
    })
  }
  return removed
}

type Unfinished = Readonly<{
  /** Its process may have finished before we got the lock. */
  state: string | undefined
  place: TenantDatabase
  /** If this role owns tables, the account was finished once: then only the operator may delete it. */
  role: string
  remove: () => Promise<void>
}>

/**
 * True if it was removed. What a tenant blocks, or a silent host has, is left for the next repair, and does not block
 * the others.
 */
async function finish(
  { databases, log }: Installation,
  { state, place, role, remove }: Unfinished,
): Promise<boolean> {
  if (state !== 'creating' && state !== 'deleting') return false
  try {
    if (state === 'creating' && (await isInUse(databases, place, role))) {
      log.error({ role }, 'an account is recorded as half-made but owns tables: not removed')
      return false
    }
    await remove()
    return true
  } catch (error) {
    const level = isOutOfReach(error) || isBusy(error) ? 'warn' : 'error'
    log[level]({ err: error }, 'cannot remove an incomplete account: the next repair tries again')
    return false
  }
}
