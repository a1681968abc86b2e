import type { ClientBase, Pool } from 'pg'
import { orphanMessage, queueChannel } from './queue-store.ts'

/** The advisory lock that a worker holds while it is alive. */
const presenceLock = 7238011

export async function registerWorker(client: ClientBase, name: string): Promise<number> {
  const { rows } = await client.query<{ id: number }>(
    'insert into cartage.workers (name) values ($1) returning id',
    [name],
  )
  return rows[0]!.id
}

/** Takes the lock on this connection; false while an earlier connection of the same worker still has it. */
export async function takePresence(client: ClientBase, id: number): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1, $2) as taken', [
    presenceLock,
    id,
  ])
  return rows[0]!.taken
}

/** False: the worker has been declared dead. */
export async function beat(client: ClientBase, id: number): Promise<boolean> {
  const { rowCount } = await client.query(
    'update cartage.workers set heartbeat_at = clock_timestamp() where id = $1',
    [id],
  )
  return rowCount === 1
}

export async function removeWorker(client: ClientBase, id: number): Promise<void> {
  await client.query('delete from cartage.workers where id = $1', [id])
}

export type SeenWorker = Readonly<{ id: number; isPresent: boolean; isSilent: boolean }>

export async function seeWorkers(control: Pool, silentMs: number): Promise<readonly SeenWorker[]> {
  const { rows } = await control.query<SeenWorker>({
    name: 'see-workers',
    text: `select w.id, w.heartbeat_at < clock_timestamp() - $2 * interval '1 millisecond' as "isSilent",
             exists (
               select from pg_locks l
               where l.locktype = 'advisory' and l.granted and l.classid = $1 and l.objid = w.id and l.objsubid = 2
                 and l.database = (select oid from pg_database where datname = current_database())
             ) as "isPresent"
           from cartage.workers w`,
    values: [presenceLock, silentMs],
  })
  return rows
}

export async function declareDead(control: Pool, ids: readonly number[]): Promise<void> {
  await control.query('delete from cartage.workers where id = any ($1)', [ids])
}

/** Takes their jobs from workers that are no more, and offers them to the others. The fence keeps the dead from writing. */
export async function orphanJobs(control: Pool): Promise<number> {
  const { rowCount } = await control.query({
    name: 'orphan-jobs',
    text: `with orphans as (
             update cartage.jobs j set worker_id = null, attempt = attempt + 1
             where status = 'running' and worker_id is not null
               and not exists (select from cartage.workers w where w.id = j.worker_id)
             returning id
           )
           select pg_notify('${queueChannel}', '${orphanMessage}') from orphans`,
  })
  return rowCount ?? 0
}
