import type { Account } from '../auth/account.ts'
import { isOutOfReach } from '../hosts/out-of-reach.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { isBusy, isOvertaken } from '../postgres/sqlstate.ts'
import { keyRolePattern, masterRoleOfKey } from '../postgres/tenant-names.ts'
import { inTransaction } from '../postgres/transaction.ts'
import type { KeysContext } from './key.ts'
import { findOwner, isRoleOfKey, rolesWithoutKey, tryLockOwner } from './key-store.ts'
import { removeKeyRole } from './remove-key-role.ts'

/**
 * Removes the roles of keys that were not made to the end, or not removed to the end, and answers their names. What
 * somebody holds or works on right now is left for the next time.
 */
export async function repairKeys(context: KeysContext): Promise<readonly string[]> {
  const removed: string[] = []
  for (const { id: hostId } of context.databases.hosts.all()) {
    for (const role of await rolesIfReachable(context, hostId)) {
      const account = await ownerOf(context, hostId, role)
      if (account && (await isRemoved(context, account, role))) removed.push(role)
    }
  }
  return removed
}

/** One role that cannot go yet does not hold up the others. */
async function isRemoved(context: KeysContext, account: Account, role: string): Promise<boolean> {
  try {
    return (await isLeftover(context, account, role)) && (await removeKeyRole(context, account, role))
  } catch (error) {
    // The process that deleted the key may be at it, too.
    const isExpected = isBusy(error) || isOvertaken(error)
    context.log[isExpected ? 'warn' : 'error']({ err: error, role }, 'the role of a key cannot be removed')
    return false
  }
}

/** A creation holds the lock on the user until the record of the key is there. With neither lock nor record, the role is left over. */
async function isLeftover({ databases }: KeysContext, account: Account, role: string): Promise<boolean> {
  return inTransaction(databases.control, async (tx) => {
    return (await tryLockOwner(tx, account.userId)) && !(await isRoleOfKey(tx, role))
  })
}

/** A host that does not answer is looked at another time. */
async function rolesIfReachable(context: KeysContext, hostId: number): Promise<readonly string[]> {
  return leftoverRoles(context, hostId).catch((error: unknown) => {
    if (!isOutOfReach(error)) throw error
    context.log.warn({ err: error, hostId }, 'the roles of a database host cannot be repaired')
    return []
  })
}

async function leftoverRoles(
  { databases, namespace }: KeysContext,
  hostId: number,
): Promise<readonly string[]> {
  const onHost = await databases.admin.use(adminTarget(databases.hosts, hostId), (session) =>
    session.query<{ rolname: string }>('select rolname from pg_catalog.pg_roles where rolname ~ $1', [
      keyRolePattern(namespace),
    ]),
  )
  return rolesWithoutKey(
    databases.control,
    onHost.rows.map((row) => row.rolname),
  )
}

/** A user that is being made or removed is repaired by `repairAccounts`. */
function ownerOf({ databases }: KeysContext, hostId: number, role: string): Promise<Account | undefined> {
  return findOwner(databases.control, hostId, masterRoleOfKey(role))
}
