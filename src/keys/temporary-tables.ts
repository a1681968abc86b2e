import type { Account } from '../auth/account.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { quoteIdentifier } from '../postgres/quote.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { KeysContext } from './key.ts'
import { untilFree } from './until-free.ts'

/**
 * Lets the role of a new key that writes make temporary tables. The rights on a database are one catalog row, which any
 * role that may connect can lock: then the grant is retried in the background.
 */
export async function allowTemporaryTables(
  { databases, log }: KeysContext,
  { hostId, database }: Account,
  role: string,
): Promise<void> {
  const allow = () =>
    databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
      endingBlockers(databases, session, () =>
        session.query(
          `set lock_timeout = '1s'; select cartage.compress_with_lz4();
           grant temporary on database ${quoteIdentifier(database)} to ${quoteIdentifier(role)}`,
        ),
      ),
    )
  await allow().catch((error: unknown) => {
    log.warn({ err: error, role }, 'a new key cannot make temporary tables yet: trying again')
    void untilFree({ log, role }, allow)
  })
}
