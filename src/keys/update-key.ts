import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import { readForCaller } from './caller.ts'
import { changeKey } from './change-key.ts'
import { notAhead } from './create-key.ts'
import type { WantedGrants } from './grants.ts'
import type { Key, KeysContext } from './key.ts'
import { type KeyColumns, updateKeyRow } from './key-store.ts'
import { takeVersion } from './key-version.ts'
import { findKey } from './reading/find-key.ts'
import { replaceGrants } from './replace-grants.ts'
import { settleTemporaryTables } from './temporary-tables.ts'

export type WantedKeyChanges = KeyColumns & Readonly<{ grants?: WantedGrants | undefined }>

/**
 * Changes a key in place: its token stays. The rights of its role are committed first; if the record then cannot be
 * written, the same request can be sent again. Returns the key, once no process trusts the old record.
 */
export async function updateKey(
  context: KeysContext,
  account: Account,
  name: string,
  { grants, ...columns }: WantedKeyChanges,
): Promise<Key> {
  await changeKey(context, account, name, 'key.changed', async (tx, { id, type, role }) => {
    if (type !== 'regular' && (grants || columns.expiresAt)) throw errors.keyInvalid([onlyRegular])
    const version = grants && (await takeVersion(context, account, role))
    // The user's lock is still held if this can be written.
    if (!(await updateKeyRow(tx, id, { ...columns, scope: grants }))) throw errors.keyInvalid([notAhead])
    if (!grants || version === undefined) return undefined
    await replaceGrants(context, account, { role, version }, grants)
    await settleTemporaryTables(context, account, role)
    return grants
  })
  return readForCaller(context, findKey(context, account, name))
}

const onlyRegular = 'Only a regular key can expire or change its grants'
