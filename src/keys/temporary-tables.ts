import type { Account } from '../auth/account.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { KeysContext } from './key.ts'
import { untilFree } from './until-free.ts'

/**
 * Lets the role of a key make temporary tables if the key writes, and else no longer. The rights on a database are one
 * catalog row, which any role that may connect can lock: then this is retried in the background. A retry goes by what
 * the key has then, whatever became of the changes between.
 */
export async function settleTemporaryTables(
  { databases, log }: KeysContext,
  { hostId, database }: Account,
  role: string,
): Promise<void> {
  const settle = () =>
    databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
      endingBlockers(databases, session, () => session.query('select cartage.settle_temporary($1)', [role])),
    )
  await settle().catch((error: unknown) => {
    log.warn(
      { err: error, role },
      'the right of a key to make temporary tables is not changed yet: trying again',
    )
    void untilFree({ log, role }, settle)
  })
}
