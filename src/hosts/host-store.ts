import type { ClientBase } from 'pg'
import type { Queryable } from '../postgres/transaction.ts'

/** A stored host. The address of the first host is in the configuration. */
export type SealedHost = Readonly<{ id: number; name: string; sealedUrl: Buffer }>

export async function readSealedHosts(control: Queryable): Promise<readonly SealedHost[]> {
  const { rows } = await control.query<SealedHost>(
    'select id, name, sealed_url as "sealedUrl" from cartage.hosts where sealed_url is not null',
  )
  return rows
}

export type KnownHost = Readonly<{ id: number; databases: readonly string[] }>

export async function findHost(control: Queryable, name: string): Promise<KnownHost | undefined> {
  const { rows } = await control.query<KnownHost>(
    `select h.id, array(select d.name from cartage.databases d where d.host_id = h.id) as databases
     from cartage.hosts h where h.name = $1`,
    [name],
  )
  return rows[0]
}

export type CountedHost = Readonly<{ id: number; name: string; databases: number; acceptsUsers: boolean }>

/** Every host, with its number of databases. */
export async function countDatabases(control: Queryable): Promise<readonly CountedHost[]> {
  const { rows } = await control.query<CountedHost>(
    `select h.id, h.name, count(d.id)::integer as databases, h.accepts_users as "acceptsUsers" from cartage.hosts h
     left join cartage.databases d on d.host_id = h.id group by h.id order by h.id`,
  )
  return rows
}

/** The one with the fewest databases of those of these hosts that take new users; undefined if none does. */
export async function emptiestHost(
  control: Queryable,
  hostIds: readonly number[],
): Promise<number | undefined> {
  const { rows } = await control.query<{ id: number }>(
    `select h.id from cartage.hosts h left join cartage.databases d on d.host_id = h.id
     where h.id = any($1) and h.accepts_users group by h.id order by count(d.id), h.id limit 1`,
    [hostIds],
  )
  return rows[0]?.id
}

export type TakenHost = Readonly<{ id: number; acceptsUsers: boolean }>

/** Locks the row against a change or removal, until the transaction ends. */
export async function shareHost(tx: ClientBase, name: string): Promise<TakenHost | undefined> {
  const { rows } = await tx.query<TakenHost>(
    'select id, accepts_users as "acceptsUsers" from cartage.hosts where name = $1 for share',
    [name],
  )
  return rows[0]
}

export async function acceptsUsers(control: Queryable, hostId: number): Promise<boolean> {
  const { rowCount } = await control.query('select from cartage.hosts where id = $1 and accepts_users', [
    hostId,
  ])
  return rowCount === 1
}

/** False: there is no such host. */
export async function setAcceptsUsers(tx: ClientBase, name: string, accepts: boolean): Promise<boolean> {
  const { rowCount } = await tx.query('update cartage.hosts set accepts_users = $2 where name = $1', [
    name,
    accepts,
  ])
  return rowCount === 1
}

/** Takes no new users from now on, and returns how many databases of users it has. */
export async function closeHost(tx: ClientBase, hostId: number): Promise<number> {
  await tx.query('update cartage.hosts set accepts_users = false where id = $1 and accepts_users', [hostId])
  const { rows } = await tx.query<{ count: number }>(
    'select count(*)::integer as count from cartage.databases where host_id = $1',
    [hostId],
  )
  return rows[0]!.count
}

export async function nextHostId(control: Queryable): Promise<number> {
  const { rows } = await control.query<{ id: number }>(
    `select nextval('cartage.hosts_id_seq')::integer as id`,
  )
  return rows[0]!.id
}

/** False: a replica has the name. */
export async function insertHost(tx: ClientBase, { id, name, sealedUrl }: SealedHost): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into cartage.hosts (id, name, sealed_url) overriding system value
     select $1, $2, $3 where not exists (select from cartage.replicas where name = $2)`,
    [id, name, sealedUrl],
  )
  return rowCount === 1
}

/** False: the host was removed. */
export async function changeUrl(tx: ClientBase, id: number, sealedUrl: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update cartage.hosts set sealed_url = $2 where id = $1 and sealed_url is not null',
    [id, sealedUrl],
  )
  return rowCount === 1
}

export type LockedHost = Readonly<{ id: number; isFirst: boolean; databases: number; moves: number }>

/** Locks the row, so that no account is placed there while the host is removed. */
export async function lockHost(tx: ClientBase, name: string): Promise<LockedHost | undefined> {
  const { rows } = await tx.query<Pick<LockedHost, 'id' | 'isFirst'>>(
    'select id, sealed_url is null as "isFirst" from cartage.hosts where name = $1 for update',
    [name],
  )
  const [host] = rows
  return host && { ...host, ...(await countUses(tx, host.id)) }
}

/** A statement of its own: that of the lock may have waited, and does not see what was committed meanwhile. */
async function countUses(tx: ClientBase, id: number): Promise<Pick<LockedHost, 'databases' | 'moves'>> {
  const { rows } = await tx.query<Pick<LockedHost, 'databases' | 'moves'>>(
    `select (select count(*)::integer from cartage.databases where host_id = $1) as databases,
       (select count(*)::integer from cartage.moves
        where ended_at is null and $1 in (from_host_id, to_host_id)) as moves`,
    [id],
  )
  return rows[0]!
}

/** Ends the moves whose accounts are served elsewhere, and that only wait to drop something on this host. How many. */
export async function forgetLeftovers(tx: ClientBase, hostId: number): Promise<number> {
  const { rowCount } = await tx.query(
    `update cartage.moves set ended_at = clock_timestamp(),
       phase = case phase when 'cleaning' then 'done' else 'failed' end,
       progress = case phase when 'cleaning' then 100 else progress end
     where ended_at is null and served_at is not null
       and ((phase = 'cleaning' and from_host_id = $1) or (phase = 'undoing' and to_host_id = $1))`,
    [hostId],
  )
  return rowCount ?? 0
}

export async function deleteHostRow(tx: ClientBase, id: number): Promise<void> {
  await tx.query('delete from cartage.hosts where id = $1', [id])
}

/** After a rotation of the secret: the roles of every host still have their old passwords. */
export async function markPasswordsOld(tx: ClientBase): Promise<void> {
  await tx.query('update cartage.hosts set has_old_passwords = true')
}

export async function hasOldPasswords(control: Queryable, hostId: number): Promise<boolean> {
  const { rowCount } = await control.query('select from cartage.hosts where id = $1 and has_old_passwords', [
    hostId,
  ])
  return rowCount === 1
}

export async function markPasswordsMoved(control: Queryable, hostId: number): Promise<void> {
  await control.query('update cartage.hosts set has_old_passwords = false where id = $1', [hostId])
}
