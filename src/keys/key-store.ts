import type { ClientBase, QueryResultRow } from 'pg'
import type { Account } from '../auth/account.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import { type DataService, defaultScope, masterScope, type Scope, type WantedGrants } from './grants.ts'
import type { KeyRecord } from './key.ts'

/**
 * Whoever makes or removes keys of a user holds the user's row: one at a time. (NO KEY, so that jobs can still be
 * queued.) Answers the user's own limit of keys, or undefined when the user is being made or removed.
 */
export async function lockOwner(
  tx: ClientBase,
  userId: number,
): Promise<{ keyQuota: number | null } | undefined> {
  const { rows } = await tx.query<{ api_key_quota: number | null }>(
    `select api_key_quota from cartage.users where id = $1 and state = 'active' for no key update`,
    [userId],
  )
  return rows[0] && { keyQuota: rows[0].api_key_quota }
}

export async function nextKeyId(tx: ClientBase): Promise<number> {
  const { rows } = await tx.query<{ id: number }>(`select nextval('cartage.api_keys_id_seq')::integer as id`)
  return rows[0]!.id
}

export async function insertKey(
  tx: ClientBase,
  secrets: Secrets,
  account: Account,
  key: Readonly<{ id: number; name: string; role: string; token: string; grants: WantedGrants }>,
): Promise<void> {
  await tx.query(
    `insert into cartage.api_keys (id, user_id, name, type, role_name, token_hash, token_encrypted, grants)
     overriding system value values ($1, $2, $3, 'regular', $4, $5, $6, $7)`,
    [
      key.id,
      account.userId,
      key.name,
      key.role,
      secrets.hashToken(key.token),
      secrets.encryptToken(key.token),
      JSON.stringify(storedGrants(key.grants)),
    ],
  )
}

export async function countRegularKeys(tx: ClientBase, userId: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count from cartage.api_keys where user_id = $1 and type = 'regular'`,
    [userId],
  )
  return rows[0]!.count
}

export async function findKeyByName(
  control: Queryable,
  secrets: Secrets,
  userId: number,
  name: string,
): Promise<KeyRecord | undefined> {
  const { rows } = await control.query(`select * from cartage.api_keys where user_id = $1 and name = $2`, [
    userId,
    name,
  ])
  return rows[0] && readKey(secrets, rows[0])
}

export async function isRoleOfKey(control: Queryable, role: string): Promise<boolean> {
  const { rowCount } = await control.query('select from cartage.api_keys where role_name = $1', [role])
  return rowCount === 1
}

export async function deleteKeyRow(tx: ClientBase, id: number): Promise<void> {
  await tx.query('delete from cartage.api_keys where id = $1', [id])
}

export async function replaceToken(
  tx: ClientBase,
  secrets: Secrets,
  id: number,
  token: string,
): Promise<void> {
  await tx.query(
    'update cartage.api_keys set token_hash = $2, token_encrypted = $3, updated_at = now() where id = $1',
    [id, secrets.hashToken(token), secrets.encryptToken(token)],
  )
}

export function readKey(secrets: Secrets, row: QueryResultRow): KeyRecord {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    role: row.role_name,
    token: secrets.decryptToken(row.token_encrypted),
    scope:
      row.type === 'regular' ? readScope(row.grants) : row.type === 'master' ? masterScope : defaultScope,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

type StoredSection = Readonly<{
  type: string
  apis?: Scope['apis']
  services?: DataService[]
  table_metadata?: []
}>

function readScope(stored: readonly StoredSection[]): Scope {
  const section = (type: string) => stored.find((each) => each.type === type)
  return {
    apis: section('apis')?.apis ?? [],
    services: section('dataservices')?.services ?? [],
    hasTableMetadata: section('database')?.table_metadata !== undefined,
  }
}

function storedGrants({ apis, services, tables, schemas, hasTableMetadata }: WantedGrants) {
  return [
    { type: 'apis', apis },
    { type: 'database', tables, schemas, ...(hasTableMetadata && { table_metadata: [] }) },
    ...(services.length > 0 ? [{ type: 'dataservices', services }] : []),
  ]
}

/** The backends on which statements of the user's jobs run. Start in text, as dates of JavaScript have no microseconds. */
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
