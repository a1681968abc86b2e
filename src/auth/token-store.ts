import type { ClientBase } from 'pg'
import { defaultKeyName, defaultToken, masterKeyName } from '../contract/key-names.ts'
import { advisoryLocks } from '../postgres/advisory-locks.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import type { Account } from './account.ts'

/** Every user has these two keys; their roles are the user's own. */
export async function insertFirstKeys(
  tx: ClientBase,
  secrets: Secrets,
  account: Account,
  masterToken: string,
): Promise<void> {
  await tx.query(
    `insert into cartage.api_keys (user_id, name, type, role_name, token_hash, token_encrypted)
     values ($1, $2, 'master', $3, $4, $5), ($1, $6, 'default', $7, $8, $9)`,
    [
      account.userId,
      masterKeyName,
      account.masterRole,
      secrets.hashToken(masterToken),
      secrets.encryptToken(masterToken),
      defaultKeyName,
      account.publicRole,
      secrets.hashToken(defaultToken),
      secrets.encryptToken(defaultToken),
    ],
  )
}

export async function isTokenInUse(control: Queryable, hash: Buffer): Promise<boolean> {
  const { rowCount } = await control.query('select from cartage.api_keys where token_hash = $1', [hash])
  return rowCount !== 0
}

/** Until the transaction ends, no other one that takes this lock stores a token with this hash. */
export async function lockToken(tx: ClientBase, hash: Buffer): Promise<void> {
  await tx.query('select pg_catalog.pg_advisory_xact_lock($1, pg_catalog.hashtext($2))', [
    advisoryLocks.token,
    hash.toString('hex'),
  ])
}

export type SealedToken = Readonly<{ keyId: number; encrypted: Buffer; hash: Buffer }>

export async function readTokens(tx: ClientBase): Promise<readonly SealedToken[]> {
  const { rows } = await tx.query<SealedToken>(`${selectTokens} order by id`)
  return rows
}

export async function newestTokens(control: Queryable, count: number): Promise<readonly SealedToken[]> {
  const { rows } = await control.query<SealedToken>(`${selectTokens} order by id desc limit $1`, [count])
  return rows
}

const selectTokens =
  'select id as "keyId", token_encrypted as encrypted, token_hash as hash from cartage.api_keys'

/** Stores the tokens hashed and encrypted with another secret. */
export async function resealTokens(tx: ClientBase, tokens: readonly SealedToken[]): Promise<void> {
  await tx.query(
    `update cartage.api_keys key set token_hash = moved.hash, token_encrypted = moved.sealed
     from unnest($1::integer[], $2::bytea[], $3::bytea[]) as moved(id, hash, sealed) where key.id = moved.id`,
    [
      tokens.map(({ keyId }) => keyId),
      tokens.map(({ hash }) => hash),
      tokens.map(({ encrypted }) => encrypted),
    ],
  )
}
