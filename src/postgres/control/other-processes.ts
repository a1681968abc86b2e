import type { Pool } from 'pg'
import type { Queryable } from '../transaction.ts'

/**
 * True if another Cartage process is connected to the control database of `pool`, even if it is only starting. Tenants
 * cannot connect there, so no other client has our application names.
 */
export async function hasOtherProcesses(pool: Pool, control: Queryable = pool): Promise<boolean> {
  const { rows } = await control.query<{ count: number }>(
    `select count(*)::integer as count from pg_catalog.pg_stat_activity
     where datname = current_database() and application_name ~ '^cartage ' and application_name <> 'cartage admin'`,
  )
  return rows[0]!.count > pool.totalCount
}
