import type { Account } from '../../auth/account.ts'
import { quoteName } from '../../contract/text/quote.ts'
import type { Databases } from '../../postgres/databases.ts'
import type { Session } from '../../postgres/session.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { backupHostId } from './saved-user.ts'

/** The new name of each role of a user. */
export type RoleNames = ReadonlyMap<string, string>

/**
 * Gives the user of the backup the names that it will have, in the cluster of the backup, which is thrown away later. So
 * it can be copied like a user that moves from host to host, whose names stay.
 */
export async function renameSaved(
  { admin, hosts }: Databases,
  saved: Account,
  as: Account,
  names: RoleNames,
): Promise<void> {
  await admin.use(adminTarget(hosts, backupHostId, saved.database), (session) =>
    renameRecords(session, saved, as, names),
  )
  await admin.closeDatabase(backupHostId, saved.database)
  await admin.use(adminTarget(hosts, backupHostId), async (session) => {
    await renameRoles(session, names)
    if (saved.database === as.database) return
    // Another user of the backup may have the new name.
    const taken = await session.query('select from pg_catalog.pg_database where datname = $1', [as.database])
    if (taken.rowCount) await session.query(renameDatabase(as.database, 'cartage_restore_other'))
    await session.query(renameDatabase(saved.database, as.database))
  })
}

const renameDatabase = (from: string, to: string) =>
  `alter database ${quoteName(from)} rename to ${quoteName(to)}`

/** In two passes, as the new name of one may be the old name of another. */
async function renameRoles(session: Session, names: RoleNames): Promise<void> {
  const { rows } = await session.query<{ name: string }>(
    'select rolname::text as name from pg_catalog.pg_roles where rolname = any ($1)',
    [[...names.keys(), ...names.values()]],
  )
  const between = new Map(rows.map(({ name }, place) => [name, `cartage_restore_role_${place}`]))
  const rename = (from: string, to: string) =>
    session.query(`alter role ${quoteName(from)} rename to ${quoteName(to)}`)
  for (const [name, temporary] of between) await rename(name, temporary)
  for (const [name, wanted] of names) await rename(between.get(name)!, wanted)
}

/** What the service keeps in the database of a user, by name. As a replica does: no trigger looks for the old names. */
async function renameRecords(
  session: Session,
  { username }: Account,
  { username: as, masterRole, publicRole }: Account,
  names: RoleNames,
): Promise<void> {
  const pairs = JSON.stringify([...names].map(([old, wanted]) => ({ old, wanted })))
  const wanted = 'pg_catalog.json_to_recordset($1) n (old text, wanted text)'
  await session.query('begin; set local session_replication_role = replica')
  await session.query(
    'update cartage.accounts set username = $2, master_role = $3, public_role = $4 where username = $1',
    [username, as, masterRole, publicRole],
  )
  await session.query(
    `update cartage.roles set role_name = n.wanted, username = $2 from ${wanted} where role_name = n.old`,
    [pairs, as],
  )
  await session.query(
    `update cartage.grants set role_name = n.wanted from ${wanted} where role_name = n.old`,
    [pairs],
  )
  await session.query(`update cartage.grants set made_by = n.wanted from ${wanted} where made_by = n.old`, [
    pairs,
  ])
  await session.query('commit')
}
