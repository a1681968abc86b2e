import { errors } from '../errors.ts'
import { type Databases, tenantPools } from './databases.ts'
import { endBackends } from './end-backend.ts'
import type { Session } from './session.ts'
import { adminTarget } from './session-target.ts'
import { tenantRolePattern } from './tenant-names.ts'

/**
 * Runs `work` on an administrator's session, and ends tenants' sessions that block it. For work that must not wait: any
 * role with a privilege on a table can lock its catalog row, with a GRANT that changes nothing. Sessions of the operator,
 * and of another installation on the same server, are left alone.
 */
export async function endingBlockers<T>(
  databases: Databases,
  session: Session,
  work: () => Promise<T>,
): Promise<T> {
  const { admin, hosts } = databases
  let isOver = false
  let looking: Promise<unknown> = Promise.resolve()
  const look = () =>
    admin.use(adminTarget(hosts, session.target.hostId), async (other) => {
      // After the wait for this connection, the session may have another user, who may well wait for a lock.
      if (isOver) return
      looking = endBlockers(databases, other, session)
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

async function endBlockers(databases: Databases, administrator: Session, blocked: Session): Promise<void> {
  const values = [blocked.processId, tenantRolePattern(databases.namespace)]
  const { rows } = await administrator.query<{ pid: number }>(
    `select pid from pg_catalog.pg_stat_activity where ${isBlocker}`,
    values,
  )
  for (const { pid } of rows) {
    const sessions = tenantPools(databases).map((pools) => pools.find(blocked.target.hostId, pid))
    for (const each of sessions)
      each?.endFor(errors.lockNotAllowed('held', 'an object that is being changed'))
  }
  const pids = rows.map(({ pid }) => pid)
  if (pids.length > 0) await endBackends(administrator, `${isBlocker} and pid = any ($3)`, [...values, pids])
}

const isBlocker = 'pid = any (pg_catalog.pg_blocking_pids($1)) and usename ~ $2'

const patienceMs = 300
