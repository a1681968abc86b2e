import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { createUser } from '../../src/accounts/create-user.ts'
import type { ClaimedJob } from '../../src/jobs/claim-store.ts'
import { registerWorker } from '../../src/jobs/worker-store.ts'
import { endOf, writeJobs } from '../../src/jobs/write-store.ts'
import { jobApi, runJob } from '../support/jobs/job-api.ts'
import { type Flow, startProxy } from '../support/postgres/tcp-proxy.ts'
import { runSql, withDatabase } from '../support/runner/namespace.ts'
import { newInstallation } from '../support/service/installation.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

/** A claim of one job for each that ends. */
const nothingWanted = {
  wanted: 0,
  wantedOrphans: 0,
  wantedImports: 0,
  perUser: 1,
  importsPerUser: 1,
  perHost: 9,
  openHosts: [1],
}

/** Submits three jobs of the user and returns the last, which is claimed with the end of the one before. */
async function submitLast({ user }: Setup, query: unknown) {
  const api = jobApi(user)
  const release = await submitGate(user)
  const { job_id: before } = await api.submit('select 1')
  const { job_id: id } = await api.submit(query)
  await release()
  await api.ended(before)
  return { api, id }
}

/** A job that ends on request; jobs submitted meanwhile wait for it. */
async function submitGate(user: TestUser): Promise<() => Promise<unknown>> {
  await user.sql('create table go ()')
  await jobApi(user).submit(
    'do $$ begin while not exists (select from go) loop perform pg_sleep(0.02); end loop; end $$',
  )
  return () => user.sql('insert into go default values')
}

test('a job claimed with the end of the last one can be cancelled, and then is not applied', async (t) => {
  const bundle = await setup(t, { worker: true })
  const { user } = bundle
  await user.sql('create table ledger (item int)')
  const { api, id } = await submitLast(bundle, 'insert into ledger values (1); select pg_sleep(600)')
  assert.equal((await api.cancel(id)).status, 'cancelled')
  assert.equal((await user.sql('select from ledger')).rowCount, 0)
  assert.equal((await runJob(api, 'insert into ledger values (2)')).status, 'done')
})

test('a job claimed with the end of the last one runs outside a transaction if it must', async (t) => {
  const bundle = await setup(t, { worker: true })
  await bundle.user.sql('create table ledger (item int)')
  const { api, id } = await submitLast(bundle, 'vacuum ledger')
  assert.equal((await api.ended(id)).status, 'done')
})

test('a job leaves nothing in the session for the next one', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = jobApi(user)
  await user.sql('create table found (what text)')
  const release = await submitGate(user)
  const dirty = `create temp table left_behind (); set work_mem = '1MB'; select pg_advisory_lock(1)`
  const { job_id: first } = await api.submit(dirty)
  const { job_id: second } = await api.submit(`insert into found
    select to_regclass('left_behind')::text union all select nullif(current_setting('work_mem'), '1MB')
    union all select pg_advisory_unlock(1)::int::text`)
  await release()
  assert.equal((await api.ended(first)).status, 'done')
  assert.equal((await api.ended(second)).status, 'done')
  const { rows } = await user.sql(`select what from found order by what is null, what`)
  assert.deepEqual(
    rows.map(({ what }) => what),
    ['0', rows[1]!.what, null],
  )
  assert.notEqual(rows[1]!.what, null)
})

test('no transaction stays open after the last job', async (t) => {
  const { user, admin } = await setup(t, { worker: true })
  const api = jobApi(user)
  const jobs = await Promise.all(Array.from({ length: 30 }, () => api.submit('select 1')))
  await Promise.all(jobs.map(({ job_id }) => api.ended(job_id)))
  await eventually(async () => {
    const { rowCount } = await admin(
      `select from pg_stat_activity where datname = $1 and state like 'idle in transaction%'`,
      [user.account.database],
    )
    assert.equal(rowCount, 0)
  }, 2_000)
})

test("a locked job row delays neither other users' jobs nor their submission", async (t) => {
  const bundle = await setup(t, { worker: true })
  const { user, createUser, service } = bundle
  const { control } = service.services.databases
  const other = jobApi(await createUser())
  const { job_id: held } = await jobApi(user).submit('select pg_sleep(0.2)')
  await eventually(async () => assert.equal((await jobApi(user).read(held)).status, 'running'))
  const released = await hold(control, 'select from cartage.jobs where id = $1 for update', [held])
  await eventually(() => isWaitedFor(bundle))
  const started = Date.now()
  for (let turn = 0; turn < 5; turn++) assert.equal((await runJob(other, 'select 1')).status, 'done')
  assert.ok(Date.now() - started < 5_000)
  await released()
  assert.equal((await jobApi(user).ended(held)).status, 'done')

  const releasedQueue = await hold(control, 'select from cartage.job_queues where user_id = $1 for update', [
    user.account.userId,
  ])
  const late = jobApi(user).submit('select 1')
  for (let turn = 0; turn < 5; turn++) assert.equal((await runJob(other, 'select 1')).status, 'done')
  assert.equal(await Promise.race([late, 'waiting']), 'waiting')
  await releasedQueue()
  assert.equal((await jobApi(user).ended((await late).job_id)).status, 'done')
})

