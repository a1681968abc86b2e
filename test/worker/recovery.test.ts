import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CartageProcess } from '../../chaos/process.ts'
import { fullJobApi } from '../support/jobs/full-job-api.ts'
import { jobApi, runJob, statusesOf } from '../support/jobs/job-api.ts'
import { startWorkerProcess } from '../support/jobs/worker-process.ts'
import { untilRunning } from '../support/postgres/running-statement.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'
import { openReceiver } from '../support/webhooks/receiver.ts'

const takeoverMs = 15_000

/** The process that runs a job, after the statement of the given item was sent. */
async function holderOf(
  bundle: Setup,
  jobId: string,
  item: number,
  workers: readonly CartageProcess[],
): Promise<CartageProcess> {
  await untilRunning(bundle, jobId, item, 30_000)
  const { rows } = await bundle.admin(
    'select w.name from cartage.workers w join cartage.jobs j on j.worker_id = w.id where j.id = $1',
    [jobId],
    bundle.service.services.config.namespace,
  )
  return workers.find(({ pid }) => rows[0].name.endsWith(` ${pid}`))!
}

test('another worker continues the job of a killed one, and nothing is applied twice', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { user } = bundle
  const api = jobApi(user)
  const workers = await Promise.all([startWorkerProcess(t, bundle), startWorkerProcess(t, bundle)])
  await runJob(api, 'create table ledger (item int)')
  const { job_id } = await api.submit([
    'insert into ledger values (0)',
    'insert into ledger values (1); select pg_sleep(2)',
    'insert into ledger values (2)',
  ])
  const victim = await holderOf(bundle, job_id, 1, workers)
  const killedAt = Date.now()
  victim.signal('SIGKILL')
  const survivor = workers.find((worker) => worker !== victim)!
  // The backend of the killed worker may live a moment longer.
  await eventually(
    async () => assert.ok((await holderOf(bundle, job_id, 1, workers)) === survivor),
    takeoverMs,
  )
  assert.ok(Date.now() - killedAt < takeoverMs)
  const job = await api.ended(job_id)
  assert.deepEqual(statusesOf(job), ['done', 'done', 'done'])
  const { rows } = await user.sql('select item, count(*)::int from ledger group by item order by item')
  assert.deepEqual(
    rows,
    [0, 1, 2].map((item) => ({ item, count: 1 })),
  )
})

test('a frozen worker loses its job, and writes nothing when it continues', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { user } = bundle
  const api = jobApi(user)
  const workers = await Promise.all([startWorkerProcess(t, bundle), startWorkerProcess(t, bundle)])
  await runJob(api, 'create table ledger (item int)')
  const { job_id } = await api.submit([
    'insert into ledger values (0); select pg_sleep(3)',
    'insert into ledger values (1)',
  ])
  const stopped = await holderOf(bundle, job_id, 0, workers)
  stopped.signal('SIGSTOP')
  // The first item commits by itself meanwhile; the other worker runs the second.
  const job = await api.ended(job_id)
  assert.deepEqual(statusesOf(job), ['done', 'done'])
  stopped.signal('SIGCONT')
  await eventually(async () => {
    const { rows } = await bundle.admin(
      'select name from cartage.workers where name like $1',
      [`% ${stopped.pid}`],
      bundle.service.services.config.namespace,
    )
    assert.equal(rows.length, 1, 'it comes back under a new id')
  })
  assert.deepEqual(await api.read(job_id), job)
  const { rows } = await user.sql('select item from ledger order by item')
  assert.deepEqual(rows, [{ item: 0 }, { item: 1 }])
  assert.equal((await runJob(api, 'select 1')).status, 'done')
})

