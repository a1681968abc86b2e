import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import { changeKey } from './change-key.ts'
import type { Key, KeysContext } from './key.ts'
import { deleteKeyRow } from './key-store.ts'
import { removeKeyRole, removeKeyRoleLater } from './remove-key-role.ts'

/**
 * Deletes a regular key and answers it as it was. Its record goes first: from that commit on the token is dead. Then its
 * rights go. Objects that another session holds follow in the background. What a death leaves, repair removes.
 */
export async function deleteKey(context: KeysContext, account: Account, name: string): Promise<Key> {
  const key = await changeKey(context, account, name, 'key.deleted', async (tx, { id, type }) => {
    if (type !== 'regular') throw errors.notYourResource()
    await deleteKeyRow(tx, id)
  })
  await removeKeyRole(context, account, key.role).catch((error: unknown) => {
    // Nobody waits for it: the key can do nothing any more, and only owns its objects still.
    void removeKeyRoleLater(context, account, key.role, error)
  })
  return key
}
