import { randomInt } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import { advisoryLocks } from '../postgres/advisory-locks.ts'
import { orphanMessage, queueChannel } from './queue-store.ts'

/** The id is random: one from a sequence could repeat after a fail-over or a restore. */
export async function registerWorker(client: ClientBase, name: string): Promise<number> {
  const id = randomInt(1, 2 ** 31)
  await client.query('insert into cartage.workers (id, name) values ($1, $2)', [id, name])
  return id
}

/** Takes the lock on this connection; false while an earlier connection of the same worker holds it. */
export async function takePresence(client: ClientBase, id: number): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1, $2) as taken', [
    advisoryLocks.worker,
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

export type SeenWorker = Readonly<{
  id: number
  /** The worker holds the lock of its id. */
  isPresent: boolean
  /** Changes with each beat. Its value does not matter: clocks differ, and are set. */
  heartbeat: string
}>

export async function seeWorkers(control: Pool): Promise<readonly SeenWorker[]> {
  const { rows } = await control.query<SeenWorker>({
    name: 'see-workers',
    text: `select w.id, w.heartbeat_at::text as heartbeat,
             exists (
               select from pg_locks l
               where l.locktype = 'advisory' and l.granted and l.classid = $1 and l.objid = w.id and l.objsubid = 2
                 and l.database = (select oid from pg_database where datname = current_database())
             ) as "isPresent"
           from cartage.workers w`,
    values: [advisoryLocks.worker],
  })
  return rows
}

/** Only workers without a heartbeat since then: this statement may arrive late. */
export async function declareDead(control: Pool, dead: readonly SeenWorker[]): Promise<void> {
  await control.query(
    `delete from cartage.workers w using unnest($1::integer[], $2::timestamptz[]) d (id, heartbeat_at)
     where w.id = d.id and w.heartbeat_at = d.heartbeat_at`,
    [dead.map(({ id }) => id), dead.map(({ heartbeat }) => heartbeat)],
  )
}

/** Makes orphans of dead workers' jobs, and notifies the others. The fence keeps a worker that wakes up from writing. */
export async function orphanJobs(control: Pool): Promise<number> {
  const { rowCount } = await control.query({
    name: 'orphan-jobs',
    text: `with orphans as (
             update cartage.jobs j set worker_id = null, claim = null, revision = revision + 1, write_id = null
             where status = 'running' and worker_id is not null
               and not exists (select from cartage.workers w where w.id = j.worker_id)
             returning id
           )
           select cartage.tell('${queueChannel}', '${orphanMessage}') from orphans`,
  })
  return rowCount ?? 0
}
