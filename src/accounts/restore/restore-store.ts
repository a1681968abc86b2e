import type { ClientBase } from 'pg'
import type { Account } from '../../auth/account.ts'
import type { Queryable } from '../../postgres/transaction.ts'
import type { Secrets } from '../../secrets.ts'

/** A regular key as a backup has it, all but its token. */
export type SavedKey = Readonly<{
  name: string
  role: string
  apis: readonly string[]
  services: readonly string[]
  hasTableMetadata: boolean
  description: string
  /** As text: a JavaScript Date has no microseconds. */
  expiresAt: string | null
}>

export async function readSavedKeys(control: Queryable, userId: number): Promise<readonly SavedKey[]> {
  const { rows } = await control.query<SavedKey>(
    `select name, role_name as role, apis, services, has_table_metadata as "hasTableMetadata", description,
       expires_at::text as "expiresAt"
     from cartage.api_keys where user_id = $1 and type = 'regular' order by name collate "C"`,
    [userId],
  )
  return rows
}

/** So many ids for roles of keys. */
export async function nextKeyIds(control: Queryable, count: number): Promise<readonly number[]> {
  const { rows } = await control.query<{ id: number }>(
    `select nextval('cartage.api_keys_id_seq')::integer as id from generate_series(1, $1)`,
    [count],
  )
  return rows.map(({ id }) => id)
}

export type RestoredKey = SavedKey & Readonly<{ id: number; token: string }>

/** A key that has expired since the backup stays expired. */
export async function insertRestoredKeys(
  tx: ClientBase,
  secrets: Secrets,
  { userId }: Account,
  keys: readonly RestoredKey[],
): Promise<void> {
  for (const key of keys)
    await tx.query(
      `insert into cartage.api_keys (id, user_id, name, type, role_name, token_hash, token_encrypted,
         apis, services, has_table_metadata, description, expires_at)
       overriding system value values ($1, $2, $3, 'regular', $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        key.id,
        userId,
        key.name,
        key.role,
        secrets.hashToken(key.token),
        secrets.encryptToken(key.token),
        key.apis,
        key.services,
        key.hasTableMetadata,
        key.description,
        key.expiresAt,
      ],
    )
}

/**
 * In the backup: what is known there of statements that were in flight, and nowhere else, as transaction ids mean nothing
 * in another cluster. One that did not happen is sent again. What happened to any other is unknown from now on.
 */
export async function settleFlights(control: Queryable): Promise<void> {
  await control.query(
    `update cartage.jobs set flight_xid = null, flight_pid = null, flight_backend_start = null
     where host_id = 1 and status = 'running' and pg_catalog.pg_xact_status(flight_xid) = 'aborted'`,
  )
  await control.query(
    'update cartage.jobs set flight_xid = null where host_id = 1 and flight_xid is not null',
  )
  await control.query('update cartage.uploads set flight = null where flight is not null')
}

/**
 * For the control database of a backup: ends the moves that had not ended. To go on with one, or to undo it, would drop a
 * database on another host, where the account may be by now. Its data is on the host that the backup names. In one line,
 * for a server in single-user mode. A backup of a version without moves has none.
 */
export const endMoves = `do $$ declare role_name text; begin
  if not exists (select from pg_catalog.pg_attribute
    where attrelid = pg_catalog.to_regclass('cartage.users') and attname = 'stays_suspended') then return; end if;
  for role_name in select r.rolname from cartage.users u join pg_catalog.pg_roles r
    on r.rolname = u.master_role or r.rolname ~ ('^' || u.master_role || '_(public|k[0-9]+)$') where u.is_moving
  loop execute pg_catalog.format('alter role %I login', role_name); end loop;
  update cartage.job_queues set is_held = false
    where user_id in (select id from cartage.users where is_moving and not stays_suspended);
  update cartage.users set is_moving = false, updated_at = now(),
    suspended_at = case when stays_suspended then suspended_at end,
    suspended_reason = case when stays_suspended then suspended_reason end,
    resumed_at = case when stays_suspended then resumed_at else now() end where is_moving;
  update cartage.organizations set is_moving = false where is_moving;
  update cartage.moves set phase = case when phase = 'cleaning' then 'done' else 'failed' end,
    error = 'restored from a backup', ended_at = now() where ended_at is null;
end $$`.replaceAll('\n', ' ')

/** The names of its hosts but the first. */
export async function furtherHosts(control: Queryable): Promise<readonly string[]> {
  const { rows } = await control.query<{ name: string }>(
    'select name from cartage.hosts where id <> 1 order by id',
  )
  return rows.map(({ name }) => name)
}

/** The name of one of its organizations, if it has any. */
export async function anyOrganization(control: Queryable): Promise<string | undefined> {
  const { rows } = await control.query<{ name: string }>('select name from cartage.organizations limit 1')
  return rows[0]?.name
}
