import type { Account } from '../auth/account.ts'
import { refuseRevoked } from './caller.ts'
import { effectiveGrants } from './effective-grants.ts'
import type { Key, KeyListing, KeysContext } from './key.ts'
import { readPageOfKeys } from './key-store.ts'

/**
 * One page of a user's keys: master first, then default, then regular ones, each in the order asked for. A caller whose
 * own token was replaced meanwhile must not see the new one.
 */
export async function listKeys(
  context: KeysContext,
  account: Account,
  listing: KeyListing,
): Promise<{ total: number; keys: readonly Key[] }> {
  const { control } = context.databases
  const { total, records } = await readPageOfKeys(control, context.secrets, account.userId, listing)
  const roles = records.map(({ role }) => role)
  const [held] = await Promise.all([
    effectiveGrants(context, account, roles),
    refuseRevoked(control, context),
  ])
  return { total, keys: records.map((record) => ({ ...record, ...held(record.role) })) }
}
