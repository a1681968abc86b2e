import { tenantRoleAttributes } from '../accounts/tenant-roles.ts'
import type { Account } from '../auth/account.ts'
import { disownElsewhere } from '../postgres/disown-elsewhere.ts'
import { quoteIdentifier, quoteLiteral } from '../postgres/quote.ts'
import { scramVerifier } from '../postgres/scram-verifier.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { inTransaction, onConnection } from '../postgres/transaction.ts'
import { endSessions } from './end-sessions.ts'
import type { WantedGrants } from './grants.ts'
import type { KeysContext } from './key.ts'
import { isRoleOfKey, lockOwner } from './key-store.ts'
import { lockTimeout, retryConflicts } from './retry-conflicts.ts'

/** The parts of the wanted grants that are not the user's to give. */
export type GrantFault = 'tables' | 'schemas'

/** Makes the role with all its grants in one transaction, or answers why it cannot be; then there is no role. */
export function createKeyRole(
  { databases, secrets }: KeysContext,
  account: Account,
  role: string,
  { tables, schemas, services }: WantedGrants,
): Promise<readonly GrantFault[]> {
  const verifier = quoteLiteral(scramVerifier(secrets.rolePassword(role)))
  const wanted = [JSON.stringify(tables), JSON.stringify(schemas)]
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  const attempt = () =>
    databases.admin.use(target, ({ client }) =>
      onConnection(client, async (tx) => {
        await tx.query(lockTimeout)
        const { rows } = await tx.query<{ faults: GrantFault[] }>(
          'select cartage.faults_in_grants($1, $2, $3) as faults',
          [account.username, ...wanted],
        )
        const { faults } = rows[0]!
        if (faults.length > 0) return faults
        await tx.query(`create role ${quoteIdentifier(role)} ${tenantRoleAttributes} password ${verifier}`)
        await tx.query('select cartage.admit_key($1, $2, $3, $4, $5)', [
          account.username,
          role,
          services,
          ...wanted,
        ])
        await tx.query(
          `grant temporary on database ${quoteIdentifier(account.database)} to ${quoteIdentifier(role)}`,
        )
        return []
      }),
    )
  return retryConflicts(attempt)
}

/**
 * Removes the role of a key whose record is gone: its sessions end, its objects go to the user. Holds the user's row,
 * so that repair and deletion do not meet. Safe to repeat; answers whether there was a role to remove.
 */
export function removeKeyRole(context: KeysContext, account: Account, role: string): Promise<boolean> {
  return inTransaction(context.databases.control, async (tx) => {
    if (!(await lockOwner(tx, account.userId)) || (await isRoleOfKey(tx, role))) return false
    const roleId = await lockOut(context, account, role)
    if (roleId === undefined) return false
    await endSessions(context.databases, account.hostId, role, roleId)
    await retryConflicts(() => dropRole(context, account, role))
    // A request that was on its way may have logged in after the first look.
    await endSessions(context.databases, account.hostId, role, roleId)
    return true
  })
}

async function lockOut(
  { databases }: KeysContext,
  account: Account,
  role: string,
): Promise<number | undefined> {
  return databases.admin.use(adminTarget(databases.hosts, account.hostId), async (session) => {
    const { rows } = await session.query<{ oid: number }>(
      'select oid from pg_catalog.pg_roles where rolname = $1',
      [role],
    )
    if (rows[0]) await session.query(`alter role ${quoteIdentifier(role)} nologin`)
    return rows[0]?.oid
  })
}

async function dropRole({ databases }: KeysContext, account: Account, role: string): Promise<void> {
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  const drop = () =>
    databases.admin.use(target, ({ client }) =>
      onConnection(client, async (tx) => {
        await tx.query(lockTimeout)
        await tx.query('select cartage.hand_over($1, $2)', [role, account.masterRole])
        await tx.query(`drop role ${quoteIdentifier(role)}`)
      }),
    )
  await drop().catch(async (error) => {
    // Tenants of other databases may have granted it something: roles belong to the whole cluster.
    if (!hasSqlstate(error, sqlstate.dependentObjectsStillExist)) throw error
    await databases.admin.use(target, (session) =>
      disownElsewhere(databases, session, [role], account.database),
    )
    await drop()
  })
}
