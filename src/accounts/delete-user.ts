import { operator, recordAudit } from '../audit/audit-store.ts'
import { collectLastNotes } from '../audit/audit-tables.ts'
import type { Account } from '../auth/account.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import type { Installation } from '../hosts/installation.ts'
import { dropDatabase } from '../hosts/tenant-databases.ts'
import { allowLongStatements } from '../postgres/control/control-pool.ts'
import { hasSqlstate, isBusy, sqlstate } from '../postgres/sqlstate.ts'
import { inTransaction, onConnection } from '../postgres/transaction.ts'
import { holdingLocks, lockUser, patiently } from './account-lock.ts'
import { isOnItsWay } from './moves/move-store.ts'
import { dropMover } from './moves/mover.ts'
import { shareOrganization } from './organization-store.ts'
import { dropRoles, evictFromDatabase, shutOut } from './tenant-roles.ts'
import { deleteUserRow, findAnyUser, setUserState } from './user-store.ts'

/** Ends the user's sessions, jobs and keys, and removes roles, schema or database. After a crash, repair continues it. */
export async function deleteUser(installation: Installation, username: string): Promise<void> {
  const { control } = installation.databases
  const found = await findAnyUser(control, username)
  if (!found) throw errors.accountNotFound('User', username)
  const { userId, orgRole, organization } = found.account
  if (orgRole === 'owner') throw errors.ownerCannotLeave(username, organization!.name)
  await holdingLocks(control, async (client) => {
    if (!(await patiently(() => lockUser(client, userId)))) throw errors.accountBusy(username)
    const account = await onConnection(client, async (tx) => {
      // The lock of its organization's row: a move marks that row before it looks who the members are.
      if (organization) await shareOrganization(tx, organization.name)
      if (await isOnItsWay(tx, userId, organization?.id ?? null)) throw errors.accountBusy(username)
      // Read again: a move may have ended meanwhile, and the user is on another host.
      const now = (await findAnyUser(tx, username))?.account
      if (now?.userId !== userId) throw errors.accountNotFound('User', username)
      await setUserState(tx, userId, 'deleting')
      await recordAudit(tx, { actor: operator, action: 'user.deleted', account: username })
      await announceChange(tx)
      return now
    })
    await awaitCaches(control, installation.log)
    await leavingToRepair(installation, removeUser(installation, account))
  })
}

/** The account is already closed. What another tenant's session blocks is left to a later repair. */
export async function leavingToRepair({ log }: Installation, removal: Promise<void>): Promise<void> {
  await removal.catch((error: unknown) => {
    if (!isBusy(error)) throw error
    log.warn({ err: error }, 'another tenant blocks the removal of an account: repair will remove the rest')
  })
}

/** Removes everything of the user, even if incomplete. Its row goes last. Safe to repeat. */
export async function removeUser(installation: Installation, account: Account): Promise<void> {
  if (account.organization) await evictFromDatabase(installation.databases, account)
  else await removeDatabase(installation, account.hostId, account.database, [account.masterRole])
  // Left by a restore of the user that was cut off.
  await dropMover(installation.databases, account.hostId, account.masterRole)
  await dropRoles(installation.databases, account.hostId, account.masterRole)
  await inTransaction(installation.databases.control, async (tx) => {
    await allowLongStatements(tx)
    await deleteUserRow(tx, account)
  })
}

/** A database that is half made or gone has no notes to collect. Its users are shut out first: they make no more. */
export async function removeDatabase(
  { databases, log }: Installation,
  hostId: number,
  database: string,
  masterRoles: readonly string[],
): Promise<void> {
  for (const masterRole of masterRoles) await shutOut(databases, hostId, masterRole)
  await collectLastNotes(databases, hostId, database).catch((error: unknown) => {
    if (hasSqlstate(error, sqlstate.invalidCatalogName, sqlstate.undefinedTable)) return
    log.warn(
      { err: error, database },
      'the last changes of tables of an account are missing in the audit record',
    )
  })
  await dropDatabase(databases, hostId, database)
}
