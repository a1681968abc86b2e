import { operator, recordAudit } from '../audit/audit-store.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import type { Installation } from '../hosts/installation.ts'
import { allowLongStatements } from '../postgres/control/control-pool.ts'
import { inTransaction, onConnection } from '../postgres/transaction.ts'
import { holdingLocks, lockOrganization, patiently } from './account-lock.ts'
import { leavingToRepair, removeDatabase } from './delete-user.ts'
import { isOnItsWay } from './moves/move-store.ts'
import {
  closeOrganization,
  deleteOrganizationRow,
  findOrganization,
  masterRolesOf,
  type Organization,
} from './organization-store.ts'
import { dropRoles } from './tenant-roles.ts'

/** Deletes an organization whose only member is its owner, and the owner with it. */
export async function deleteOrganization(installation: Installation, name: string): Promise<void> {
  const { control } = installation.databases
  const found = await findOrganization(control, name)
  if (!found) throw errors.accountNotFound('Organization', name)
  const { id } = found
  await holdingLocks(control, async (client) => {
    if (!(await patiently(() => lockOrganization(client, id)))) throw errors.accountBusy(name)
    const organization = await onConnection(client, async (tx) => {
      if (await isOnItsWay(tx, null, id)) throw errors.accountBusy(name)
      // Read again: a move may have ended meanwhile, and the organization is on another host.
      const now = await findOrganization(tx, name)
      if (now?.id !== id) throw errors.accountNotFound('Organization', name)
      if (!(await closeOrganization(tx, id))) throw errors.organizationHasMembers(name)
      await recordAudit(tx, { actor: operator, action: 'organization.deleted', account: name })
      await announceChange(tx)
      return now
    })
    await awaitCaches(control, installation.log)
    await leavingToRepair(installation, removeOrganization(installation, organization))
  })
}

/** Removes everything of the organization and its members, even if incomplete. Safe to repeat. */
export async function removeOrganization(
  installation: Installation,
  organization: Organization,
): Promise<void> {
  const { control } = installation.databases
  const masterRoles = await masterRolesOf(control, organization.id)
  await removeDatabase(installation, organization.hostId, organization.database, masterRoles)
  for (const role of masterRoles) {
    await dropRoles(installation.databases, organization.hostId, role)
  }
  await inTransaction(control, async (tx) => {
    await allowLongStatements(tx)
    await deleteOrganizationRow(tx, organization)
  })
}
