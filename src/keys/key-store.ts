import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { readAccount, selectAccounts } from '../auth/account-store.ts'
import type { KeyType, ReadFrom } from '../contract/key-names.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import { defaultScope, masterScope, type Scope } from './grants.ts'
import type { KeyRecord } from './key.ts'

/** A user whose keys are about to change: its own key limit, its number of regular keys, and whether it is on its way to another host. */
export type KeyOwner = Readonly<{ keyQuota: number | null; keyCount: number; isMoving: boolean }>

/**
 * Locks the user's row: one change of its keys at a time. (NO KEY, so that jobs can still be queued.) Undefined if the
 * user is being created or removed.
 */
export async function lockOwner(tx: ClientBase, userId: number): Promise<KeyOwner | undefined> {
  const { rows } = await tx.query<KeyOwner>(
    `select api_key_quota as "keyQuota", regular_keys as "keyCount", is_moving as "isMoving" from cartage.users
     where id = $1 and state = 'active' for no key update`,
    [userId],
  )
  return rows[0]
}

/** The same without waiting: false if the lock is taken, or the user is being created, moved or removed. */
export async function tryLockOwner(tx: ClientBase, userId: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select from cartage.users where id = $1 and state = 'active' and not is_moving for no key update skip locked`,
    [userId],
  )
  return rowCount === 1
}

/** The active user on a host with this master role. */
export async function findOwner(
  control: Queryable,
  hostId: number,
  masterRole: string,
): Promise<Account | undefined> {
  const { rows } = await control.query(
    `${selectAccounts} where u.master_role = $1 and d.host_id = $2 and u.state = 'active'`,
    [masterRole, hostId],
  )
  return rows[0] && readAccount(rows[0])
}

export async function nextKeyId(tx: ClientBase): Promise<number> {
  const { rows } = await tx.query<{ id: number }>(`select nextval('cartage.api_keys_id_seq')::integer as id`)
  return rows[0]!.id
}

export async function insertKey(
  tx: ClientBase,
  secrets: Secrets,
  account: Account,
  key: Readonly<{ id: number; name: string; role: string; token: string; scope: Scope }> & KeyColumns,
): Promise<KeyRecord | undefined> {
  const { rows } = await tx.query<{ key: SealedKey }>(
    `insert into cartage.api_keys (id, user_id, name, type, role_name, token_hash, token_encrypted,
       apis, services, has_table_metadata, description, expires_at, read_from)
     overriding system value
     select $1, $2, $3, 'regular', $4, $5, $6, $7, $8, $9, $10, $11, $12
     where $11::timestamptz is null or $11 > clock_timestamp()
     returning to_json(api_keys) as key`,
    [
      key.id,
      account.userId,
      key.name,
      key.role,
      secrets.hashToken(key.token),
      secrets.encryptToken(key.token),
      key.scope.apis,
      key.scope.services,
      key.scope.hasTableMetadata,
      key.description ?? '',
      key.expiresAt ?? null,
      key.readFrom ?? 'primary',
    ],
  )
  return rows[0] && openKey(secrets, rows[0].key)
}

/** What a key has besides its name, token and rights. */
export type KeyColumns = Readonly<{
  description?: string | undefined
  /** Null: never. */
  expiresAt?: string | null | undefined
  readFrom?: ReadFrom | undefined
}>

/** Changes only what is given. False: `expiresAt` is not in the future. */
export async function updateKeyRow(
  tx: ClientBase,
  id: number,
  { description, expiresAt, readFrom, scope }: KeyColumns & Readonly<{ scope?: Scope | undefined }>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.api_keys set
       description = coalesce($2, description),
       expires_at = case when $3 then $4 else expires_at end,
       apis = coalesce($5, apis), services = coalesce($6, services),
       has_table_metadata = coalesce($7, has_table_metadata),
       read_from = coalesce($8, read_from), updated_at = now()
     where id = $1 and ($4::timestamptz is null or $4 > clock_timestamp())`,
    [
      id,
      description ?? null,
      expiresAt !== undefined,
      expiresAt ?? null,
      scope?.apis ?? null,
      scope?.services ?? null,
      scope?.hasTableMetadata ?? null,
      readFrom ?? null,
    ],
  )
  return rowCount === 1
}

