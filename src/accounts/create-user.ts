import type { ClientBase, PoolClient } from 'pg'
import { operator, recordAudit } from '../audit/audit-store.ts'
import type { Account } from '../auth/account.ts'
import { announceChange } from '../auth/change-feed.ts'
import { newToken } from '../auth/token.ts'
import { insertFirstKeys } from '../auth/token-store.ts'
import { errors } from '../errors.ts'
import type { Installation } from '../hosts/installation.ts'
import { reachableHosts } from '../hosts/reachable-hosts.ts'
import { createTenantDatabase } from '../hosts/tenant-databases.ts'
import { onConnection } from '../postgres/transaction.ts'
import { holdingLocks, lockUser } from './account-lock.ts'
import { checkAccountName } from './account-names.ts'
import { removeUser } from './delete-user.ts'
import { isTaken, nextFreeId } from './free-ids.ts'
import { checkMasterToken, checkQuota, hostForNew, reserveMasterToken } from './new-account.ts'
import { shareOrganization } from './organization-store.ts'
import { releaseSpares, reserveSpares, type SpareMember, takeSpare } from './spare-store.ts'
import { admitToDatabase, createRoles } from './tenant-roles.ts'
import { closeDraftUser, type DraftUser, insertDraftUser, setUserState } from './user-store.ts'

export type WantedUser = Readonly<{
  username: string
  quotaBytes?: number | undefined
  organization?: string | undefined
  isOrgAdmin?: boolean | undefined
  masterToken?: string | undefined
}>

export type CreatedUser = Readonly<{ account: Account; masterToken: string }>

/** Creates a user with database or schema, roles and the two first keys. If any of it fails, nothing is left. */
export async function createUser(installation: Installation, request: WantedUser): Promise<CreatedUser> {
  checkAccountName('username', request.username)
  checkQuota(request.quotaBytes)
  await checkMasterToken(installation, request.masterToken)
  const masterToken = request.masterToken ?? newToken()
  const hostIds = request.organization ? [] : await reachableHosts(installation.databases)
  const account = await holdingLocks(installation.databases.control, async (client) => {
    const draft = await onConnection(client, (tx) => draftUser(installation, tx, client, request, hostIds))
    await finishUser(installation, client, draft, masterToken)
    return draft.account
  })
  return { account, masterToken }
}

type DraftedUser = Readonly<{ account: Account; spares: readonly SpareMember[] }>

async function draftUser(
  installation: Installation,
  tx: ClientBase,
  client: PoolClient,
  request: WantedUser,
  hostIds: readonly number[],
): Promise<DraftedUser> {
  const { namespace } = installation
  const place = request.organization
    ? await placeInOrganization(tx, request, request.organization)
    : await placeAlone(installation, tx, request, hostIds)
  const { organizationId, hostId } = place
  const spareId =
    organizationId === null ? undefined : await spareIn(installation, tx, organizationId, hostId)
  const account = await insertDraftUser(tx, {
    id: spareId ?? (await nextFreeId(installation, tx, 'users', hostId)),
    username: request.username,
    namespace,
    quotaBytes: request.quotaBytes ?? 0,
    ...place,
  })
  await lockUser(client, account.userId)
  const isShort = organizationId !== null && spareId === undefined
  const spares = isShort ? await reserveSpares(installation, tx, organizationId, account) : []
  return { account, spares }
}

async function spareIn(
  installation: Installation,
  tx: ClientBase,
  organizationId: number,
  hostId: number,
): Promise<number | undefined> {
  for (;;) {
    const id = await takeSpare(tx, organizationId)
    if (id === undefined || !(await isTaken(installation, hostId, id))) return id
  }
}

type UserPlace = Pick<DraftUser, 'organizationId' | 'orgRole' | 'databaseId' | 'schema' | 'hostId'>

async function placeAlone(
  installation: Installation,
  tx: ClientBase,
  request: WantedUser,
  hostIds: readonly number[],
): Promise<UserPlace> {
  if (request.isOrgAdmin) throw errors.accountInvalid('Only a member of an organization can be its admin')
  return {
    organizationId: null,
    orgRole: null,
    databaseId: null,
    schema: 'public',
    hostId: await hostForNew(installation, tx, hostIds),
  }
}

async function placeInOrganization(
  tx: ClientBase,
  request: WantedUser,
  organization: string,
): Promise<UserPlace> {
  const found = await shareOrganization(tx, organization)
  if (!found) throw errors.accountInvalid(`The organization '${organization}' does not exist`)
  if (found.isMoving) throw errors.accountBusy(organization)
  return {
    organizationId: found.id,
    orgRole: request.isOrgAdmin ? 'admin' : 'member',
    databaseId: found.databaseId,
    schema: request.username,
    hostId: found.hostId,
  }
}

/** Makes the draft an active user. If anything fails, removes what exists of it. */
async function finishUser(
  installation: Installation,
  client: PoolClient,
  { account, spares }: DraftedUser,
  masterToken: string,
): Promise<void> {
  try {
    if (!account.organization) {
      await createTenantDatabase(installation, account.hostId, account.database)
    }
    await settleUser(installation, client, account, masterToken, spares)
  } catch (error) {
    if (!(await isMadeAfterAll(installation, account))) throw error
  }
}

/** After a failure: a commit whose answer was lost may still have happened. If it has not, removes what exists. */
export async function isMadeAfterAll(installation: Installation, account: Account): Promise<boolean> {
  try {
    if (!(await closeDraftUser(installation.databases.control, account.userId))) return true
    await removeUser(installation, account)
  } catch (again) {
    installation.log.error({ err: again }, 'an account was left incomplete: repair will remove it')
  }
  return false
}

/** Creates roles, rows and grants in an existing database, then the keys; the last commit makes the user visible. */
export async function settleUser(
  installation: Installation,
  client: PoolClient,
  account: Account,
  masterToken: string,
  spares: readonly SpareMember[] = [],
): Promise<void> {
  await createRoles(installation.databases, installation.secrets, account)
  await admitToDatabase(installation.databases, account, spares)
  await openUser(installation, client, account, {
    masterToken,
    alsoDo: async (tx) => {
      if (spares.length > 0) await releaseSpares(tx, account.userId)
    },
  })
}

type Opening = Readonly<{
  masterToken: string
  /** In the same transaction. */
  alsoDo: (tx: ClientBase) => Promise<void>
  /** More of what is recorded. */
  details?: Readonly<Record<string, unknown>>
}>

/** The transaction that makes the user visible, with its first keys. */
export async function openUser(
  { secrets }: Installation,
  client: PoolClient,
  account: Account,
  { masterToken, alsoDo, details }: Opening,
): Promise<void> {
  const organization = account.organization?.name ?? null
  await onConnection(client, async (tx) => {
    await reserveMasterToken(tx, secrets, masterToken)
    await insertFirstKeys(tx, secrets, account, masterToken)
    await setUserState(tx, account.userId, 'active')
    await alsoDo(tx)
    await recordAudit(tx, {
      actor: operator,
      action: 'user.created',
      account: account.username,
      details: { organization, quota_in_bytes: account.quotaBytes, ...details },
    })
    await announceChange(tx)
  })
}
