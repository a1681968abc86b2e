import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endless, itemsOf, jobApi, runJob, statusesOf } from '../support/jobs/job-api.ts'
import { untilRunning } from '../support/postgres/running-statement.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'

const options = { worker: true } as const

/** The backends that run a statement of a user's jobs now. Logins of a worker do not count. */
async function running(admin: Setup['admin'], { account }: TestUser): Promise<number> {
  const { rowCount } = await admin(
    `select from pg_stat_activity where usename = $1 and state = 'active' and query ~ 'pg_sleep'`,
    [account.masterRole],
  )
  return rowCount ?? 0
}

/** Submits a job and waits until its statement runs. */
async function begin(bundle: Setup, user: TestUser, query: unknown, item?: number): Promise<string> {
  const { job_id } = await jobApi(user).submit(query)
  await untilRunning(bundle, job_id, item)
  return job_id
}

test('cancelling a running job answers after it was stopped, and leaves nothing behind', async (t) => {
  const bundle = await setup(t, options)
  const { user, admin } = bundle
  const api = jobApi(user)
  await runJob(api, 'create table a (i int)')
  const id = await begin(bundle, user, `insert into a values (1); ${endless}`)
  const before = await api.read(id)
  const job = await api.cancel(id)
  assert.equal(await running(admin, user), 0)
  assert.equal(job.status, 'cancelled')
  assert.ok(job.updated_at > before.updated_at)
  assert.equal(job.failed_reason, undefined)
  assert.deepEqual(await api.read(id), job)
  assert.equal((await user.sql('select from a')).rowCount, 0)
  assert.equal((await runJob(api, 'insert into a values (2)')).status, 'done')
})

test('cancelling a chain keeps its committed items and sets the running one back to pending', async (t) => {
  const bundle = await setup(t, options)
  const { user } = bundle
  const id = await begin(bundle, user, ['create table a ()', endless, 'create table b ()'], 1)
  const job = await jobApi(user).cancel(id)
  assert.deepEqual(job.query, [
    { query: 'create table a ()', status: 'done' },
    { query: endless, status: 'pending' },
    { query: 'create table b ()', status: 'pending' },
  ])
  const { rows } = await user.sql(`select to_regclass('a') is not null as a, to_regclass('b') as b`)
  assert.deepEqual(rows, [{ a: true, b: null }])
})

test('cancelling a job in the object form skips its later items and all fallbacks', async (t) => {
  const bundle = await setup(t, options)
  const { user } = bundle
  const id = await begin(bundle, user, {
    query: [{ query: endless, onerror: 'create table no ()' }, 'create table never ()'],
    onerror: 'create table no ()',
  })
  const job = await jobApi(user).cancel(id)
  assert.equal(job.status, 'cancelled')
  assert.equal(job.fallback_status, 'skipped')
  assert.deepEqual(
    itemsOf(job).map(({ status, fallback_status }) => [status, fallback_status]),
    [
      ['pending', 'skipped'],
      ['skipped', undefined],
    ],
  )
  assert.deepEqual((await user.sql(`select to_regclass('no') as no`)).rows, [{ no: null }])
})

test('cancelling stops a running fallback too, and the item before it stays done', async (t) => {
  const bundle = await setup(t, options)
  const { user } = bundle
  const id = await begin(bundle, user, { query: ['create table a ()'], onsuccess: endless })
  const job = await jobApi(user).cancel(id)
  assert.equal(job.status, 'cancelled')
  assert.deepEqual(statusesOf(job), ['done'])
  assert.equal(job.fallback_status, 'skipped')
})

test('cancelling stops a statement that catches the cancel', async (t) => {
  const bundle = await setup(t, options)
  const { user, admin } = bundle
  const api = jobApi(user)
  await runJob(api, 'create table a (i int)')
  const stubborn = `do $$ begin
    insert into a values (1);
    begin perform pg_sleep(600); exception when query_canceled then null; end;
  end $$`
  const id = await begin(bundle, user, stubborn)
  assert.equal((await api.cancel(id)).status, 'cancelled')
  assert.equal(await running(admin, user), 0)
  assert.equal((await user.sql('select from a')).rowCount, 0)
})

test('cancelling stops a statement outside a transaction', async (t) => {
  const bundle = await setup(t, options)
  const { user, admin } = bundle
  const id = await begin(bundle, user, `begin; commit; ${endless}`)
  assert.equal((await jobApi(user).cancel(id)).status, 'cancelled')
  assert.equal(await running(admin, user), 0)
})

test('a job that has ended cannot be cancelled', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  for (const [query, status] of [
    ['select 1', 'done'],
    ['select 1/0', 'failed'],
  ]) {
    const { job_id } = await runJob(api, query)
    const answer = await api.call('DELETE', api.path(job_id))
    assert.equal(answer.status, 400)
    assert.deepEqual(answer.body, {
      error: [`Cannot set status from ${status} to cancelled`],
      code: 'cancel-refused',
      errors: [`The job status is ${status}, cancel is not allowed`],
    })
  }
})

test('of two concurrent cancels, one succeeds and one is refused', async (t) => {
  const bundle = await setup(t, options)
  const id = await begin(bundle, bundle.user, endless)
  const api = jobApi(bundle.user)
  const answers = await Promise.all([1, 2].map(() => api.call('DELETE', api.path(id))))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400])
})

test('a cancelled item was not applied and a done one was, whenever the cancel comes', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  await runJob(api, 'create table a (job int, item int)')
  const items = [0, 1, 2]
  const ended = await Promise.all(
    Array.from({ length: 24 }, async (_, job) => {
      const { job_id } = await api.submit(items.map((item) => `insert into a values (${job}, ${item})`))
      // The jobs run one after another, so the cancels meet them in every state.
      const answer = await api.call('DELETE', api.path(job_id))
      const final = await api.ended(job_id)
      assert.equal(final.status, answer.status === 200 ? 'cancelled' : 'done')
      return final
    }),
  )
  const { rows } = await user.sql('select job, item from a')
  const applied = rows.map(({ job, item }) => `${job} ${item}`).sort()
  const done = ended.flatMap((job, index) =>
    statusesOf(job).flatMap((status, item) => (status === 'done' ? [`${index} ${item}`] : [])),
  )
  assert.deepEqual(applied, done.sort())
})

test('a running job cannot be changed', async (t) => {
  const bundle = await setup(t, options)
  const api = jobApi(bundle.user)
  const id = await begin(bundle, bundle.user, endless)
  const { status, body } = await api.call('PUT', api.path(id), { query: 'select 1' })
  assert.equal(status, 400)
  assert.deepEqual(body.error, ['Job is not pending, it cannot be updated'])
  await api.cancel(id)
})

test('after its query was changed, a job runs the new one', async (t) => {
  const bundle = await setup(t, options)
  const { user } = bundle
  const api = jobApi(user)
  const blocker = await begin(bundle, user, endless)
  const { job_id } = await api.submit('create table old ()')
  await api.update(job_id, ['create table new ()'])
  await api.cancel(blocker)
  assert.deepEqual(statusesOf(await api.ended(job_id)), ['done'])
  const { rows } = await user.sql(`select to_regclass('old') as old, to_regclass('new') is not null as new`)
  assert.deepEqual(rows, [{ old: null, new: true }])
})
