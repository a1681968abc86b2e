import { setTimeout as sleep } from 'node:timers/promises'
import type { Databases } from './databases.ts'
import type { Session } from './session.ts'
import { adminTarget } from './session-target.ts'

/**
 * Stops what a session is running: first by asking. A statement may catch the cancel and go on; then its backend is
 * ended. Resolves when it has stopped; at the latest, when the connection is given up.
 */
export async function stopStatement(
  databases: Databases,
  session: Session,
  ended: Promise<unknown>,
): Promise<void> {
  await session.cancel()
  if (await endsInTime(ended)) return
  // Not waited for: the host may be the one that does not answer.
  endBackend(databases, session).catch(() => undefined)
  if (await endsInTime(ended)) return
  await session.destroy()
}

/** If that takes long, the pid may be another's by then: at least it is one of the same role. */
async function endBackend({ admin, hosts }: Databases, session: Session): Promise<void> {
  const { hostId, database, role } = session.target
  await admin.use(adminTarget(hosts, hostId), (administrator) =>
    administrator.query(
      `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
       where pid = $1 and datname = $2 and usename = $3`,
      [session.processId, database, role],
    ),
  )
}

async function endsInTime(ended: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController()
  const settled = ended.then(
    () => true,
    () => true,
  )
  const late = sleep(graceMs, false, { signal: waiting.signal }).catch(() => false)
  const result = await Promise.race([settled, late])
  waiting.abort()
  return result
}

const graceMs = 1_000
