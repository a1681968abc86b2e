import type { Account } from '../auth/account.ts'
import { userByName } from '../auth/account-store.ts'
import { masterKeyName } from '../contract/key-names.ts'
import { errors } from '../errors.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { recordKeyAudit } from './caller.ts'
import type { KeysContext } from './key.ts'
import { findKeyByName } from './key-store.ts'
import { regenerateToken } from './regenerate-token.ts'

/** The master token of a user, for the operator; who looked stands in the audit record. */
export async function showMasterKey(context: KeysContext, username: string): Promise<string> {
  return inTransaction(context.databases.control, async (tx) => {
    const account = await findUser(tx, username)
    const key = await findKeyByName(tx, context.secrets, account.userId, masterKeyName)
    if (!key) throw errors.keyNotFound(masterKeyName)
    await recordKeyAudit(tx, context, 'key.shown', username, masterKeyName)
    return key.token
  })
}

/** A new master token; whoever had the old one is shut out. */
export async function resetMasterKey(context: KeysContext, username: string): Promise<string> {
  const account = await findUser(context.databases.control, username)
  return (await regenerateToken(context, account, masterKeyName)).token
}

async function findUser(control: Queryable, username: string): Promise<Account> {
  const account = await userByName(control, username)
  if (!account) throw errors.accountNotFound('User', username)
  return account
}