export async function findKeyByName(
  control: Queryable,
  secrets: Secrets,
  userId: number,
  name: string,
): Promise<KeyRecord | undefined> {
  const { rows } = await control.query<{ key: SealedKey }>(
    `select to_json(found) as key from (
       select k.*, use.last_used_at from cartage.api_keys k left join cartage.key_uses use on use.key_id = k.id
       where k.user_id = $1 and k.name = $2
     ) found`,
    [userId, name],
  )
  return rows[0] && openKey(secrets, rows[0].key)
}

export async function regularKeyNames(control: Queryable, userId: number): Promise<readonly string[]> {
  const { rows } = await control.query<{ name: string }>(
    `select name from cartage.api_keys where user_id = $1 and type = 'regular' order by name collate "C"`,
    [userId],
  )
  return rows.map(({ name }) => name)
}

export async function isRoleOfKey(control: Queryable, role: string): Promise<boolean> {
  const { rowCount } = await control.query('select from cartage.api_keys where role_name = $1', [role])
  return rowCount === 1
}

/** The roles that belong to no key. */
export async function rolesWithoutKey(
  control: Queryable,
  roles: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await control.query<{ role: string }>(
    `select role from unnest($1::text[]) role
     where not exists (select from cartage.api_keys where role_name = role)`,
    [roles],
  )
  return rows.map(({ role }) => role)
}

/** The roles of a host's keys that are missing from `roles`. */
export async function keysWithoutRole(
  control: Queryable,
  hostId: number,
  roles: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await control.query<{ role: string }>(
    `select k.role_name as role from cartage.api_keys k
     join cartage.users u on u.id = k.user_id join cartage.databases d on d.id = u.database_id
     where d.host_id = $1 and k.type = 'regular' and u.state = 'active' and k.role_name <> all ($2::text[])`,
    [hostId, roles],
  )
  return rows.map(({ role }) => role)
}

export async function deleteKeyRow(tx: ClientBase, id: number): Promise<void> {
  await tx.query('delete from cartage.api_keys where id = $1', [id])
}

/** A link to the key that is out there is no longer good: it may be why the token is replaced. */
export async function replaceToken(
  tx: ClientBase,
  secrets: Secrets,
  id: number,
  token: string,
): Promise<void> {
  await tx.query(
    `update cartage.api_keys set token_hash = $2, token_encrypted = $3, updated_at = now(),
       invitation_hash = null, invited_until = null
     where id = $1`,
    [id, secrets.hashToken(token), secrets.encryptToken(token)],
  )
}

/** A row of keys as PostgreSQL's JSON: a page of keys is one column of one row, which is fast to read. */
export type SealedKey = Readonly<{
  id: number
  name: string
  type: KeyType
  role_name: string
  token_encrypted: string
  apis: Scope['apis']
  services: Scope['services']
  has_table_metadata: boolean
  description: string
  created_at: string
  updated_at: string
  expires_at: string | null
  read_from: ReadFrom
  /** A new key has none. */
  last_used_at?: string | null
  invited_until?: string | null
}>

export function openKey(secrets: Secrets, row: SealedKey): KeyRecord {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    role: row.role_name,
    token: secrets.decryptToken(Buffer.from(row.token_encrypted.slice('\\x'.length), 'hex')),
    scope: row.type === 'regular' ? scopeOf(row) : row.type === 'master' ? masterScope : defaultScope,
    description: row.description,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    readFrom: row.read_from,
    lastUsedAt: row.last_used_at ?? null,
    invitedUntil: row.invited_until ?? null,
  }
}

const scopeOf = ({ apis, services, has_table_metadata: hasTableMetadata }: SealedKey): Scope => ({
  apis,
  services,
  hasTableMetadata,
})

/** The backends on which statements of the user's jobs run. Start times as text: a JavaScript Date has no microseconds. */
export async function findFlights(
  control: Queryable,
  userId: number,
): Promise<readonly Readonly<{ pid: number; start: string }>[]> {
  const { rows } = await control.query<{ pid: number; start: string }>(
    `select flight_pid as pid, flight_backend_start::text as start from cartage.jobs
     where user_id = $1 and status = 'running' and flight_pid is not null`,
    [userId],
  )
  return rows
}

/** True for one process per time. */
export async function takeTemporaryLook(control: Queryable, everyMs: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `insert into cartage.temporary_looks as known (next_at) values (clock_timestamp() + make_interval(secs => $1))
     on conflict (is_only) do update set next_at = excluded.next_at where known.next_at <= clock_timestamp()`,
    [everyMs / 1000],
  )
  return rowCount === 1
}
