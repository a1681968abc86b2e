import type { ClientBase } from 'pg'
import type { Queryable } from '../postgres/transaction.ts'

export async function insertDatabase(tx: ClientBase, hostId: number, name: string): Promise<number> {
  const { rows } = await tx.query<{ id: number }>(
    'insert into cartage.databases (host_id, name) values ($1, $2) returning id',
    [hostId, name],
  )
  return rows[0]!.id
}

export async function deleteDatabaseRow(tx: ClientBase, id: number): Promise<void> {
  await tx.query('delete from cartage.databases where id = $1', [id])
}

/** Databases of active users, on one host or on all, without the newest migration. */
export async function laggingDatabases(
  control: Queryable,
  newest: string | undefined,
  hostId?: number,
): Promise<readonly string[]> {
  const { rows } = await control.query<{ name: string }>(
    `select d.name from cartage.databases d
     where ($1::integer is null or d.host_id = $1) and d.migrated_to is distinct from $2
       and exists (select from cartage.users u where u.database_id = d.id and u.state = 'active')`,
    [hostId ?? null, newest],
  )
  return rows.map(({ name }) => name)
}

/** Databases of active users on a host. */
export async function servedDatabases(control: Queryable, hostId: number): Promise<readonly string[]> {
  const { rows } = await control.query<{ name: string }>(
    `select d.name from cartage.databases d
     where d.host_id = $1 and exists (select from cartage.users u where u.database_id = d.id and u.state = 'active')
     order by d.id`,
    [hostId],
  )
  return rows.map(({ name }) => name)
}

export async function recordMigrated(
  control: Queryable,
  hostId: number,
  name: string,
  newest: string | undefined,
): Promise<void> {
  await control.query('update cartage.databases set migrated_to = $3 where host_id = $1 and name = $2', [
    hostId,
    name,
    newest,
  ])
}
