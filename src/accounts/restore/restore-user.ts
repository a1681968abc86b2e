import type { ClientBase, PoolClient } from 'pg'
import type { Account } from '../../auth/account.ts'
import { awaitCaches } from '../../auth/change-feed.ts'
import { newToken } from '../../auth/token.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { reachableHosts } from '../../hosts/reachable-hosts.ts'
import { findDumpPrograms } from '../../postgres/dump/find-programs.ts'
import { hostFromUrl } from '../../postgres/hosts.ts'
import { keyRoleName } from '../../postgres/tenant-names.ts'
import { onConnection } from '../../postgres/transaction.ts'
import { unlessAborted } from '../../waiting/unless-aborted.ts'
import { holdingLocks, lockUser } from '../account-lock.ts'
import { checkAccountName } from '../account-names.ts'
import { type CreatedUser, isMadeAfterAll, openUser } from '../create-user.ts'
import { nextFreeId } from '../free-ids.ts'
import { limitJobs } from '../limits/plan-store.ts'
import { requireEqual } from '../moves/compare.ts'
import { copyAccount, majorOf } from '../moves/copy-account.ts'
import { dropMover } from '../moves/mover.ts'
import { hostForNew } from '../new-account.ts'
import { repairAccounts } from '../repair-accounts.ts'
import { closeDraftUser, insertDraftUser, isNameTaken, updateUserRow } from '../user-store.ts'
import { type RoleNames, renameSaved } from './rename-saved.ts'
import { type RestoreDetails, recordRestore } from './restore-audit.ts'
import { insertRestoredKeys, nextKeyIds } from './restore-store.ts'
import { type Backup, backupHostId, longestCopyMs, readSavedUser, type SavedUser } from './saved-user.ts'
import { untilLost, untilMoved } from './until-lost.ts'

/** Refuses what would fail later, before the backup is unpacked. */
export async function checkNewName(installation: Installation, as: string): Promise<void> {
  checkAccountName('username', as)
  // A restore that was killed left the name.
  await repairAccounts(installation)
  if (await isNameTaken(installation.databases.control, as)) throw errors.accountTaken(as)
}

export type RestoredUser = CreatedUser & Readonly<{ keys: readonly string[] }>

export type Restoring = Readonly<{
  username: string
  as: string
  details: RestoreDetails
  signal: AbortSignal
  /** In percent. */
  noteProgress?: (percent: number) => Promise<void>
  /** In the transaction that makes the user visible, with the names of its keys. */
  alsoDo?: (tx: ClientBase, keys: readonly string[]) => Promise<void>
}>

/**
 * Makes a new user with the data and keys of a user in a backup, while the service goes on. The data is loaded as the new
 * user itself. If any of it fails, nothing is left; what a killed process leaves is removed by repair.
 */
export async function restoreUser(
  installation: Installation,
  backup: Backup,
  restoring: Restoring,
): Promise<RestoredUser> {
  const { username, as } = restoring
  const hostIds = await reachableHosts(installation.databases)
  // Nothing else in this process may take the backup for a host.
  const databases = installation.databases.withHost(hostFromUrl(backupHostId, 'backup', backup.url))
  const apart = { ...installation, databases }
  try {
    const saved = await readSavedUser(apart, backup, username)
    const { hosts } = installation.databases
    const restored = await holdingLocks(databases.control, (client) =>
      untilLost(client, restoring.signal, async (unlost) => {
        const account = await draftUser(apart, client, saved, as, hostIds)
        const removing = () => isMadeAfterAll(installation, account)
        return untilMoved(hosts, databases.hosts.get(account.hostId), unlost, (signal) =>
          finishUser(apart, client, {
            account,
            saved,
            backup,
            restoring: { ...restoring, signal },
            removing,
          }),
        )
      }),
    )
    await awaitCaches(databases.control, installation.log)
    return restored
  } finally {
    await databases.close()
  }
}

/**
 * As `deleting` from the beginning: if this process dies, repair removes the user although it owns tables. Of a user that is
 * being created it would take tables for a sign that the user was in use once.
 */
