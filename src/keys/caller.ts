import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../audit/audit-store.ts'
import type { Account } from '../auth/account.ts'
import { isStillKnown } from '../auth/account-store.ts'
import type { AuditAction } from '../contract/admin-names.ts'
import { errors } from '../errors.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Key, KeysContext } from './key.ts'
import { type KeyOwner, lockOwner } from './key-store.ts'

/** Part of the transaction that changes or shows the key. Whoever asked is the actor, or the operator. */
export async function recordKeyAudit(
  tx: ClientBase,
  { caller }: KeysContext,
  action: AuditAction,
  username: string,
  keyName: string,
): Promise<void> {
  const actor = caller?.account.username ?? operator
  await recordAudit(tx, { actor, action, account: username, subject: keyName })
}

/**
 * The first step of every change to the keys of a user: takes the lock, then asks whether the caller is still allowed,
 * since its token may have been replaced while it waited.
 */
export async function lockForCaller(
  tx: ClientBase,
  context: KeysContext,
  account: Account,
): Promise<KeyOwner> {
  const owner = await lockOwner(tx, account.userId)
  if (!owner) throw errors.userUnknown(account.username)
  await refuseRevoked(tx, context)
  return owner
}

/** Reads what has tokens in it. A caller whose own was replaced meanwhile must not see the new one. */
export async function readForCaller<T>(context: KeysContext, read: Promise<T>): Promise<T> {
  const found = await read
  await refuseRevoked(context.databases.control, context)
  return found
}

/** An owner or admin of an organization gets tokens of another member: recorded before they are answered. */
export async function recordShownKeys(
  { caller, databases }: KeysContext,
  { userId, username }: Account,
  keys: readonly Pick<Key, 'name' | 'type'>[],
): Promise<void> {
  // Everybody knows the token of the default key.
  const names = keys.filter(({ type }) => type !== 'default').map(({ name }) => name)
  if (!caller || caller.account.userId === userId || names.length === 0) return
  await recordAudit(databases.control, {
    actor: caller.account.username,
    action: 'key.shown',
    account: username,
    subject: names.length === 1 ? names[0]! : null,
    details: names.length === 1 ? {} : { count: names.length, names: names.slice(0, maxNames) },
  })
}

/** So that no record is too long. The master key is the first of a list. */
const maxNames = 100

/** To be asked after the tokens were read. */
export async function refuseRevoked(control: Queryable, { caller }: KeysContext): Promise<void> {
  if (caller && !(await isStillKnown(control, caller))) throw errors.unauthorized()
}