test('a job does not overtake an older one of its user whose row is locked for a moment', async (t) => {
  const { user, createUser, service } = await setup(t, { worker: true })
  const { control } = service.services.databases
  const api = jobApi(user)
  await user.sql('create table ledger (at serial, item int)')
  const release = await submitGate(user)
  const jobs: string[] = []
  for (const item of [1, 2, 3])
    jobs.push((await api.submit(`insert into ledger (item) values (${item})`)).job_id)
  const released = await hold(control, 'select from cartage.jobs where id = $1 for update', [jobs[0]])
  await release()
  assert.equal((await runJob(jobApi(await createUser()), 'select pg_sleep(0.5)')).status, 'done')
  for (const id of jobs) assert.equal((await api.read(id)).status, 'pending')
  await released()
  for (const id of jobs) assert.equal((await api.ended(id)).status, 'done')
  const { rows } = await user.sql('select item from ledger order by at')
  assert.deepEqual(
    rows.map(({ item }) => item),
    [1, 2, 3],
  )
})

/** Locks rows until the returned function is called. */
async function hold(control: Pool, lock: string, values: unknown[]): Promise<() => Promise<void>> {
  const client: PoolClient = await control.connect()
  await client.query('begin')
  await client.query(lock, values)
  return async () => {
    await client.query('commit')
    client.release()
  }
}

test('the end of a job is on the disk before it is answered, with the claim of the next one', async (t) => {
  const { user, service } = await setup(t, { isIsolated: true })
  const { control } = service.services.databases
  const client = await control.connect()
  t.after(() => client.release())
  const request = { ...nothingWanted, workerId: 1 }
  for (let turn = 0; turn < 11; turn++) await jobApi(user).submit('select 1')
  let { claimed } = await writeJobs(control, [], { request: { ...request, wanted: 1 } })
  for (let turn = 0; turn < 10; turn++) {
    const [from] = claimed
    await client.query('begin')
    claimed = (await writeJobs(client, [endOf(from!, { ...from!.job, status: 'done' })], { request })).claimed
    const { rows } = await client.query('select pg_current_wal_insert_lsn() as written')
    await client.query('commit')
    const after = await client.query('select pg_current_wal_flush_lsn() >= $1::pg_lsn as is_on_disk', [
      rows[0].written,
    ])
    assert.deepEqual([claimed.length, after.rows[0].is_on_disk], [1, true])
  }
})

test('a job is not lost when the answer that gives it to a worker is lost', async (t) => {
  const { user, service } = await setup(t, { worker: true, isIsolated: true })
  const { control } = service.services.databases
  const api = jobApi(user)
  // No claims are possible meanwhile.
  const release = await hold(control, 'select pg_advisory_xact_lock(7238010)', [])
  const { job_id: id } = await api.submit('select 1')
  await control.query(
    `update cartage.jobs set status = 'running', claim = gen_random_uuid(), revision = 1,
       worker_id = (select id from cartage.workers)`,
  )
  await control.query('update cartage.job_queues set pending = 0, running = 1')
  await release()
  assert.equal((await api.ended(id)).status, 'done')
})

test('a job stays with its worker when the answer is only slow', async (t) => {
  const installation = await newInstallation(t)
  const proxy = await startProxy(t, installation.keys.adminUrl)
  const service = await installation.start({ keys: { adminUrl: proxy.url }, parts: { worker: true } })
  const { account, masterToken } = await createUser(service.services.installation, { username: 'alice' })
  const user = { base: `${service.url}/user/${account.username}`, username: account.username, masterToken }
  const api = jobApi(user as TestUser)
  await api.ended((await api.submit('select 1')).job_id)
  const slow: Flow[] = []
  proxy.watch((flow, text) => {
    // Both statements can give the job to the worker.
    if (!/enqueue-jobs|write-jobs/.test(text)) return
    slow.push(flow)
    flow.holdAnswers()
  })
  const submitted = api.submit('select 2')
  const direct = { connectionString: withDatabase(installation.keys.adminUrl, installation.config.namespace) }
  const claimOf = async () =>
    (await runSql(direct, `select claim, revision from cartage.jobs where status = 'running'`)).rows[0]
  const claimed = await eventually(async () => {
    const found = await claimOf()
    assert.ok(found)
    return found
  })
  // Long enough for the check of claims each second, too short for the connection to be given up.
  await sleep(2_500)
  assert.deepEqual(await claimOf(), claimed)
  proxy.watch(() => undefined)
  for (const flow of slow) flow.release()
  assert.equal((await api.ended((await submitted).job_id)).status, 'done')
})

