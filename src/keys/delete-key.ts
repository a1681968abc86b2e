import { recordAudit } from '../audit/audit-store.ts'
import type { Account } from '../auth/account.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { actorOf, lockForCaller } from './caller.ts'
import { findKey } from './find-key.ts'
import type { Key, KeysContext } from './key.ts'
import { deleteKeyRow } from './key-store.ts'
import { removeKeyRole, removeKeyRoleLater } from './remove-key-role.ts'

/**
 * Deletes a regular key and answers it as it was. Its record goes first: from that commit on the token is dead. Then go
 * its rights. Objects that somebody holds follow in the background; after a death repair sees to the rest.
 */
export async function deleteKey(context: KeysContext, account: Account, name: string): Promise<Key> {
  const { control } = context.databases
  const key = await inTransaction(control, async (tx) => {
    await lockForCaller(tx, context, account)
    const found = await findKey(context, account, name, tx)
    if (found.type !== 'regular') throw errors.notYourResource()
    await deleteKeyRow(tx, found.id)
    await recordAudit(tx, {
      actor: actorOf(context),
      action: 'key.deleted',
      account: account.username,
      subject: name,
    })
    await announceChange(tx)
    return found
  })
  await awaitCaches(control, context.log)
  await removeKeyRole(context, account, key.role).catch((error: unknown) => {
    // Nobody waits for it: what the key could do is over, and only its objects are still its own.
    void removeKeyRoleLater(context, account, key.role, error)
  })
  return key
}
