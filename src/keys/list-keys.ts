import type { Account } from '../auth/account.ts'
import { effectiveGrants } from './effective-grants.ts'
import type { Key, KeyListing, KeysContext } from './key.ts'
import { countKeys, readKeys } from './key-store.ts'

/** One page of a user's keys: master first, then default, then regular ones, each in the order asked for. */
export async function listKeys(
  context: KeysContext,
  account: Account,
  listing: KeyListing,
): Promise<{ total: number; keys: readonly Key[] }> {
  const { control } = context.databases
  const [total, records] = await Promise.all([
    countKeys(control, account.userId, listing.types),
    readKeys(control, context.secrets, account.userId, listing),
  ])
  const held = await effectiveGrants(
    context,
    account,
    records.map((record) => record.role),
  )
  return { total, keys: records.map((record) => ({ ...record, ...held(record.role) })) }
}
