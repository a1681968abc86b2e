import type { ClientBase, QueryResultRow } from 'pg'
import { deleteDatabaseRow, insertDatabase } from '../hosts/database-store.ts'
import { organizationDatabaseName } from '../postgres/tenant-names.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { reserveName } from './user-store.ts'

export type Organization = Readonly<{
  id: number
  name: string
  hostId: number
  database: string
  databaseId: number
  owner: string | null
  state: 'creating' | 'active' | 'deleting'
  createdAt: Date
}>

export async function insertDraftOrganization(
  tx: ClientBase,
  namespace: string,
  id: number,
  name: string,
  hostId: number,
): Promise<Organization> {
  await reserveName(tx, name)
  const databaseId = await insertDatabase(tx, hostId, organizationDatabaseName(namespace, id))
  await tx.query(
    'insert into cartage.organizations (id, name, database_id) overriding system value values ($1, $2, $3)',
    [id, name, databaseId],
  )
  const { rows } = await tx.query(`${selectOrganizations} where o.id = $1`, [id])
  return readOrganization(rows[0]!)
}

export async function setOrganizationState(
  tx: Queryable,
  id: number,
  state: Organization['state'],
): Promise<void> {
  await tx.query('update cartage.organizations set state = $2 where id = $1', [id, state])
}

/** Call under the organization's lock: an earlier read may be outdated. Undefined: the organization is gone. */
export async function organizationState(
  control: Queryable,
  id: number,
): Promise<Organization['state'] | undefined> {
  const { rows } = await control.query<{ state: Organization['state'] }>(
    'select state from cartage.organizations where id = $1',
    [id],
  )
  return rows[0]?.state
}

export type OrganizationPlace = Readonly<{
  id: number
  databaseId: number
  hostId: number
  isMoving: boolean
}>

/**
 * Where a new member goes. The share lock blocks a deletion and a move of the organization until the member's row
 * exists.
 */
export async function shareOrganization(
  tx: ClientBase,
  name: string,
): Promise<OrganizationPlace | undefined> {
  const locked = await tx.query<{ id: number }>(
    `select id from cartage.organizations where name = $1 and state = 'active' for share`,
    [name],
  )
  if (!locked.rows[0]) return undefined
  // By itself: what is read beside a lock may be from before the wait for it.
  const { rows } = await tx.query<OrganizationPlace>(
    `select o.id, o.database_id as "databaseId", d.host_id as "hostId", o.is_moving as "isMoving"
     from cartage.organizations o join cartage.databases d on d.id = o.database_id where o.id = $1`,
    [locked.rows[0].id],
  )
  return rows[0]
}

/**
 * Closes an organization and its owner for good; false if it has other members. A new member's share lock excludes
 * this.
 */
export async function closeOrganization(tx: ClientBase, id: number): Promise<boolean> {
  await tx.query('select from cartage.organizations where id = $1 for update', [id])
  const { rowCount } = await tx.query(
    `select from cartage.users where organization_id = $1 and org_role <> 'owner'`,
    [id],
  )
  if (rowCount) return false
  await setOrganizationState(tx, id, 'deleting')
  await tx.query(`update cartage.users set state = 'deleting' where organization_id = $1`, [id])
  return true
}

/** Closes a half-made organization and its owner, like `closeDraftUser`. False: the organization is active. */
export async function closeDraftOrganization(tx: ClientBase, id: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.organizations set state = 'deleting' where id = $1 and state = 'creating'`,
    [id],
  )
  // Gone: repair has removed it.
  if (rowCount === 0) return (await organizationState(tx, id)) !== 'active'
  await tx.query(`update cartage.users set state = 'deleting' where organization_id = $1`, [id])
  return true
}

/** The master roles of the members and of the spare members. */
export async function masterRolesOf(control: Queryable, organizationId: number): Promise<readonly string[]> {
  const { rows } = await control.query<{ master_role: string }>(
    `select master_role from cartage.users where organization_id = $1
     union all select master_role from cartage.spare_members where organization_id = $1`,
    [organizationId],
  )
  return rows.map((row) => row.master_role)
}

/** Deletes the organization, its members and all their names. */
export async function deleteOrganizationRow(tx: ClientBase, organization: Organization): Promise<void> {
  await tx.query(
    `delete from cartage.account_names where name = $2
       or name in (select username from cartage.users where organization_id = $1)`,
    [organization.id, organization.name],
  )
  await tx.query('delete from cartage.organizations where id = $1', [organization.id])
  await deleteDatabaseRow(tx, organization.databaseId)
}

export async function findOrganization(control: Queryable, name: string): Promise<Organization | undefined> {
  const { rows } = await control.query(`${selectOrganizations} where o.name = $1`, [name])
  return rows[0] && readOrganization(rows[0])
}

export async function listOrganizations(control: Queryable): Promise<readonly Organization[]> {
  const { rows } = await control.query(`${selectOrganizations} where o.state = 'active' order by o.name`)
  return rows.map(readOrganization)
}

export async function listUnfinishedOrganizations(control: Queryable): Promise<readonly Organization[]> {
  const { rows } = await control.query(`${selectOrganizations} where o.state <> 'active'`)
  return rows.map(readOrganization)
}

const selectOrganizations = `
  select o.*, d.host_id, d.name as database_name,
    (select username from cartage.users u where u.organization_id = o.id and u.org_role = 'owner') as owner
  from cartage.organizations o join cartage.databases d on d.id = o.database_id`

function readOrganization(row: QueryResultRow): Organization {
  return {
    id: row.id,
    name: row.name,
    hostId: row.host_id,
    database: row.database_name,
    databaseId: row.database_id,
    owner: row.owner,
    state: row.state,
    createdAt: row.created_at,
  }
}
