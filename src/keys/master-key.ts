import type { Account } from '../auth/account.ts'
import { userByName } from '../auth/account-store.ts'
import { keyTypes, masterKeyName } from '../contract/key-names.ts'
import { errors } from '../errors.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { recordKeyAudit } from './caller.ts'
import type { Key, KeysContext } from './key.ts'
import { findKeyByName, regularKeyNames } from './key-store.ts'
import { listKeys } from './reading/list-keys.ts'
import { regenerateToken } from './regenerate-token.ts'

/** The user's master token, for the operator; recorded in the audit. */
export async function showMasterKey(context: KeysContext, username: string): Promise<string> {
  return inTransaction(context.databases.control, async (tx) => {
    const account = await findUser(tx, username)
    const key = await findKeyByName(tx, context.secrets, account.userId, masterKeyName)
    if (!key) throw errors.keyNotFound(masterKeyName)
    await recordKeyAudit(tx, context, 'key.shown', username, masterKeyName)
    return key.token
  })
}

/** Replaces the master token; the old one is invalid. */
export async function resetMasterKey(context: KeysContext, username: string): Promise<string> {
  const account = await findUser(context.databases.control, username)
  return (await regenerateToken(context, account, masterKeyName)).token
}

/** Replaces the tokens of all keys but the default one. Returns the master token and the names of the keys. */
export async function resetAllKeys(
  context: KeysContext,
  username: string,
): Promise<Readonly<{ token: string; names: readonly string[] }>> {
  const account = await findUser(context.databases.control, username)
  // First of all: a holder of the old one could make another key.
  const { token } = await regenerateToken(context, account, masterKeyName)
  const others = await regularKeyNames(context.databases.control, account.userId)
  for (const name of others) await regenerateToken(context, account, name)
  return { token, names: [masterKeyName, ...others] }
}

/** All keys of a user, for the operator. */
export async function listUserKeys(context: KeysContext, username: string): Promise<readonly Key[]> {
  const account = await findUser(context.databases.control, username)
  const found: Key[] = []
  for (let page = 1; ; page += 1) {
    const listing = { page, perPage: 1_000, order: 'name', direction: 'asc', types: keyTypes } as const
    const { total, keys } = await listKeys(context, account, listing)
    found.push(...keys)
    if (keys.length === 0 || found.length >= total) return found
  }
}

async function findUser(control: Queryable, username: string): Promise<Account> {
  const account = await userByName(control, username)
  if (!account) throw errors.accountNotFound('User', username)
  return account
}
