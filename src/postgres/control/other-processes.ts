import type { Pool } from 'pg'
import type { Queryable } from '../transaction.ts'

/**
 * Whether another Cartage process is connected to the control database of `pool`, be it only starting. Tenants cannot
 * connect there, so nobody else bears our names.
 */
export async function hasOtherProcesses(pool: Pool, control: Queryable = pool): Promise<boolean> {
  const { rows } = await control.query<{ count: number }>(
    `select count(*)::integer as count from pg_catalog.pg_stat_activity
     where datname = current_database() and application_name ~ '^cartage ' and application_name <> 'cartage admin'`,
  )
  return rows[0]!.count > pool.totalCount
}
