import type { Account } from '../auth/account.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { KeysContext } from './key.ts'
import type { VersionedRole } from './key-version.ts'
import { untilFree } from './until-free.ts'

/**
 * Lets the role of a key that writes make temporary tables. The rights on a database are one catalog row, which any
 * role that may connect can lock: then the grant is retried in the background, as long as the key has this version.
 */
export function allowTemporaryTables(
  context: KeysContext,
  account: Account,
  role: VersionedRole,
): Promise<void> {
  return changeRight(context, account, role, true)
}

/** The same backwards, for a key that no longer writes. */
export function forbidTemporaryTables(
  context: KeysContext,
  account: Account,
  role: VersionedRole,
): Promise<void> {
  return changeRight(context, account, role, false)
}

async function changeRight(
  { databases, log }: KeysContext,
  { hostId, database }: Account,
  { role, version }: VersionedRole,
  isAllowed: boolean,
): Promise<void> {
  const change = () =>
    databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
      endingBlockers(databases, session, () =>
        session.query('select cartage.allow_temporary($1, $2, $3)', [role, version, isAllowed]),
      ),
    )
  await change().catch((error: unknown) => {
    log.warn(
      { err: error, role },
      'the right of a key to make temporary tables is not changed yet: trying again',
    )
    void untilFree({ log, role }, change)
  })
}
