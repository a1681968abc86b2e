import type { Account } from '../auth/account.ts'
import type { Databases } from '../postgres/databases.ts'
import { queryAsMaster } from '../statements/ask-catalog.ts'

/** How much of its quota an account uses. */
export type AccountUsage = Readonly<{
  usedBytes: number
  /** Null: unlimited. */
  remainingBytes: number | null
  tableCount: number
}>

export async function accountUsage(databases: Databases, account: Account): Promise<AccountUsage> {
  const rows = await queryAsMaster<{ bytes: string; tables: string }>(
    databases,
    account,
    `select cartodb.CDB_UserDataSize() as bytes, (select pg_catalog.count(*) from cartodb.CDB_UserTables()) as tables`,
  )
  const usedBytes = Number(rows[0]!.bytes)
  const remainingBytes = account.quotaBytes === 0 ? null : Math.max(account.quotaBytes - usedBytes, 0)
  return { usedBytes, remainingBytes, tableCount: Number(rows[0]!.tables) }
}
