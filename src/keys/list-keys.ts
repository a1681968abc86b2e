import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
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
  const { caller, databases, secrets } = context
  const { total, isCallerKnown, records } = await readPageOfKeys(
    databases.control,
    secrets,
    account.userId,
    listing,
    caller,
  )
  if (caller && !isCallerKnown) throw errors.unauthorized()
  const roles = records.map(({ role }) => role)
  const held = await effectiveGrants(context, account, roles)
  return { total, keys: records.map((record) => ({ ...record, ...held(record.role) })) }
}
