import { setImmediate } from 'node:timers/promises'
import type { Account } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { Secrets } from '../../secrets.ts'
import type { EffectiveGrants } from '../grants.ts'
import type { Key, KeyRecord, KeysContext, WantedKeys } from '../key.ts'
import { openKey, type SealedKey } from '../key-store.ts'
import { effectiveGrants } from './effective-grants.ts'
import { readPageOfKeys } from './key-page-store.ts'

/**
 * One page of a user's keys: master first, then default, then regular ones, each sorted as requested. A caller whose
 * own token was replaced meanwhile must not see the new one.
 */
export async function listKeys(
  context: KeysContext,
  account: Account,
  listing: WantedKeys,
): Promise<{ total: number; keys: readonly Key[] }> {
  const { caller, databases, secrets } = context
  const page = await readPageOfKeys(databases.control, account.userId, listing, caller)
  if (caller && !page.isCallerKnown) throw errors.unauthorized()
  const roles = page.keys.map(({ role_name }) => role_name)
  const [grants, records] = await Promise.all([
    effectiveGrants(context, account, roles),
    openMeanwhile(secrets, page.keys),
  ])
  return { total: page.total, keys: records.map((record) => withGrants(record, grants.get(record.role)!)) }
}

/** Decrypts the tokens while PostgreSQL reads the grants. */
async function openMeanwhile(secrets: Secrets, keys: readonly SealedKey[]): Promise<readonly KeyRecord[]> {
  await setImmediate()
  return keys.map((key) => openKey(secrets, key))
}

/** The record comes last: in V8, adding members to a copy is slow. */
const withGrants = (record: KeyRecord, { tables, schemas }: EffectiveGrants): Key => ({
  tables,
  schemas,
  ...record,
})
