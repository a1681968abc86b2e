import type { Databases } from '../postgres/databases.ts'
import { endBackend, findBackend } from '../postgres/end-backend.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { settlesWithin } from '../waiting/settles-within.ts'

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
  if (await settlesWithin(ended, graceMs)) return
  // Not awaited: the host may not answer.
  endBackendOf(databases, session).catch(() => undefined)
  if (await settlesWithin(ended, graceMs)) return
  await session.destroy()
}

async function endBackendOf({ admin, hosts }: Databases, session: Session): Promise<void> {
  await admin.use(adminTarget(hosts, session.target.hostId), async (administrator) => {
    const backend = await findBackend(administrator, session)
    if (backend) await endBackend(administrator, backend, 0)
  })
}

const graceMs = 1_000
