import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { onConnection } from '../postgres/transaction.ts'
import { faultTexts } from './create-key.ts'
import type { WantedGrants } from './grants.ts'
import type { KeysContext } from './key.ts'
import type { GrantFault } from './key-role.ts'
import type { VersionedRole } from './key-version.ts'
import { lockTimeout, retryConflicts } from './retry-conflicts.ts'

/**
 * Gives the role of a key these grants in place of all that it has on objects of others, in one transaction: no
 * statement sees a part of the change. What the key made itself stays its own. Refused if a later change has begun.
 * Ends sessions that hold locks on it: another member must not keep a user from narrowing a key.
 */
export function replaceGrants(
  { databases }: KeysContext,
  account: Account,
  versioned: VersionedRole,
  grants: WantedGrants,
): Promise<void> {
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  const attempt = () =>
    databases.admin.use(target, (session) =>
      endingBlockers(databases, session, () =>
        onConnection(session.client, async (tx) => {
          await tx.query(lockTimeout)
          await refuseFaults(tx, account, grants)
          await forgetGrants(tx, versioned, grants)
          await grant(tx, account, versioned.role, grants)
          // A REVOKE from now on waits for this transaction, and then sees the grants of the key.
          await refuseFaults(tx, account, grants)
        }),
      ),
    )
  return retryConflicts(attempt)
}

async function refuseFaults(tx: ClientBase, { username }: Account, grants: WantedGrants): Promise<void> {
  const { rows } = await tx.query<{ faults: GrantFault[] }>(
    'select cartage.refused_grants($1, $2, $3) as faults',
    [username, JSON.stringify(grants.tables), JSON.stringify(grants.schemas)],
  )
  const { faults } = rows[0]!
  if (faults.length > 0) throw errors.keyInvalid(faults.map((fault) => faultTexts[fault]))
}

async function forgetGrants(
  tx: ClientBase,
  { role, version }: VersionedRole,
  { services }: WantedGrants,
): Promise<void> {
  const { rowCount } = await tx.query(
    'update cartage.roles set services = $3 where role_name = $1 and version = $2',
    [role, version, services],
  )
  if (rowCount === 0) throw errors.tablesBusy(new Error('the key was changed again meanwhile'))
  await tx.query('delete from cartage.grants where role_name = $1', [role])
  const { rows } = await tx.query<{ busy: number }>('select cartage.revoke_all_grants($1) as busy', [role])
  if (rows[0]!.busy > 0) throw errors.tablesBusy(new Error('an object is locked'))
}

/** As `cartage.admit_key` does for a new key. */
async function grant(
  tx: ClientBase,
  { username }: Account,
  role: string,
  { tables, schemas }: WantedGrants,
): Promise<void> {
  await tx.query(
    `insert into cartage.grants (role_name, schema_name, table_name, permissions, relation, made_by)
     select $2, wish.schema, wish.name, wish.permissions, class.oid, pg_catalog.pg_get_userbyid(class.relowner)
     from pg_catalog.jsonb_to_recordset($3::jsonb) as wish (schema text, name text, permissions text[])
     join pg_catalog.pg_class class on class.oid = cartage.find_table($1, wish.schema, wish.name)`,
    [username, role, JSON.stringify(tables)],
  )
  await tx.query(
    'select cartage.grant_table(array[role_name], relation, permissions) from cartage.grants where role_name = $1',
    [role],
  )
  for (const { name, permissions } of schemas)
    if (permissions.includes('create'))
      await tx.query(`grant usage, create on schema ${quoteName(name)} to ${quoteName(role)}`)
}
