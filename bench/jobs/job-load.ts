import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Frame } from '../frame/frame.ts'
import { seconds } from '../frame/measure.ts'
import { RawClient } from '../frame/raw-client.ts'
import type { RunningService } from '../frame/service.ts'

export type JobUser = Readonly<{ id: number; path: string; query: string; database: string }>

export const statement = `insert into b (v) values ('x')`
const body = JSON.stringify({ query: statement })

/** Users with the table that their jobs write to, each with a connection as warm as in daily use. */
export async function makeUsers(
  frame: Frame,
  service: RunningService & { namespace: string },
  count: number,
): Promise<JobUser[]> {
  const users: JobUser[] = []
  const control = await frame.connect(service.namespace)
  for (let number = 1; number <= count; number++) {
    const username = `jobs-${number}`
    const { api_key: token } = (await service.admin('POST', '/users', { username })) as { api_key: string }
    const { rows } = await control.query(
      'select u.id, d.name from cartage.users u join cartage.databases d on d.id = u.database_id where u.username = $1',
      [username],
    )
    users.push({
      id: rows[0].id,
      path: `/user/${username}/api/v2/sql/job`,
      query: `api_key=${token}`,
      database: rows[0].name,
    })
  }
  return users
}

/** Creates the table by a job and waits for it. */
export async function prepareTables(service: RunningService, users: readonly JobUser[]): Promise<void> {
  const client = new RawClient(service.url)
  for (const user of users) {
    await runJob(client, user, 'create table b (id serial primary key, v text)')
  }
  client.close()
}

/** Milliseconds from the POST until the client knows that the job is done. */
export async function runJob(client: RawClient, user: JobUser, query = statement): Promise<number> {
  const milliseconds =
    1000 *
    (await seconds(async () => {
      const { job_id } = await submit(client, user, JSON.stringify({ query }))
      const { body: shown } = await client.send('GET', `${user.path}/${job_id}?wait=60&${user.query}`)
      const { status } = JSON.parse(shown)
      if (status !== 'done') throw new Error(shown)
    }))
  return milliseconds
}

/**
 * The same without a service, on one connection: the job is recorded, run, and its end recorded. As with a job, the
 * first and the last wait for the disk, and the statement between them does not. Returns the milliseconds of each time.
 */
export async function prepareJobByHand(client: Client): Promise<() => Promise<number>> {
  await client.query('create table job_by_hand (id serial primary key, definition json, status text)')
  const insert = `insert into job_by_hand (definition, status) values ($1, 'running') returning id`
  const run = async () => {
    const { rows } = await client.query({ name: 'insert', text: insert, values: [body] })
    await client.query(`begin; set local synchronous_commit = off; ${statement}; commit`)
    const update = `update job_by_hand set status = 'done' where id = $1`
    await client.query({ name: 'update', text: update, values: [rows[0].id] })
  }
  return async () => 1000 * (await seconds(run))
}

/** Submits jobs over some connections, the users in turn; returns the seconds it took. */
export async function submitMany(
  service: RunningService,
  users: readonly JobUser[],
  count: number,
  connections: number,
): Promise<number> {
  let next = 0
  const clients = Array.from({ length: connections }, () => new RawClient(service.url))
  const taken = await seconds(() =>
    Promise.all(
      clients.map(async (client) => {
        while (next < count) await submit(client, users[next++ % users.length]!, body)
      }),
    ),
  )
  for (const client of clients) client.close()
  return taken
}

async function submit(client: RawClient, user: JobUser, text: string): Promise<{ job_id: string }> {
  const answer = await client.send('POST', `${user.path}?${user.query}`, text)
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.body}`)
  return JSON.parse(answer.body)
}

/** Resolves when no job waits or runs any more. */
export async function untilIdle(control: Client): Promise<void> {
  for (;;) {
    const { rowCount } = await control.query(
      'select from cartage.job_queues where pending + running > 0 limit 1',
    )
    if (rowCount === 0) return
    await sleep(5)
  }
}

/** Inserts jobs directly into the queue of a user. */
export async function fillQueue(control: Client, { id }: JobUser, count: number): Promise<void> {
  await control.query('begin')
  await control.query('update cartage.job_queues set pending = pending + $2 where user_id = $1', [id, count])
  await control.query(
    `insert into cartage.jobs (user_id, host_id, id, definition)
     select $1, 1, gen_random_uuid(), $3 from generate_series(1, $2)`,
    [id, count, JSON.stringify({ form: 'string', items: [{ statement }] })],
  )
  await control.query(`select pg_notify('cartage_jobs', ''); commit`)
}

export async function emptyQueue(control: Client, { id }: JobUser): Promise<void> {
  await control.query('begin')
  await control.query('select from cartage.job_queues where user_id = $1 for update', [id])
  const { rowCount } = await control.query(
    `delete from cartage.jobs where user_id = $1 and status = 'pending'`,
    [id],
  )
  await control.query('update cartage.job_queues set pending = pending - $2 where user_id = $1', [
    id,
    rowCount,
  ])
  await control.query('commit')
}
