import type { Databases } from './databases.ts'
import { endBackends } from './end-backend.ts'
import type { Session } from './session.ts'
import { adminTarget } from './session-target.ts'

/**
 * Runs `work` on an administrator's session, and ends tenants' sessions that block it. For work that must not wait: any
 * role with a privilege on a table can lock its catalog row, with a GRANT that changes nothing.
 */
export async function endingBlockers<T>(
  { admin, hosts }: Databases,
  session: Session,
  work: () => Promise<T>,
): Promise<T> {
  let isOver = false
  let looking: Promise<unknown> = Promise.resolve()
  const look = () =>
    admin.use(adminTarget(hosts, session.target.hostId), async (other) => {
      // After the wait for this connection, the session may have another user, who may well wait for a lock.
      if (isOver) return
      looking = endBackends(
        other,
        'pid = any (pg_catalog.pg_blocking_pids($1)) and usename <> current_user',
        [session.processId],
      )
      await looking
    })
  const timer = setInterval(() => look().catch(() => undefined), patienceMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    isOver = true
    await looking.catch(() => undefined)
  }
}

const patienceMs = 300
