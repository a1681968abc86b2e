import type { ClientBase, QueryResultRow } from 'pg'
import type { Queryable } from '../postgres/transaction.ts'
import { insertDatabase, nextId, reserveName } from './user-store.ts'

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
  name: string,
  hostId: number,
): Promise<Organization> {
  await reserveName(tx, name)
  const id = await nextId(tx, 'organizations')
  const databaseId = await insertDatabase(tx, hostId, `${namespace}_o${id}`)
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

/** Forgets the organization, its members and all their names. */
export async function deleteOrganizationRow(tx: ClientBase, organization: Organization): Promise<void> {
  await tx.query(
    `delete from cartage.account_names where name = $2
       or name in (select username from cartage.users where organization_id = $1)`,
    [organization.id, organization.name],
  )
  await tx.query('delete from cartage.organizations where id = $1', [organization.id])
  await tx.query('delete from cartage.databases where id = $1', [organization.databaseId])
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