async function draftUser(
  installation: Installation,
  client: PoolClient,
  { account: { quotaBytes, schema } }: SavedUser,
  username: string,
  hostIds: readonly number[],
): Promise<Account> {
  return onConnection(client, async (tx) => {
    const hostId = await hostForNew(installation, tx, hostIds)
    const account = await insertDraftUser(tx, {
      id: await nextFreeId(installation, tx, 'users', hostId),
      username,
      namespace: installation.namespace,
      organizationId: null,
      orgRole: null,
      databaseId: null,
      schema,
      hostId,
      quotaBytes,
    })
    await lockUser(client, account.userId)
    await closeDraftUser(tx, account.userId)
    return account
  })
}

type RestoredDraft = Readonly<{
  account: Account
  saved: SavedUser
  backup: Backup
  restoring: Restoring
  /** Where the host is by now. True: the user is made after all. */
  removing: () => Promise<boolean>
}>

async function finishUser(
  installation: Installation,
  client: PoolClient,
  draft: RestoredDraft,
): Promise<RestoredUser> {
  const { account, saved, backup, restoring, removing } = draft
  const masterToken = newToken()
  const names = await nameRoles(installation, account, saved)
  const keys = saved.keys.flatMap((key) => {
    const named = names.get(key.role)
    return named ? [{ ...key, ...named, token: newToken() }] : []
  })
  const { apiKeyQuota, limits } = saved.account
  try {
    await copySaved(installation, draft, new Map([...names].map(([old, { role }]) => [old, role])))
    restoring.signal.throwIfAborted()
    await openUser(installation, client, account, {
      masterToken,
      alsoDo: async (tx) => {
        await insertRestoredKeys(tx, installation.secrets, account, keys)
        await updateUserRow(tx, account.userId, { apiKeyQuota, limits })
        await limitJobs(tx, { userId: account.userId })
        await recordRestore(tx, 'user.restored', account.username, restoring.details)
        await restoring.alsoDo?.(
          tx,
          keys.map(({ name }) => name),
        )
      },
      details: { restored_from: saved.account.username, backup_of: backup.createdAt },
    })
  } catch (error) {
    if (!(await removing())) throw error
  }
  return { account, masterToken, keys: keys.map(({ name }) => name) }
}

/** The new role of each, and the id of the key that it is for. */
async function nameRoles(
  { databases }: Installation,
  { masterRole, publicRole }: Account,
  { account: old, roles }: SavedUser,
): Promise<ReadonlyMap<string, Readonly<{ role: string; id: number }>>> {
  const ids = await nextKeyIds(databases.control, roles.length)
  return new Map(
    roles.map((role, place) => {
      const id = ids[place]!
      if (role === old.masterRole) return [role, { role: masterRole, id }]
      if (role === old.publicRole) return [role, { role: publicRole, id }]
      return [role, { role: keyRoleName(masterRole, id), id }]
    }),
  )
}

async function copySaved(
  installation: Installation,
  { account, saved, backup, restoring: { signal: stopped, noteProgress } }: RestoredDraft,
  names: RoleNames,
): Promise<void> {
  const { databases } = installation
  const { hostId, masterRole } = account
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(longestCopyMs)])
  const major = await majorOf(installation, hostId)
  if (major < backup.major)
    throw errors.restoreRefused(
      `The host '${databases.hosts.get(hostId).name}' has PostgreSQL ${major}, which is older than ${backup.major} of the backup`,
    )
  await renameSaved(databases, saved.account, account, names)
  signal.throwIfAborted()
  const { before, after } = await copyAccount(installation, {
    household: { database: account.database, members: [{ ...account, hostId: backupHostId }] },
    move: { fromHostId: backupHostId, toHostId: hostId },
    programs: await findDumpPrograms(major),
    roles: [...names.values()],
    signal,
    noteProgress: noteProgress ?? (async () => undefined),
  })
  const [there, here] = await unlessAborted(signal, Promise.all([before, after()]))
  requireEqual(there, here)
  await dropMover(databases, hostId, masterRole)
}
