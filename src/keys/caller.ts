import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../audit/audit-store.ts'
import type { Account } from '../auth/account.ts'
import { standingOf } from '../auth/account-store.ts'
import { requireStanding } from '../auth/standing.ts'
import type { AuditAction } from '../contract/admin-names.ts'
import { errors } from '../errors.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { WantedGrants } from './grants.ts'
import type { Key, KeysContext } from './key.ts'
import { type KeyOwner, lockOwner } from './key-store.ts'

/** Call in the transaction that changes or shows the key. The actor is the caller, or else the operator. */
export async function recordKeyAudit(
  tx: ClientBase,
  { caller, actor: named, address }: KeysContext,
  action: AuditAction,
  username: string,
  keyName: string,
  grants: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const actor = caller?.account.username ?? named ?? operator
  const details = { ...(address !== undefined && { address }), ...grants }
  await recordAudit(tx, { actor, action, account: username, subject: keyName, details })
}

/** What a key may do, for the audit record. */
export function auditedGrants({ apis, hasTableMetadata, tables, schemas }: Omit<WantedGrants, 'services'>) {
  const leftOut = Math.max(tables.length - maxNames, 0) + Math.max(schemas.length - maxNames, 0)
  return {
    apis,
    ...(hasTableMetadata && { table_metadata: true }),
    tables: tables.slice(0, maxNames).map(({ schema, name, permissions }) => ({ schema, name, permissions })),
    schemas: schemas.slice(0, maxNames),
    ...(leftOut > 0 && { left_out: leftOut }),
  }
}

/**
 * The first step of every change to a user's keys: takes the lock, then checks that the caller is still allowed, since
 * its token may have been replaced during the wait.
 */
export async function lockForCaller(
  tx: ClientBase,
  context: KeysContext,
  account: Account,
): Promise<KeyOwner> {
  const owner = await lockOwner(tx, account.userId)
  if (!owner) throw errors.userUnknown(account.username)
  // The move may have begun after the request. The operator, who is no caller, cannot change a user that moves.
  if (owner.isMoving) throw context.caller ? errors.accountMoving() : errors.accountBusy(account.username)
  await refuseRevoked(tx, context)
  return owner
}

/** For reads that return tokens. A caller whose own token was replaced meanwhile must not see the new one. */
export async function readForCaller<T>(context: KeysContext, read: Promise<T>): Promise<T> {
  const found = await read
  await refuseRevoked(context.databases.control, context)
  return found
}

/** Records, before the answer, that an owner or admin of an organization got tokens of another member. */
export async function recordShownKeys(
  { caller, address, databases }: KeysContext,
  { userId, username }: Account,
  keys: readonly Pick<Key, 'name' | 'type'>[],
): Promise<void> {
  // The token of the default key is no secret.
  const names = keys.filter(({ type }) => type !== 'default').map(({ name }) => name)
  if (!caller || caller.account.userId === userId || names.length === 0) return
  await recordAudit(databases.control, {
    actor: caller.account.username,
    action: 'key.shown',
    account: username,
    subject: names.length === 1 ? names[0]! : null,
    details: {
      ...(address !== undefined && { address }),
      ...(names.length > 1 && { count: names.length, names: names.slice(0, maxNames) }),
    },
  })
}

/** Bounds the length of a record. The master key is the first of a list. */
const maxNames = 100

/** Call after the tokens were read. */
export async function refuseRevoked(control: Queryable, { caller }: KeysContext): Promise<void> {
  if (caller) requireStanding(caller, await standingOf(control, caller))
}
