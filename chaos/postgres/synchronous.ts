import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { runSql } from './run-sql.ts'

/** From when it returns on, commits wait for the replica, and it has all that was committed before. */
export async function makeSynchronous(url: string): Promise<void> {
  await runSql(url, 'postgres', `alter system set synchronous_standby_names = '*'`)
  await runSql(url, 'postgres', 'select pg_reload_conf()')
  for (const deadline = Date.now() + patienceMs; !(await isSynchronousNow(url)); ) {
    if (Date.now() > deadline) throw new Error('the replica does not become synchronous')
    await sleep(50)
  }
}

const patienceMs = 30_000

/** A replica that commits wait for has all of the log up to this moment. */
export async function isSynchronousNow(url: string): Promise<boolean> {
  const { rows } = await runSql(url, 'postgres', 'select pg_current_wal_insert_lsn() as position')
  await sleep(confirmMs)
  const { rowCount } = await runSql(
    url,
    'postgres',
    `select from pg_stat_replication where sync_state = 'sync' and flush_lsn >= $1::pg_lsn`,
    [rows[0].position],
  )
  return rowCount === 1
}

const confirmMs = 300

/** Ends a tenant's backend, or only its wait, while its commit waits for the replica: a job's, if there is one. */
export async function endWaitingCommit(url: string, random: Random): Promise<Ended> {
  const { rows } = await runSql(
    url,
    'postgres',
    `select ${random.pick(['pg_terminate_backend', 'pg_cancel_backend'])}(pid), application_name as name from (
       select pid, application_name from pg_stat_activity 
       where application_name like 'cartage%' and application_name <> 'cartage admin' and wait_event = 'SyncRep'
       order by application_name = 'cartage job' desc, md5(pid::text || $1) limit 1
     ) victim`,
    [String(random.next())],
  )
  if (rows.length === 0) return 'none'
  return rows[0].name === 'cartage job' ? 'job' : 'other'
}

export type Ended = 'none' | 'job' | 'other'
