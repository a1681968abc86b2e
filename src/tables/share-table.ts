import { type Account, masterTargetOf } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { quoteIdentifier, quoteQualified } from '../postgres/quote.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'

/** Makes a table of the account's schema readable without a key. */
export async function shareTable(databases: Databases, account: Account, table: string): Promise<void> {
  const name = quoteQualified(account.schema, table)
  await asMaster(
    databases,
    account,
    table,
    `grant select on ${name} to ${quoteIdentifier(account.publicRole)}`,
  )
}

/** Makes it private again, also if it was opened to PUBLIC. Keys that were granted the table keep it. */
export async function unshareTable(databases: Databases, account: Account, table: string): Promise<void> {
  const name = quoteQualified(account.schema, table)
  const readers = `${quoteIdentifier(account.publicRole)}, public`
  await asMaster(databases, account, table, `revoke select on ${name} from ${readers}`)
}

async function asMaster(databases: Databases, account: Account, table: string, sql: string): Promise<void> {
  try {
    await databases.query.use(masterTargetOf(account), (session) => session.query(sql))
  } catch (error) {
    if (hasSqlstate(error, sqlstate.undefinedTable)) throw errors.notFound(`Table '${table}'`)
    throw error
  }
}
