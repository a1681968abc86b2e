import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import type { Installation } from '../hosts/installation.ts'
import { masterRoleName, publicRoleName } from '../postgres/tenant-names.ts'
import { nextFreeIds } from './free-ids.ts'

/**
 * The access lists of an organization's database and of some functions name every member. PostgreSQL sorts the whole
 * list for every GRANT, but only once for a GRANT to many roles. So creating a member of a large organization also
 * creates the roles of future members, which cannot log in yet. A spare is a user id reserved in the control database.
 * Its roles are missing if creating them failed.
 */
export type SpareMember = Pick<Account, 'masterRole' | 'publicRole'>

/** Below this size, a GRANT costs next to nothing. */
const membersPerSpare = 20
const mostSpares = 32

/** Takes the id of a spare. Skips those still being created. */
export async function takeSpare(tx: ClientBase, organizationId: number): Promise<number | undefined> {
  const { rows } = await tx.query<{ user_id: number }>(
    `delete from cartage.spare_members where user_id = (
       select user_id from cartage.spare_members where organization_id = $1 and made_with is null
       order by user_id limit 1 for update skip locked)
     returning user_id`,
    [organizationId],
  )
  return rows[0]?.user_id
}

/** Reserves spares in proportion to the size of the organization; the creation of this member also creates their roles. */
export async function reserveSpares(
  installation: Installation,
  tx: ClientBase,
  organizationId: number,
  { userId, hostId }: Account,
): Promise<readonly SpareMember[]> {
  const { rows } = await tx.query<{ count: number }>(
    'select least($2, count(*) / $3)::integer as count from cartage.users where organization_id = $1',
    [organizationId, mostSpares, membersPerSpare],
  )
  const { count } = rows[0]!
  if (count === 0) return []
  const ids = await nextFreeIds(installation, tx, 'users', hostId, count)
  const spares = ids.map((id) => {
    const masterRole = masterRoleName(installation.namespace, id)
    return { id, masterRole, publicRole: publicRoleName(masterRole) }
  })
  await tx.query(
    `insert into cartage.spare_members
     select spare.id, $1, spare."masterRole", spare."publicRole", $2
     from json_to_recordset($3) spare (id integer, "masterRole" text, "publicRole" text)`,
    [organizationId, userId, JSON.stringify(spares)],
  )
  return spares
}

/** Makes the spares available that the creation of this member has made. */
export async function releaseSpares(tx: ClientBase, userId: number): Promise<void> {
  await tx.query('update cartage.spare_members set made_with = null where made_with = $1', [userId])
}
