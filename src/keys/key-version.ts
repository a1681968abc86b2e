import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { onConnection } from '../postgres/transaction.ts'
import type { KeysContext } from './key.ts'
import { lockTimeout, retryConflicts } from './retry-conflicts.ts'

/** A role as a change of its key has taken it. */
export type VersionedRole = Readonly<{ role: string; version: number }>

/**
 * Takes the next version of a key, under its user's lock: what names an older version changes nothing from now on. If the
 * lock is still held after this, every change that follows takes a later version.
 */
export function takeVersion({ databases }: KeysContext, account: Account, role: string): Promise<number> {
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  const attempt = () =>
    databases.admin.use(target, (session) =>
      onConnection(session.client, async (tx) => {
        await tx.query(lockTimeout)
        const { rows } = await tx.query<{ version: number }>(
          'update cartage.roles set version = version + 1 where role_name = $1 returning version',
          [role],
        )
        if (!rows[0]) throw errors.tablesBusy(new Error('the key has lost its role, which is left to repair'))
        return rows[0].version
      }),
    )
  return retryConflicts(attempt)
}
