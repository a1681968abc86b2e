import type { Account } from '../auth/account.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { isBusy, isOutOfReach, isOvertaken } from '../postgres/sqlstate.ts'
import { keyRolePattern, masterRoleOfKey } from '../postgres/tenant-names.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { defaultScope } from './grants.ts'
import type { KeysContext } from './key.ts'
import { createKeyRole } from './key-role.ts'
import { findOwner, isRoleOfKey, keysWithoutRole, rolesWithoutKey, tryLockOwner } from './key-store.ts'
import { removeKeyRole } from './remove-key-role.ts'

/**
 * Removes roles of keys whose creation or removal was cut off, and returns their names. Gives a key without a role a
 * new one. What is locked or in work now is left for the next time.
 */
export async function repairKeys(context: KeysContext): Promise<readonly string[]> {
  const removed: string[] = []
  for (const { id: hostId } of context.databases.hosts.all()) {
    const { surplus, missing } = await rolesIfReachable(context, hostId)
    for (const role of surplus) {
      const account = await ownerOf(context, hostId, role)
      if (account && (await isRemoved(context, account, role))) removed.push(role)
    }
    for (const role of missing) {
      const account = await ownerOf(context, hostId, role)
      if (account) await replaceRole(context, account, role)
    }
  }
  return removed
}

/** The former grants are unknown, so it gets none: the user sees a key without tables and can delete it. */
async function replaceRole(context: KeysContext, account: Account, role: string): Promise<void> {
  const { databases, log } = context
  try {
    await inTransaction(databases.control, async (tx) => {
      const isOurs = (await tryLockOwner(tx, account.userId)) && (await isRoleOfKey(tx, role))
      if (!isOurs || !(await isMissing(context, account, role))) return
      await forgetRole(context, account, role)
      await createKeyRole(context, account, role, { ...defaultScope, tables: [], schemas: [] })
      log.warn(
        { role, username: account.username },
        'a key had lost its role: it has a new one, without grants',
      )
    })
  } catch (error) {
    log.error({ err: error, role }, 'a key without a role cannot be repaired')
  }
}

/** Removes the tenant database's record of a role that was dropped by hand. */
async function forgetRole({ databases }: KeysContext, account: Account, role: string): Promise<void> {
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  await databases.admin.use(target, (session) =>
    session.query('delete from cartage.roles where role_name = $1', [role]),
  )
}

async function isMissing({ databases }: KeysContext, { hostId }: Account, role: string): Promise<boolean> {
  return databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    const { rowCount } = await session.query('select from pg_catalog.pg_roles where rolname = $1', [role])
    return rowCount === 0
  })
}

/** A role that cannot be removed yet does not block the others. */
async function isRemoved(context: KeysContext, account: Account, role: string): Promise<boolean> {
  try {
    return (await isLeftover(context, account, role)) && (await removeKeyRole(context, account, role))
  } catch (error) {
    // The process that deleted the key may be removing it, too.
    const isExpected = isBusy(error) || isOvertaken(error)
    context.log[isExpected ? 'warn' : 'error']({ err: error, role }, 'the role of a key cannot be removed')
    return false
  }
}

/**
 * A creation holds the user's lock until the key's record exists. With neither lock nor record, the role is a leftover.
 */
async function isLeftover({ databases }: KeysContext, account: Account, role: string): Promise<boolean> {
  return inTransaction(databases.control, async (tx) => {
    return (await tryLockOwner(tx, account.userId)) && !(await isRoleOfKey(tx, role))
  })
}

/** A host that does not answer is skipped until the next repair. */
async function rolesIfReachable(context: KeysContext, hostId: number): Promise<Mismatch> {
  return compareRoles(context, hostId).catch((error: unknown) => {
    if (!isOutOfReach(error)) throw error
    context.log.warn({ err: error, hostId }, 'a database host does not answer: its roles are not repaired')
    return { surplus: [], missing: [] }
  })
}

/** Roles without a key, and missing roles of keys. */
type Mismatch = Readonly<{ surplus: readonly string[]; missing: readonly string[] }>

async function compareRoles({ databases, namespace }: KeysContext, hostId: number): Promise<Mismatch> {
  const onHost = await databases.admin.use(adminTarget(databases.hosts, hostId), (session) =>
    session.query<{ rolname: string }>('select rolname from pg_catalog.pg_roles where rolname ~ $1', [
      keyRolePattern(namespace),
    ]),
  )
  const there = onHost.rows.map((row) => row.rolname)
  return {
    surplus: await rolesWithoutKey(databases.control, there),
    missing: await keysWithoutRole(databases.control, hostId, there),
  }
}

/** A user that is being created or removed is left to `repairAccounts`. */
function ownerOf({ databases }: KeysContext, hostId: number, role: string): Promise<Account | undefined> {
  return findOwner(databases.control, hostId, masterRoleOfKey(role))
}
