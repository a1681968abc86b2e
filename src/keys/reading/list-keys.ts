import type { Account } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { EffectiveGrants } from '../grants.ts'
import type { Key, KeyListing, KeyRecord, KeysContext } from '../key.ts'
import { openKey } from '../key-store.ts'
import { effectiveGrants } from './effective-grants.ts'
import { readPageOfKeys, readRolesOfPage } from './key-page-store.ts'

/**
 * One page of a user's keys: master first, then default, then regular ones, each in the order asked for. The grants, in
 * another database, take longer than all else: they are asked for as soon as the roles are known, and the rest is read
 * meanwhile. If a key has come into the page since then, they are asked for again.
 */
export async function listKeys(
  context: KeysContext,
  account: Account,
  listing: KeyListing,
): Promise<{ total: number; keys: readonly Key[] }> {
  const roles = await readRolesOfPage(context.databases.control, account.userId, listing)
  const [early, { total, records }] = await Promise.all([
    effectiveGrants(context, account, roles),
    readRecords(context, account, listing),
  ])
  const isComplete = records.every(({ role }) => early.has(role))
  const grants = isComplete ? early : await effectiveGrants(context, account, records.map(roleOf))
  return { total, keys: records.map((record) => withGrants(record, grants.get(record.role)!)) }
}

/** A caller whose own token was replaced meanwhile must not see the new one. */
async function readRecords(
  { caller, databases, secrets }: KeysContext,
  account: Account,
  listing: KeyListing,
) {
  const page = await readPageOfKeys(databases.control, account.userId, listing, caller)
  if (caller && !page.isCallerKnown) throw errors.unauthorized()
  return { total: page.total, records: page.keys.map((key) => openKey(secrets, key)) }
}

const roleOf = ({ role }: KeyRecord) => role

/** The record comes last: V8 takes long to add to a copy. */
const withGrants = (record: KeyRecord, { tables, schemas }: EffectiveGrants): Key => ({
  tables,
  schemas,
  ...record,
})
