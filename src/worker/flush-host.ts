import type { Flight } from '../jobs/job-store.ts'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'

/**
 * Brings the log of a host onto its disk up to now, so that the xid of a statement is never given out again. False: the
 * backend that has the xid is gone, perhaps with all of the server, and it may have been given out already.
 */
export async function flushHost(
  { admin, hosts }: Databases,
  hostId: number,
  { pid, backendStart }: Flight,
): Promise<boolean> {
  return admin.use(adminTarget(hosts, hostId), async (session) => {
    await session.query(`set synchronous_commit = on; select pg_logical_emit_message(true, 'cartage', '')`)
    const { rowCount } = await session.query(
      'select from pg_stat_activity where pid = $1 and backend_start = $2::timestamptz',
      [pid, backendStart],
    )
    return rowCount === 1
  })
}
