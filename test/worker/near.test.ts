import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { JobDocument } from '../../src/contract/documents.ts'
import { enqueueJobs } from '../../src/jobs/queue-store.ts'
import { endOf, writeJobs } from '../../src/jobs/write-store.ts'
import { endless, jobApi, runJob } from '../support/jobs/job-api.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

/** Records the transaction of each write to a job. */
async function watchWrites(
  t: TestContext,
  { service }: Setup,
): Promise<(id: string) => Promise<readonly string[]>> {
  const { control } = service.services.databases
  await control.query(`
    create table cartage.seen_writes (place serial, id uuid, what text, xid text);
    create function cartage.see_write() returns trigger language plpgsql as $$
    begin
      insert into cartage.seen_writes (id, what, xid)
      values (new.id, new.status || case when current_setting('synchronous_commit') = 'off' then ' unflushed' else '' end,
        pg_catalog.pg_current_xact_id()::text);
      return null;
    end
    $$;
    create trigger see_write after insert or update on cartage.jobs for each row execute function cartage.see_write()`)
  t.after(() => control.query('drop function cartage.see_write cascade; drop table cartage.seen_writes'))
  return async (id) => {
    const { rows } = await control.query<{ status: string; xid: string }>(
      'select what as status, xid from cartage.seen_writes where id = $1 order by place',
      [id],
    )
    const transactions = [...new Set(rows.map(({ xid }) => xid))]
    return transactions.map((xid) =>
      rows
        .filter((row) => row.xid === xid)
        .map(({ status }) => status)
        .join(', '),
    )
  }
}

test('queueing a job and giving it to the worker of its process takes one wait for the disk', async (t) => {
  const bundle = await setup(t, { worker: true, isIsolated: true })
  const writesOf = await watchWrites(t, bundle)
  const api = jobApi(bundle.user)
  // The worker may still be writing the end of the job before.
  await eventually(async () => {
    const { job_id: id } = await runJob(api, 'select 1')
    const writes = ['running', 'running unflushed', 'done']
    assert.deepEqual(await writesOf(id), writes, 'given, announced, ended')
  }, 60_000)
})

test('what an item has become is on disk before the next one begins, and so is what cannot be asked for', async (t) => {
  const bundle = await setup(t, { worker: true, isIsolated: true })
  const writesOf = await watchWrites(t, bundle)
  const api = jobApi(bundle.user)
  await eventually(async () => {
    const { job_id: chain } = await runJob(api, ['select 1', 'select 2'])
    const { job_id: outside } = await runJob(api, 'vacuum pg_class')
    assert.deepEqual(await writesOf(chain), ['running', 'running unflushed', 'running', 'done'])
    assert.deepEqual(await writesOf(outside), ['running', 'running', 'done'])
  }, 60_000)
})

test('a single job waits while its host has no free slot', async (t) => {
  const { user, createUser } = await setup(t, {
    worker: true,
    isIsolated: true,
    config: { jobsPerHost: 1, jobsPerWorker: 4 },
  })
  const [first, second] = [jobApi(user), jobApi(await createUser())]
  // So that both users are known to the worker.
  for (const api of [first, second]) await runJob(api, 'select 1')
  const { job_id: long } = await first.submit(endless)
  await eventually(async () => assert.equal((await first.read(long)).status, 'running'))
  const { job_id: id } = await second.submit('select 1')
  assert.equal((await second.read(id)).status, 'pending')
  await first.cancel(long)
  assert.equal((await second.ended(id)).status, 'done')
})

test('a single job overtakes no other, starts once, and does not start for a deleted user', async (t) => {
  const { user, createUser, service } = await setup(t, { isIsolated: true })
  const { databases, config } = service.services
  const { control } = databases
  const { account } = await createUser()
  t.after(() => control.query('delete from cartage.jobs; delete from cartage.job_queues'))
  const limits = { perUser: 1, importsPerUser: 1, perHost: 9, openHosts: [1] }
  const request = { workerId: 1, wanted: 1, wantedOrphans: 0, wantedImports: 0, ...limits }
  const newJob = () => ({
    id: randomUUID(),
    account,
    definition: { form: 'string', items: [{ statement: 'select 1' }] } as const,
    idempotencyKey: null,
    requestHash: null,
  })
  const enqueue = async (job = newJob()) => {
    const { queued, claimed } = await enqueueJobs(control, config, [job], { isPatient: false, request })
    return { at: queued[0], claimed }
  }
  const end = (jobs: Awaited<ReturnType<typeof enqueue>>['claimed']) =>
    writeJobs(
      control,
      jobs.map((from) => endOf(from, { ...from.job, status: 'done' })),
    )
  await end((await enqueue()).claimed)

  const job = newJob()
  const started = await enqueue(job)
  assert.deepEqual(
    started.claimed.map((claimed) => claimed.job.id),
    [job.id],
  )
  await end(started.claimed)
  assert.deepEqual(await enqueue(job), { at: started.at, claimed: [] }, 'it has ended long ago')

  const { job_id: waiting } = await jobApi(user).submit('select 1')
  const { claimed } = await enqueue()
  assert.deepEqual(
    claimed.map((given) => given.job.id),
    [waiting],
  )
  await control.query('delete from cartage.jobs; update cartage.job_queues set pending = 0, running = 0')
  await control.query(`update cartage.users set state = 'deleting' where id = $1`, [account.userId])
  assert.deepEqual((await enqueue()).claimed, [])
  await control.query(`update cartage.users set state = 'active' where id = $1`, [account.userId])
})

test('a request that waits for a job in the process that runs it returns what the database has', async (t) => {
  const { user, service } = await setup(t, { worker: true, isIsolated: true })
  const api = jobApi(user)
  const queries = [
    'select pg_sleep(0.3)',
    [`select pg_sleep(0.3), 'é \u{1f600}'`, 'select 1 / 0', 'select 2'],
    {
      query: [
        { query: 'select pg_sleep(0.3)', onsuccess: 'select 1' },
        { query: 'nonsense', onerror: 'select 2' },
      ],
      onsuccess: 'select 3',
      onerror: 'nonsense',
    },
  ]
  for (const query of queries) {
    const { job_id: id } = await api.submit(query)
    const { body } = await api.call<JobDocument>('GET', `${api.path(id)}?wait=30`)
    assert.deepEqual(body, await api.read(id))
    const { rows } = await service.services.databases.control.query(
      'select is_watched from cartage.jobs where id = $1',
      [id],
    )
    assert.deepEqual(rows, [{ is_watched: false }], 'nobody had to ask the database')
  }
})

test('a request that waits for a running job learns of a cancel at once, and times out if the job still runs', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = jobApi(user)
  const { job_id: id } = await api.submit('select pg_sleep(600)')
  await eventually(async () => assert.equal((await api.read(id)).status, 'running'))
  const wait = (seconds: number) => api.call<JobDocument>('GET', `${api.path(id)}?wait=${seconds}`)
  assert.equal((await wait(0.2)).body.status, 'running')
  const waiting = Array.from({ length: 3 }, () => wait(60))
  await api.cancel(id)
  for (const { body } of await Promise.all(waiting)) assert.equal(body.status, 'cancelled')
})

test('a running job is visible only to its owner', async (t) => {
  const { user, createUser } = await setup(t, { worker: true })
  const api = jobApi(user)
  const stranger = jobApi(await createUser())
  const { job_id: id } = await api.submit('select pg_sleep(600)')
  await eventually(async () => assert.equal((await api.read(id)).status, 'running'))
  assert.equal((await stranger.call('GET', `${stranger.path(id)}?wait=5`)).status, 404)
  await api.cancel(id)
})
