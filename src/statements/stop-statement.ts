import { setTimeout as sleep } from 'node:timers/promises'
import type { Databases } from '../postgres/databases.ts'
import { endBackend, findBackend } from '../postgres/end-backend.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'

/**
 * Stops the session's statement: first with a cancel; if the statement catches that, by ending the backend; then by
 * destroying the connection. Resolves when it has stopped.
 */
export async function stopStatement(
  databases: Databases,
  session: Session,
  ended: Promise<unknown>,
): Promise<void> {
  await session.cancel()
  if (await endsInTime(ended)) return
  // Not awaited: the host may not answer.
  endBackendOf(databases, session).catch(() => undefined)
  if (await endsInTime(ended)) return
  await session.destroy()
}

async function endBackendOf({ admin, hosts }: Databases, session: Session): Promise<void> {
  await admin.use(adminTarget(hosts, session.target.hostId), async (administrator) => {
    const backend = await findBackend(administrator, session)
    if (backend) await endBackend(administrator, backend, 0)
  })
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
