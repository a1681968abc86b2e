import { recordAudit } from '../audit/audit-store.ts'
import type { Account } from '../auth/account.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { newToken } from '../auth/token.ts'
import { errors } from '../errors.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { passwordClause } from '../postgres/password-clause.ts'
import { quoteIdentifier } from '../postgres/quote.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { actorOf, lockForCaller } from './caller.ts'
import { endRequests } from './end-sessions.ts'
import { findKey } from './find-key.ts'
import type { Key, KeysContext } from './key.ts'
import { replaceToken } from './key-store.ts'

/** Gives the key a new token. Whoever had the old one is shut out: of the next request, and of the running ones. */
export async function regenerateToken(context: KeysContext, account: Account, name: string): Promise<Key> {
  const { control } = context.databases
  const key = await inTransaction(control, async (tx) => {
    await lockForCaller(tx, context, account)
    const found = await findKey(context, account, name, tx)
    if (found.type === 'default') throw errors.notYourResource()
    await replaceToken(tx, context.secrets, found.id, newToken())
    await recordAudit(tx, {
      actor: actorOf(context),
      action: 'key.regenerated',
      account: account.username,
      subject: name,
    })
    await announceChange(tx)
    return found
  })
  await awaitCaches(control, context.log)
  await shutOut(context, account, key.role)
  return findKey(context, account, name)
}

/**
 * With the old token one could also give the role a password of one's own, even in a transaction that is still open and
 * holds the role: it ends with its session.
 */
async function shutOut({ databases, secrets }: KeysContext, account: Account, role: string): Promise<void> {
  const password = passwordClause(secrets, role)
  await endRequests(databases, account, role)
  await databases.admin.use(adminTarget(databases.hosts, account.hostId), (session) =>
    endingBlockers(databases, session, () =>
      session.query(`alter role ${quoteIdentifier(role)} ${password}`),
    ),
  )
  await endRequests(databases, account, role)
}
