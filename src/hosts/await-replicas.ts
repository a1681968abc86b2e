import type { Databases } from '../postgres/databases.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { poll } from '../waiting/poll.ts'

/**
 * Waits until a host's synchronous replicas have confirmed everything committed there so far; false after `waitMs`. If
 * a backend that waits for replicas is ended, PostgreSQL considers its transaction committed, but a fail-over may lose
 * it. Without synchronous replication, returns true at once.
 */
export async function awaitReplicas(administrator: Session, waitMs: number): Promise<boolean> {
  const needed = await countNeeded(administrator)
  if (needed === 0) return true
  const position = await writeToLog(administrator)
  const areEnough = async () => (await countConfirmed(administrator, position)) >= needed || undefined
  return (await poll(areEnough, { everyMs: 20, timeoutMs: waitMs })) ?? false
}

/** The same for a host. */
export function isReplicated({ admin, hosts }: Databases, hostId: number, waitMs: number): Promise<boolean> {
  return admin.use(adminTarget(hosts, hostId), (session) => awaitReplicas(session, waitMs))
}

/** How many replicas must confirm a commit: `ANY 2 (a, b, c)`, `FIRST 2 (a, b)`, `2 (a, b)`; 1 for a plain list. */
async function countNeeded(administrator: Session): Promise<number> {
  const { rows } = await administrator.query<{ names: string }>(
    `select pg_catalog.current_setting('synchronous_standby_names') as names`,
  )
  const names = rows[0]!.names.trim()
  if (names === '') return 0
  const [, count] = /^(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(names) ?? []
  return Number(count ?? 1)
}

/**
 * Returns a WAL position after everything committed so far. The record is flushed here, but its commit does not wait
 * for the replicas: an interrupted wait would look like a successful one.
 */
async function writeToLog(administrator: Session): Promise<string> {
  await administrator.query('begin; set local synchronous_commit = local')
  const { rows } = await administrator.query<{ position: string }>(
    `select pg_catalog.pg_logical_emit_message(true, 'cartage', '') as position`,
  )
  await administrator.query('commit')
  return rows[0]!.position
}

async function countConfirmed(administrator: Session, position: string): Promise<number> {
  const { rows } = await administrator.query<{ confirmed: number }>(
    `select pg_catalog.count(*)::integer as confirmed from pg_catalog.pg_stat_replication
     where sync_state in ('sync', 'quorum') and flush_lsn >= $1::pg_lsn`,
    [position],
  )
  return rows[0]!.confirmed
}
