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
  organizationState,
} from './organization-store.ts'
import { dropRoles } from './tenant-roles.ts'

/** Deletes an organization whose only member is its owner, and the owner with it. */
export async function deleteOrganization(installation: Installation, name: string): Promise<void> {
  const { control } = installation.databases
  const organization = await findOrganization(control, name)
  if (!organization) throw errors.accountNotFound('Organization', name)
  await holdingLocks(control, async (client) => {
    if (!(await patiently(() => lockOrganization(client, organization.id)))) throw errors.accountBusy(name)
    if (!(await organizationState(client, organization.id))) {
      throw errors.accountNotFound('Organization', name)
    }
    await onConnection(client, async (tx) => {
      if (await isOnItsWay(tx, null, organization.id)) throw errors.accountBusy(name)
      if (!(await closeOrganization(tx, organization.id))) throw errors.organizationHasMembers(name)
      await recordAudit(tx, { actor: operator, action: 'organization.deleted', account: name })
      await announceChange(tx)
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