test('a statement outside a transaction whose worker died ends the job as unknown, and sends job.unknown', async (t) => {
  const receiver = await openReceiver()
  const bundle = await setup(t, { isIsolated: true, config: { webhooks: [receiver.host] } })
  const api = fullJobApi(bundle.user)
  const start = () => startWorkerProcess(t, bundle, { CARTAGE_WEBHOOKS: receiver.host })
  const workers = await Promise.all([start(), start()])
  const hook = receiver.address()
  const { job_id } = await api.submit({
    query: ['begin; commit; select pg_sleep(600)', 'select 1'],
    onerror: 'create table no ()',
    notify: [{ url: hook.url, on: ['unknown'] }],
  })
  const victim = await holderOf(bundle, job_id, 0, workers)
  victim.signal('SIGKILL')
  const job = await api.ended(job_id)
  assert.equal(job.status, 'unknown')
  assert.match(job.failed_reason!, /cannot run inside a transaction/)
  assert.deepEqual(statusesOf(job), ['unknown', 'skipped'])
  assert.equal(job.fallback_status, 'skipped')
  const [told] = await hook.atLeast(1)
  const { type, data } = told!.body
  assert.deepEqual(
    [type, data.job_id, data.status, data.failed_reason],
    ['job.unknown', job_id, 'unknown', job.failed_reason],
  )
})

test('on SIGTERM a worker gives running statements time, gives back the rest and exits with 0', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { user, createUser } = bundle
  const patient = jobApi(user)
  const long = jobApi(await createUser())
  const chain = jobApi(await createUser())
  const first = await startWorkerProcess(t, bundle, { CARTAGE_SHUTDOWN_GRACE_MS: '1500' })
  const short = await patient.submit('select pg_sleep(1)')
  const endless = await long.submit('select pg_sleep(600)')
  const half = await chain.submit(['select 1', 'select pg_sleep(600)'])
  for (const [id, item] of [
    [short.job_id, 0],
    [endless.job_id, 0],
    [half.job_id, 1],
  ] as const) {
    await holderOf(bundle, id, item, [first])
  }
  assert.equal(await first.end('SIGTERM'), 0)
  assert.equal((await patient.read(short.job_id)).status, 'done')
  assert.equal((await long.read(endless.job_id)).status, 'pending')
  const given = await chain.read(half.job_id)
  assert.equal(given.status, 'running')
  assert.deepEqual(statusesOf(given), ['done', 'pending'])
  const second = await startWorkerProcess(t, bundle)
  assert.equal(await holderOf(bundle, endless.job_id, 0, [second]), second)
  assert.equal(await holderOf(bundle, half.job_id, 1, [second]), second)
  assert.deepEqual(statusesOf(await chain.cancel(half.job_id)), ['done', 'pending'])
  assert.equal((await long.cancel(endless.job_id)).status, 'cancelled')
})

test('a worker checks again what it read before a crash of the server, and nothing is applied twice', async (t) => {
  const bundle = await setup(t, { worker: true })
  const { user, admin, service } = bundle
  const api = jobApi(user)
  await runJob(api, 'create table ledger (item int)')
  const { job_id } = await api.submit([
    'insert into ledger values (0); select pg_sleep(3)',
    'insert into ledger values (1); select pg_sleep(3)',
    'insert into ledger values (2)',
  ])
  for (const item of [0, 1]) {
    await untilRunning(bundle, job_id, item)
    // The state after a crash.
    await admin('delete from cartage.server_epoch', [], service.services.config.namespace)
  }
  assert.deepEqual(statusesOf(await api.ended(job_id)), ['done', 'done', 'done'])
  const { rows } = await user.sql('select item from ledger order by item')
  assert.deepEqual(rows, [{ item: 0 }, { item: 1 }, { item: 2 }])
})

test('a worker whose control connections are cut continues its jobs', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { user, admin, service } = bundle
  const api = jobApi(user)
  await Promise.all([startWorkerProcess(t, bundle), startWorkerProcess(t, bundle)])
  await runJob(api, 'create table ledger (item serial)')
  const { job_id } = await api.submit(
    Array.from({ length: 8 }, () => 'insert into ledger default values; select pg_sleep(0.2)'),
  )
  const cut = `select pg_terminate_backend(pid) from pg_stat_activity
               where datname = $1 and application_name = 'cartage control'`
  for (let cuts = 0; cuts < 4; cuts++) {
    await admin(cut, [service.services.config.namespace])
    await sleep(300)
  }
  assert.deepEqual(statusesOf(await api.ended(job_id)), Array(8).fill('done'))
  assert.equal((await user.sql('select from ledger')).rowCount, 8)
})
