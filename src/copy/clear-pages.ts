import { type Account, masterTargetOf } from '../auth/account.ts'
import type { Databases } from '../postgres/databases.ts'
import { quoteIdentifier, quoteQualified } from '../postgres/quote.ts'
import type { CopyStatement } from '../sql/copy-statement.ts'

/**
 * Gives back the pages that a load had filled before it was rolled back. They count against the quota until somebody
 * vacuums the table, and whoever has just been refused shall not have to wait for that. As the master role, so that code
 * in an index runs as nobody else than it always does; within the time of a query.
 */
export async function clearPages(
  databases: Databases,
  account: Account,
  { table }: CopyStatement,
): Promise<void> {
  if (!table) return
  const { schema, name } = table
  const quoted = schema === undefined ? quoteIdentifier(name) : quoteQualified(schema, name)
  const vacuum = `vacuum (skip_locked, truncate, index_cleanup on) ${quoted}`
  // If it cannot be done now, PostgreSQL does it by itself later.
  await databases.query
    .use(masterTargetOf(account), (session) => session.query(vacuum))
    .catch(() => undefined)
}
