import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { newToken } from '../auth/token.ts'
import type { AuditAction } from '../contract/admin-names.ts'
import { quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { passwordClause } from '../postgres/password-clause.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { changeKey } from './change-key.ts'
import { endRequests } from './end-sessions.ts'
import type { Key, KeysContext } from './key.ts'
import { replaceToken } from './key-store.ts'
import { findKey } from './reading/find-key.ts'

/** Gives the key a new token. The old one fails at the next request, and requests in progress with it are ended. */
export async function regenerateToken(
  context: KeysContext,
  account: Account,
  name: string,
  action: AuditAction = 'key.regenerated',
  /** Throws if the key is not to get one. */
  check: (tx: ClientBase, key: Key) => Promise<void> = async () => {},
): Promise<Key> {
  const key = await changeKey(context, account, name, action, async (tx, found) => {
    if (found.type === 'default') throw errors.notYourResource()
    await check(tx, found)
    await replaceToken(tx, context.secrets, found.id, newToken())
    return undefined
  })
  await shutOut(context, account, key.role)
  return findKey(context, account, name)
}

/**
 * A holder of the old token may have given the role a password, perhaps in an open transaction that locks the role. So
 * requests are ended before the password is set, to free the role, and after it, as one may have logged in.
 */
async function shutOut({ databases, secrets }: KeysContext, account: Account, role: string): Promise<void> {
  const password = passwordClause(secrets, role)
  await endRequests(databases, account, role)
  await databases.admin.use(adminTarget(databases.hosts, account.hostId), (session) =>
    endingBlockers(databases, session, () => session.query(`alter role ${quoteName(role)} ${password}`)),
  )
  await endRequests(databases, account, role)
}
