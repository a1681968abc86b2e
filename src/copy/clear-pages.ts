import type { Account } from '../auth/account.ts'
import { quoteName, quoteQualified } from '../contract/text/quote.ts'
import type { Databases } from '../postgres/databases.ts'
import type { CopyStatement } from '../sql/copy-statement.ts'
import { queryAsMaster } from '../statements/ask-catalog.ts'

/**
 * Vacuums the table of an upload that was rolled back. Its pages count against the quota until then, and the user
 * should be able to retry at once. Runs as the master role, because functions in an index run as the role that vacuums,
 * and within the time limit of a query.
 */
export async function clearPages(
  databases: Databases,
  account: Account,
  { table }: CopyStatement,
): Promise<void> {
  if (!table) return
  const { schema, name } = table
  const quoted = schema === undefined ? quoteName(name) : quoteQualified(schema, name)
  const vacuum = `vacuum (skip_locked, truncate, index_cleanup on) ${quoted}`
  // If this fails, autovacuum does it later.
  await queryAsMaster(databases, account, vacuum).catch(() => undefined)
}
