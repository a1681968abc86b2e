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
  return watching(databases, session, patienceMs, (other) => endBlockers(databases, other, session), work)
}

/**
 * Runs a DROP DATABASE on an administrator's session, and ends tenants' uploads that block it. Every session of the
 * server must react before PostgreSQL drops a database, and one that waits for the rest of a COPY does so only when the
 * next row is complete. An upload that completes rows goes on.
 */
export async function endingSilentCopies<T>(
  databases: Databases,
  session: Session,
  work: () => Promise<T>,
): Promise<T> {
  let former = new Map<number, string>()
  const endSilent = async (other: Session) => {
    const values = [session.processId, tenantRolePattern(databases.namespace)]
    const { rows } = await other.query<{ pid: number; stored: string }>(waitingCopies, values)
    const silent = rows.filter(({ pid, stored }) => former.get(pid) === stored).map(({ pid }) => pid)
    former = new Map(rows.map(({ pid, stored }) => [pid, stored]))
    if (silent.length > 0)
      await endBackends(other, 'usename ~ $1 and wait_event = $2 and pid = any ($3)', [
        values[1],
        'ClientRead',
        silent,
      ])
  }
  return watching(databases, session, silenceMs, endSilent, work)
}

/** Runs `work` on `session`, and `look` now and then on another one while it lasts. */
async function watching<T>(
  { admin, hosts }: Databases,
  session: Session,
  everyMs: number,
  look: (other: Session) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  let isOver = false
  let looking: Promise<void> = Promise.resolve()
  const lookOnce = () =>
    admin.use(adminTarget(hosts, session.target.hostId), async (other) => {
      // After the wait for this connection, the session may have another user, who may well wait for a lock.
      if (isOver) return
      looking = look(other)
      await looking
    })
  const timer = setInterval(() => lookOnce().catch(() => undefined), everyMs)
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

const waitingCopies = `select copy.pid, copy.tuples_processed as stored
  from pg_catalog.pg_stat_progress_copy copy join pg_catalog.pg_stat_activity waiting using (pid)
  where waiting.wait_event = 'ClientRead' and waiting.usename ~ $2 and exists
    (select from pg_catalog.pg_stat_activity where pid = $1 and wait_event = 'ProcSignalBarrier')`

const patienceMs = 300
const silenceMs = 5_000