test('a user served before the clock was set back does not wait an hour for its turn', async (t) => {
  const {
    user,
    createUser: another,
    service,
  } = await setup(t, {
    worker: true,
    isIsolated: true,
    config: { jobsPerWorker: 1 },
  })
  const { control } = service.services.databases
  const api = jobApi(user)
  await api.ended((await api.submit('select 1')).job_id)
  await control.query(
    `update cartage.job_queues set last_served = last_served + interval '1 hour' where user_id = $1`,
    [user.account.userId],
  )
  const other = jobApi(await another())
  const many = []
  for (let n = 0; n < 12; n++) many.push((await other.submit('select pg_sleep(1)')).job_id)
  const { job_id } = await api.submit('select 2')
  assert.equal((await api.ended(job_id)).status, 'done')
  assert.equal((await other.read(many.at(-1)!)).status, 'pending')
  for (const id of many) await other.cancel(id).catch(() => undefined)
})

test('a job that cannot be claimed because claims are locked is claimed right after', async (t) => {
  const { user, service } = await setup(t, { worker: true, isIsolated: true })
  const api = jobApi(user)
  const waits: number[] = []
  for (let turn = 0; turn < 7; turn++) {
    const release = await hold(
      service.services.databases.control,
      'select pg_advisory_xact_lock(7238010)',
      [],
    )
    const { job_id: id } = await api.submit('select 1')
    await sleep(100)
    assert.equal((await api.read(id)).status, 'pending')
    await release()
    const released = performance.now()
    assert.equal((await api.ended(id)).status, 'done')
    waits.push(performance.now() - released)
  }
  // Less than the poll of every second would take.
  const median = waits.sort((one, other) => one - other)[3]!
  assert.ok(median < 250, `${median} ms`)
})

test('more than ten concurrent jobs cause no warning of Node', async (t) => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const { user } = await setup(t, {
    worker: true,
    config: { jobsPerUser: 12, jobsPerWorker: 12 },
  })
  const api = jobApi(user)
  const jobs = await Promise.all(Array.from({ length: 12 }, () => api.submit('select pg_sleep(0.5)')))
  for (const { job_id } of jobs) assert.equal((await api.ended(job_id)).status, 'done')
  assert.deepEqual(warnings, [])
})

test('a worker that ends a job gets no new one while a user on another host is next', async (t) => {
  const { user, createUser, service } = await setup(t, { isIsolated: true })
  const { control } = service.services.databases
  const elsewhere = await createUser()
  await control.query(`insert into cartage.hosts (name) values ('other')`)
  t.after(() =>
    control.query(
      `delete from cartage.jobs; delete from cartage.job_queues; delete from cartage.hosts where id = 2`,
    ),
  )
  const client = await control.connect()
  const workerId = await registerWorker(client, 'test').finally(() => client.release())
  for (const one of [user, user, elsewhere]) await jobApi(one).submit('select 1')
  await control.query(`update cartage.job_queues set host_id = 2 where user_id = $1`, [
    elsewhere.account.userId,
  ])
  const request = { ...nothingWanted, workerId }
  const claim = async () => (await writeJobs(control, [], { request: { ...request, wanted: 1 } })).claimed
  const end = (from: ClaimedJob, openHosts: readonly number[]) =>
    writeJobs(control, [endOf(from, { ...from.job, status: 'done' })], { request: { ...request, openHosts } })
  const [first] = await claim()
  const ended = await end(first!, [1, 2])
  assert.deepEqual([ended.claimed, ended.hasMore], [[], true])
  const [second] = await claim()
  await jobApi(user).submit('select 1')
  assert.equal((await end(second!, [1])).claimed.length, 1)
})

/** Waits until the worker has a write blocked by a lock on the job. */
async function isWaitedFor({ admin, service }: Setup): Promise<void> {
  const { rowCount } = await admin(
    `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'`,
    [service.services.config.namespace],
  )
  assert.notEqual(rowCount, 0)
}
