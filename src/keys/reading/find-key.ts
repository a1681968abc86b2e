import type { Account } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { Queryable } from '../../postgres/transaction.ts'
import type { Key, KeysContext } from '../key.ts'
import { findKeyByName } from '../key-store.ts'
import { effectiveGrants } from './effective-grants.ts'

/** The user's key with this name and its rights; throws if there is none. */
export async function findKey(
  context: KeysContext,
  account: Account,
  name: string,
  control: Queryable = context.databases.control,
): Promise<Key> {
  const record = await findKeyByName(control, context.secrets, account.userId, name)
  if (!record) throw errors.keyNotFound(name)
  const grants = await effectiveGrants(context, account, [record.role])
  return { ...record, ...grants.get(record.role)! }
}
