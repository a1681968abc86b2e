import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fullJobApi } from '../support/jobs/full-job-api.ts'
import { itemsOf } from '../support/jobs/job-api.ts'
import { eventually, setup } from '../support/service/setup.ts'

/** SQL that raises the SQLSTATE the first `times` times: a sequence is not rolled back. */
const failing = (state: string, times: number) => `
  create sequence calls;
  create function call() returns void language plpgsql as $$
  begin
    if nextval('calls') <= ${times} then raise exception 'not yet' using errcode = '${state}'; end if;
  end $$;
  create table ledger (item int)`

test('an item that fails with a transient error is retried and applied once', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql(failing('40001', 2))
  const job = await api.run({
    query: [
      'insert into ledger values (0)',
      'insert into ledger values (1); select call()',
      'insert into ledger values (2)',
    ],
    retry: { attempts: 3, backoff_s: 0 },
  })
  assert.deepEqual([job.status, job.attempts], ['done', 3], JSON.stringify(job))
  assert.deepEqual(
    itemsOf(job).map(({ status }) => status),
    ['done', 'done', 'done'],
  )
  const { rows } = await user.sql('select item from ledger order by 1')
  assert.deepEqual(
    rows.map(({ item }) => item),
    [0, 1, 2],
  )
})

test('SQLSTATE classes 40, 53 and 55 and 57P03 are retried; the others of class 57 are not', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql(failing('40001', 0))
  for (const [state, attempts] of [
    ['40P01', 2],
    ['53300', 2],
    ['55006', 2],
    ['57P03', 2],
    ['57P04', 1],
  ] as const) {
    await user.sql(`drop sequence calls; drop table ledger; drop function call; ${failing(state, 1)}`)
    const job = await api.run({ query: 'select call()', retry: { attempts: 3, backoff_s: 0 } })
    assert.equal(job.attempts, attempts, JSON.stringify(job))
    assert.equal(job.status, attempts === 2 ? 'done' : 'failed')
  }
})

test('after the last attempt the job fails with the last error, and its onerror runs once', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql(failing('55P03', 9))
  const job = await api.run({
    query: { query: [{ query: 'select call()', onerror: 'insert into ledger values (7)' }] },
    retry: { attempts: 3, backoff_s: 0 },
  })
  assert.deepEqual([job.status, job.attempts, job.failed_sqlstate], ['failed', 3, '55P03'])
  assert.deepEqual((await user.sql('select item from ledger')).rows, [{ item: 7 }])
  assert.deepEqual((await user.sql(`select nextval('calls')::int as next`)).rows, [{ next: 4 }])
})

test('other errors, statements outside a transaction and jobs without retry are not retried', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql(failing('40001', 99))
  await user.sql(`create procedure outside() language plpgsql as $$
    begin insert into ledger values (1); commit; perform call(); end $$`)
  const retry = { attempts: 5, backoff_s: 0 }
  const outside = await api.run({ query: 'call outside()', retry })
  assert.deepEqual([outside.status, outside.attempts, outside.failed_sqlstate], ['failed', 1, '40001'])
  assert.equal((await user.sql('select count(*)::int as n from ledger')).rows[0].n, 1)
  assert.equal((await api.run({ query: 'select call()' })).attempts, 1)
  assert.equal((await api.run({ query: 'select 1/0', retry })).attempts, 1)
})

test('between two attempts a job waits outside the queue, shows until when, and can be cancelled', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql(failing('40P01', 99))
  const { job_id: id } = await api.submit({ query: 'select call()', retry: { attempts: 3, backoff_s: 600 } })
  const waiting = await eventually(async () => {
    const job = await api.read(id)
    assert.deepEqual([job.status, job.attempts], ['pending', 1], JSON.stringify(job))
    return job
  })
  const leftMs = Date.parse(waiting.not_before!) - Date.now()
  assert.ok(leftMs > 500_000 && leftMs < 610_000, String(leftMs))
  assert.equal((await api.run({ query: 'select 1' })).status, 'done', 'it holds up no other job')
  assert.equal((await api.cancel(id)).status, 'cancelled')
  assert.equal((await api.run({ query: 'select 1' })).status, 'done')
})

test('a job starts at its not_before and not earlier', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  const due = new Date(Date.now() + 2_500)
  const job = await api.submit({ query: 'select 1', not_before: due.toISOString() })
  assert.equal(job.not_before, due.toISOString())
  const past = await api.run({ query: 'select 1', not_before: '2020-01-01T00:00:00+01:00' })
  assert.equal(past.status, 'done')
  assert.deepEqual((await api.read(job.job_id)).position, { ahead: 0, is_host_busy: false })
  const ended = await api.ended(job.job_id)
  const lateMs = Date.parse(ended.started_at!) - due.getTime()
  assert.ok(lateMs >= 0 && lateMs < 2_000, String(lateMs))
})

test('jobs that wait for their time are listed, changed and counted like queued ones', async (t) => {
  const { user } = await setup(t, { config: { jobQueueLimit: 2 } })
  const api = fullJobApi(user)
  const later = { query: 'select 1', not_before: '2099-01-01T00:00:00Z' }
  const { job_id: id } = await api.submit(later)
  await api.submit({ query: 'select 2' })
  assert.match(await api.refusal(later), /number of jobs \(2\)/)
  const { body: list } = await api.call<{ jobs: { job_id: string }[] }>('GET', `${api.path()}?status=pending`)
  assert.equal(list.jobs.length, 2)
  const changed = await api.call<{ not_before: string }>('PUT', api.path(id), {
    query: 'select $1',
    params: [1],
  })
  assert.deepEqual([changed.status, changed.body.not_before], [200, '2099-01-01T00:00:00.000Z'])
  await api.cancel(id)
  await api.submit(later)
})

test('an item that is one transaction by itself is retried too, and applied once', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql(failing('40001', 0))
  const retry = { attempts: 3, backoff_s: 0 }
  for (const [item, query] of [
    'begin isolation level serializable; insert into ledger values (0); savepoint s; select call(); commit',
    'set transaction isolation level serializable; insert into ledger values (1); select call()',
  ].entries()) {
    await user.sql(`alter sequence calls restart; create or replace function call() returns void language plpgsql as $$
      begin
        if current_setting('transaction_isolation') <> 'serializable' then raise exception 'not serializable'; end if;
        if nextval('calls') <= 2 then raise exception 'not yet' using errcode = '40001'; end if;
      end $$`)
    const job = await api.run({ query: [query, 'select 1'], retry })
    assert.deepEqual([job.status, job.attempts], ['done', 3], JSON.stringify(job))
    const { rows } = await user.sql('select count(*)::int as n from ledger where item = $1', [item])
    assert.deepEqual(rows, [{ n: 1 }])
  }
})

test('an item of several transactions is not retried', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql(failing('40001', 99))
  const retry = { attempts: 3, backoff_s: 0 }
  for (const query of [
    'begin; insert into ledger values (1); commit; begin; select call(); commit',
    'begin; insert into ledger values (1); commit and chain; select call(); commit',
    'begin; insert into ledger values (1); commit; select call()',
  ]) {
    await user.sql('truncate ledger')
    const job = await api.run({ query, retry })
    assert.deepEqual([job.status, job.attempts, job.failed_sqlstate], ['failed', 1, '40001'], query)
    assert.deepEqual((await user.sql('select item from ledger')).rows, [{ item: 1 }])
  }
})
