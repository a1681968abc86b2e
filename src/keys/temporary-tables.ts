import type { Account } from '../auth/account.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { quoteIdentifier } from '../postgres/quote.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { KeysContext } from './key.ts'
import { untilFree } from './until-free.ts'

/**
 * Lets the role of a key that writes make temporary tables. The rights on a database are one catalog row, which any
 * role that may connect can lock: then the grant is retried in the background.
 */
export function allowTemporaryTables(context: KeysContext, account: Account, role: string): Promise<void> {
  return changeRight(context, account, role, (database) => `grant temporary on database ${database} to`)
}

/** The same backwards, for a key that no longer writes. */
export function forbidTemporaryTables(context: KeysContext, account: Account, role: string): Promise<void> {
  return changeRight(context, account, role, (database) => `revoke temporary on database ${database} from`)
}

async function changeRight(
  { databases, log }: KeysContext,
  { hostId, database }: Account,
  role: string,
  command: (database: string) => string,
): Promise<void> {
  const change = () =>
    databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
      endingBlockers(databases, session, () =>
        session.query(
          `set lock_timeout = '1s'; select cartage.compress_with_lz4();
           ${command(quoteIdentifier(database))} ${quoteIdentifier(role)}`,
        ),
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
