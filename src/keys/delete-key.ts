import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import { changeKey } from './change-key.ts'
import type { Key, KeysContext } from './key.ts'
import { deleteKeyRow } from './key-store.ts'
import { removeKeyRole, removeKeyRoleLater } from './remove-key-role.ts'

/**
 * Deletes a regular key and returns it. The record goes first: from that commit on the token is invalid. Then the role
 * loses its rights. Objects locked by another session follow in the background. Repair removes what a crash leaves.
 */
export async function deleteKey(context: KeysContext, account: Account, name: string): Promise<Key> {
  const key = await changeKey(context, account, name, 'key.deleted', async (tx, { id, type }) => {
    if (type !== 'regular') throw errors.notYourResource()
    await deleteKeyRow(tx, id)
  })
  await removeKeyRole(context, account, key.role).catch((error: unknown) => {
    // Not awaited: the key has no rights any more, its role only still owns its objects.
    void removeKeyRoleLater(context, account, key.role, error)
  })
  return key
}
