import type { Installation } from '../hosts/installation.ts'
import { isOutOfReach } from '../hosts/out-of-reach.ts'
import { isBusy } from '../postgres/sqlstate.ts'
import { holdingLocks, lockOrganization, lockUser } from './account-lock.ts'
import { removeOrganization } from './delete-organization.ts'
import { removeUser } from './delete-user.ts'
import { listUnfinishedOrganizations, organizationState } from './organization-store.ts'
import { listUnfinishedUsers, userState } from './user-store.ts'

/**
 * Removes what a dead process left half-made or half-removed, and answers the names. An account that somebody is
 * working on right now has its lock taken and is left alone.
 */
export async function repairAccounts(installation: Installation): Promise<readonly string[]> {
  return [...(await repairOrganizations(installation)), ...(await repairUsers(installation))]
}

async function repairOrganizations(installation: Installation): Promise<string[]> {
  const removed: string[] = []
  for (const organization of await listUnfinishedOrganizations(installation.databases.control)) {
    await holdingLocks(installation.databases.control, async (client) => {
      if (!(await lockOrganization(client, organization.id))) return
      if (!isUnfinished(await organizationState(client, organization.id))) return
      if (await succeeds(installation, removeOrganization(installation, organization)))
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
      if (!isUnfinished(await userState(client, account.userId))) return
      if (await succeeds(installation, removeUser(installation, account))) removed.push(account.username)
    })
  }
  return removed
}

/** Whoever worked on it may have finished before we had the lock. */
const isUnfinished = (state: string | undefined) => state === 'creating' || state === 'deleting'

/** An account on a host that does not answer, or that a tenant holds, is left for the next repair. */
async function succeeds({ log }: Installation, removal: Promise<void>): Promise<boolean> {
  try {
    await removal
    return true
  } catch (error) {
    if (!isOutOfReach(error) && !isBusy(error)) throw error
    log.warn({ err: error }, 'an account is left to repair')
    return false
  }
}
