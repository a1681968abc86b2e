import type { QueryResultRow } from 'pg'
import { apis } from '../contract/grants.ts'
import type { KeyType } from '../contract/key-names.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Account, CallerKey, Holder } from './account.ts'

/** What a name in a path refers to. */
export type NamedAccount =
  | Readonly<{ kind: 'user'; account: Account }>
  | Readonly<{ kind: 'organization'; id: number; name: string }>

export async function accountByName(control: Queryable, name: string): Promise<NamedAccount | undefined> {
  const account = await userByName(control, name)
  if (account) return { kind: 'user', account }
  const { rows } = await control.query<{ id: number }>(
    `select id from cartage.organizations where name = $1 and state = 'active'`,
    [name],
  )
  return rows[0] && { kind: 'organization', id: rows[0].id, name }
}

export async function userByName(control: Queryable, username: string): Promise<Account | undefined> {
  const { rows } = await control.query(`${selectAccounts} where u.username = $1 and u.state = 'active'`, [
    username,
  ])
  return rows[0] && readAccount(rows[0])
}

/**
 * Locks the user's row until the transaction ends, so that requests that count against a limit come one after the other.
 * NO KEY, so that jobs can still be queued.
 */
export async function lockUser(tx: Queryable, userId: number): Promise<void> {
  await tx.query('select from cartage.users where id = $1 for no key update', [userId])
}

export async function keyByToken(
  control: Queryable,
  userId: number,
  hash: Buffer,
): Promise<CallerKey | undefined> {
  const askedAt = performance.now()
  const { rows } = await control.query(
    `select *, ${msLeft} as ms_left from cartage.api_keys k where user_id = $1 and token_hash = $2 and ${isInTime}`,
    [userId, hash],
  )
  return rows[0] && readCallerKey(rows[0], askedAt)
}

/** By the clock of the control database alone. Of `cartage.api_keys k`. */
export const isInTime = '(k.expires_at is null or k.expires_at > clock_timestamp())'
export const msLeft = '(extract(epoch from k.expires_at - clock_timestamp()) * 1000)::float8'

export async function holdersOfToken(
  control: Queryable,
  hash: Buffer,
  organizationId?: number,
): Promise<Holder[]> {
  const { rows } = await control.query(
    `${selectAccounts} where u.state = 'active' and ($2::integer is null or u.organization_id = $2)
       and u.id in (select user_id from cartage.api_keys k where token_hash = $1 and ${isInTime} limit 2)`,
    [hash, organizationId ?? null],
  )
  const holders = await Promise.all(
    rows.map(readAccount).map(async (account) => {
      const key = await keyByToken(control, account.userId, hash)
      return key && { account, key }
    }),
  )
  return holders.filter((holder) => holder !== undefined)
}

/** Returns those of the hashes that belong to a stored token, in hexadecimal. */
export async function knownHashes(
  control: Queryable,
  hashes: readonly Buffer[],
): Promise<ReadonlySet<string>> {
  const { rows } = await control.query<{ hash: Buffer }>(
    `select token_hash as hash from cartage.api_keys k where token_hash = any ($1::bytea[]) and ${isInTime}`,
    [hashes],
  )
  return new Set(rows.map(({ hash }) => hash.toString('hex')))
}

/**
 * What a caller may count on now: its token, its organization role, and that its account is not suspended. `key`: as it is now;
 * undefined if it was deleted.
 */
export type Standing = Readonly<{
  isKnown: boolean
  isMoving: boolean
  suspendedFor: string | null
  key: CallerKey | undefined
}>

export async function standingOf(control: Queryable, caller: Holder): Promise<Standing> {
  const askedAt = performance.now()
  const { rows } = await control.query(
    `select ${stillKnown(1)} as is_known, u.suspended_reason as suspended_for,
       coalesce(u.is_moving, false) as is_moving,
       k.id, k.name, k.type, k.role_name, k.apis, k.has_table_metadata, k.read_from, k.token_hash, ${msLeft} as ms_left
     from (values (true)) as always left join cartage.api_keys k on k.id = $1
       left join cartage.users u on u.id = $4`,
    [...proofOf(caller), caller.account.userId],
  )
  const { is_known: isKnown, suspended_for: suspendedFor, is_moving: isMoving, ...row } = rows[0]!
  return { isKnown, isMoving, suspendedFor, key: row.id === null ? undefined : readCallerKey(row, askedAt) }
}

/** True if the caller's token and organization role are unchanged and the account is active. Its parameters are `proofOf(caller)`, from number `first` on. */
export const stillKnown = (first: number) => `exists (
  select from cartage.api_keys k join cartage.users u on u.id = k.user_id
  where k.id = $${first} and k.token_hash = $${first + 1} and u.state = 'active' and ${isInTime}
    and u.org_role is not distinct from $${first + 2})`

export const proofOf = (caller: Holder | undefined) => [
  caller?.key.id,
  caller?.key.tokenHash,
  caller?.account.orgRole,
]

/** Selects the columns of an Account; add a where clause on `u`. */
export const selectAccounts = `
  select u.*, o.name as organization_name, d.host_id, d.name as database_name,
    cartage.merged_limits(p.limits, u.limits) as set_limits
  from cartage.users u
  join cartage.databases d on d.id = u.database_id
  left join cartage.organizations o on o.id = u.organization_id
  left join cartage.plans p on p.name = u.plan`

export function readAccount(row: QueryResultRow): Account {
  return {
    userId: row.id,
    username: row.username,
    organization:
      row.organization_id === null ? null : { id: row.organization_id, name: row.organization_name },
    orgRole: row.org_role,
    hostId: row.host_id,
    database: row.database_name,
    schema: row.schema_name,
    masterRole: row.master_role,
    publicRole: row.public_role,
    quotaBytes: Number(row.quota_in_bytes),
    apiKeyQuota: row.api_key_quota,
    limits: row.limits,
    plan: row.plan,
    setLimits: row.set_limits,
    createdAt: row.created_at,
    isMoving: row.is_moving,
    suspension: row.is_moving
      ? null
      : row.suspended_at && { since: row.suspended_at, reason: row.suspended_reason },
  }
}

/** `askedAt`: before the query, by the monotonic clock. The row has `msLeft`. */
export function readCallerKey(row: QueryResultRow, askedAt: number): CallerKey {
  const type = row.type as KeyType
  return {
    id: row.id,
    name: row.name,
    type,
    role: row.role_name,
    apis: type === 'regular' ? row.apis : apis,
    hasTableMetadata: type === 'master' || row.has_table_metadata,
    readFrom: row.read_from,
    tokenHash: row.token_hash,
    validUntil: row.ms_left === null ? Number.POSITIVE_INFINITY : askedAt + row.ms_left,
  }
}
