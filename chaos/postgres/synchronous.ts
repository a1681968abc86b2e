import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { runSql } from './run-sql.ts'

/** Once it returns, commits wait for the replica, which has everything committed before. */
export async function makeSynchronous(url: string): Promise<void> {
  await runSql(url, 'postgres', `alter system set synchronous_standby_names = '*'`)
  await runSql(url, 'postgres', 'select pg_reload_conf()')
  for (const deadline = Date.now() + patienceMs; !(await isSynchronousNow(url)); ) {
    if (Date.now() > deadline) throw new Error('the replica does not become synchronous')
    await sleep(50)
  }
}

const patienceMs = 30_000

/** Once it returns, no commit waits for a replica. */
export async function makeAsynchronous(url: string): Promise<void> {
  await runSql(url, 'postgres', 'alter system reset synchronous_standby_names')
  await runSql(url, 'postgres', 'select pg_reload_conf()')
}

/** Whether a replica that commits wait for has the whole log up to this moment. */
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

/** Waits until this many jobs are in their statements and have not begun to commit, or the time is over. */
export async function untilJobsSleep(url: string, count: number, withinMs: number): Promise<void> {
  await untilJobsWait(url, 'PgSleep', count, withinMs)
}

/** Waits until this many commits of jobs wait for the replica, or the time is over. */
export async function untilCommitsWait(url: string, count: number, withinMs: number): Promise<void> {
  await untilJobsWait(url, 'SyncRep', count, withinMs)
}

async function untilJobsWait(url: string, event: string, count: number, withinMs: number): Promise<void> {
  const text = `select from pg_stat_activity where application_name = 'cartage job' and wait_event = $1`
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(10)) {
    // The server may be down by another attack.
    const found = await runSql(url, 'postgres', text, [event]).catch(() => undefined)
    if ((found?.rowCount ?? 0) >= count) return
  }
}

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
