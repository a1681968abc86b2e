import type { ClientBase, PoolClient } from 'pg'
import { operator, recordAudit } from '../audit/audit-store.ts'
import type { Account } from '../auth/account.ts'
import { newToken } from '../auth/token.ts'
import { errors } from '../errors.ts'
import type { Installation } from '../hosts/installation.ts'
import { reachableHosts } from '../hosts/reachable-hosts.ts'
import { createTenantDatabase } from '../hosts/tenant-databases.ts'
import { inTransaction, onConnection } from '../postgres/transaction.ts'
import { holdingLocks, lockOrganization, lockUser } from './account-lock.ts'
import { checkAccountName } from './account-names.ts'
import { type CreatedUser, settleUser } from './create-user.ts'
import { removeOrganization } from './delete-organization.ts'
import { nextFreeId } from './free-ids.ts'
import { checkMasterToken, checkQuota, hostForNew } from './new-account.ts'
import {
  closeDraftOrganization,
  insertDraftOrganization,
  type Organization,
  setOrganizationState,
} from './organization-store.ts'
import { insertDraftUser } from './user-store.ts'

export type WantedOrganization = Readonly<{
  name: string
  owner: Readonly<{ username: string; quotaBytes?: number | undefined; masterToken?: string | undefined }>
}>

export type CreatedOrganization = Readonly<{ organization: Organization; owner: CreatedUser }>

/** Creates an organization, its database and its owner: all of it, or nothing. */
export async function createOrganization(
  installation: Installation,
  request: WantedOrganization,
): Promise<CreatedOrganization> {
  checkAccountName('organization name', request.name)
  checkAccountName('username', request.owner.username)
  if (request.name === request.owner.username) {
    throw errors.accountInvalid('An organization and its owner cannot have the same name')
  }
  checkQuota(request.owner.quotaBytes)
  await checkMasterToken(installation, request.owner.masterToken)
  const masterToken = request.owner.masterToken ?? newToken()
  const hostIds = await reachableHosts(installation.databases)
  return holdingLocks(installation.databases.control, async (client) => {
    const { organization, account } = await onConnection(client, (tx) =>
      draft(installation, tx, client, request, hostIds),
    )
    await finish(installation, client, organization, account, masterToken)
    return { organization: { ...organization, owner: account.username }, owner: { account, masterToken } }
  })
}

async function draft(
  installation: Installation,
  tx: ClientBase,
  client: PoolClient,
  { name, owner }: WantedOrganization,
  hostIds: readonly number[],
) {
  const hostId = await hostForNew(installation, tx, hostIds)
  const id = await nextFreeId(installation, tx, 'organizations', hostId)
  const organization = await insertDraftOrganization(tx, installation.namespace, id, name, hostId)
  const account = await insertDraftUser(tx, {
    id: await nextFreeId(installation, tx, 'users', hostId),
    username: owner.username,
    namespace: installation.namespace,
    organizationId: organization.id,
    orgRole: 'owner',
    databaseId: organization.databaseId,
    schema: owner.username,
    hostId: organization.hostId,
    quotaBytes: owner.quotaBytes ?? 0,
  })
  await lockOrganization(client, organization.id)
  await lockUser(client, account.userId)
  return { organization, account }
}

async function finish(
  installation: Installation,
  client: PoolClient,
  organization: Organization,
  account: Account,
  masterToken: string,
): Promise<void> {
  try {
    await createTenantDatabase(installation, organization.hostId, organization.database)
    await settleUser(installation, client, account, masterToken)
    await onConnection(client, async (tx) => {
      await setOrganizationState(tx, organization.id, 'active')
      await recordAudit(tx, {
        actor: operator,
        action: 'organization.created',
        account: organization.name,
        details: { owner: account.username },
      })
    })
  } catch (error) {
    if (!(await isMadeAfterAll(installation, organization))) throw error
  }
}

/** After a failure: a commit whose answer was lost may still have happened. If it has not, removes what exists. */
async function isMadeAfterAll(installation: Installation, organization: Organization): Promise<boolean> {
  const { control } = installation.databases
  try {
    const isDraft = await inTransaction(control, (tx) => closeDraftOrganization(tx, organization.id))
    if (!isDraft) return true
    await removeOrganization(installation, organization)
  } catch (again) {
    installation.log.error({ err: again }, 'an organization was left incomplete: repair will remove it')
  }
  return false
}
