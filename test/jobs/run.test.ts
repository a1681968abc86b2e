import assert from 'node:assert/strict'
import { test } from 'node:test'
import { itemsOf, jobApi, runJob, statusesOf } from '../support/jobs/job-api.ts'
import { setup } from '../support/service/setup.ts'

const options = { worker: true } as const

test("a job runs as the master role of its user in the user's schema", async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(
    jobApi(user),
    'create table who as select session_user::text as name, current_schema',
  )
  assert.equal(job.status, 'done')
  assert.ok(job.updated_at > job.created_at)
  const { rows } = await user.sql('select * from who')
  assert.deepEqual(rows, [{ name: user.account.masterRole, current_schema: 'public' }])
})

test("the job of an organization's member runs in the member's schema", async (t) => {
  const { createOrganization, createUser } = await setup(t, options)
  const { name } = await createOrganization()
  const member = await createUser({ organization: name })
  assert.equal((await runJob(jobApi(member), 'create table mine as select 1')).status, 'done')
  const { rows } = await member.sql(`select schemaname from pg_tables where tablename = 'mine'`)
  assert.deepEqual(rows, [{ schemaname: member.username }])
})

test('the items of a chain run in order, each in a clean session', async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(jobApi(user), [
    'create table log (at serial, what text)',
    `insert into log (what) values ('first')`,
    `set search_path to pg_catalog; create temp table seen as select 1`,
    `insert into log (what) select coalesce(to_regclass('pg_temp.seen')::text, 'clean')`,
    `insert into log (what) values (current_setting('application_name'))`,
  ])
  assert.deepEqual(statusesOf(job), Array(5).fill('done'))
  const { rows } = await user.sql('select what from log order by at')
  assert.deepEqual(
    rows.map(({ what }) => what),
    ['first', 'clean', 'cartage job'],
  )
})

test('a failing item fails the job, and later items of a chain stay pending', async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(jobApi(user), ['create table a (i int)', 'select 1/0', 'create table b (i int)'])
  assert.equal(job.status, 'failed')
  assert.equal(job.failed_reason, 'division by zero')
  assert.deepEqual(job.query, [
    { query: 'create table a (i int)', status: 'done' },
    { query: 'select 1/0', status: 'failed', failed_reason: 'division by zero', failed_sqlstate: '22012' },
    { query: 'create table b (i int)', status: 'pending' },
  ])
  const { rows } = await user.sql(
    `select to_regclass('a') is not null as a, to_regclass('b') is not null as b`,
  )
  assert.deepEqual(rows, [{ a: true, b: false }])
})

test('several statements in one item are one transaction', async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(jobApi(user), 'create table a (i int); insert into a values (1); select 1/0')
  assert.equal(job.status, 'failed')
  assert.deepEqual((await user.sql(`select to_regclass('a') as a`)).rows, [{ a: null }])
})

test('a syntax error of PostgreSQL is the reason of the failure', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  const broken = await runJob(api, 'selec 1')
  assert.equal(broken.status, 'failed')
  assert.equal(broken.failed_reason, 'syntax error at or near "selec"')
  assert.equal((await runJob(api, `select 'open`)).status, 'failed')
  assert.match((await runJob(api, 'select * from nowhere')).failed_reason!, /"nowhere" does not exist/)
})

test('a job of nothing but comments ends as done at once', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  for (const query of ['-- nothing', '/* nothing */', ';;']) {
    assert.equal((await runJob(api, query)).status, 'done', query)
  }
})

test('statements that cannot run in a transaction run outside one', async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(jobApi(user), [
    'create table a (i int)',
    'create index concurrently on a (i)',
    'vacuum a',
    'begin; insert into a values (1); commit',
    'do $$ begin insert into a values (2); commit; insert into a values (3); end $$',
    'set transaction isolation level serializable; insert into a values (4)',
    'drop index concurrently a_i_idx',
  ])
  assert.deepEqual(statusesOf(job), Array(7).fill('done'), job.failed_reason)
  assert.deepEqual((await user.sql('select i from a order by 1')).rows, [
    { i: 1 },
    { i: 2 },
    { i: 3 },
    { i: 4 },
  ])
})

test('a statement that leaves a transaction open is rolled back and fails', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  await runJob(api, 'create table a (i int)')
  const job = await runJob(api, 'begin; insert into a values (1)')
  assert.equal(job.status, 'failed')
  assert.match(job.failed_reason!, /left a transaction open/)
  assert.equal((await user.sql('select from a')).rowCount, 0)
})

test('an error at the commit fails the item', async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(jobApi(user), [
    'create table a (i int unique deferrable initially deferred)',
    'insert into a values (1), (1)',
    'select 1',
  ])
  assert.deepEqual(statusesOf(job), ['done', 'failed', 'pending'])
  assert.match(job.failed_reason!, /duplicate key/)
  assert.equal((await user.sql('select from a')).rowCount, 0)
})

test('an item ends at its timeout, even if it lifts the limit or catches the cancel', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  await runJob(api, 'create table a (i int)')
  const texts = [
    'insert into a values (1); select pg_sleep(60)',
    'insert into a values (2); set statement_timeout = 0; select pg_sleep(60)',
    `do $$ begin
       insert into a values (3);
       perform set_config('statement_timeout', '0', false);
       loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop;
     end $$`,
  ]
  for (const query of texts) {
    const job = await runJob(api, [{ query, timeout: 300 }])
    assert.equal(job.status, 'failed')
    assert.equal(job.failed_reason, 'canceling statement due to statement timeout')
  }
  assert.equal((await user.sql('select from a')).rowCount, 0)
})

test('item and job fallbacks run in order, with the error text and the job id filled in', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  await runJob(api, 'create table log (at serial, what text)')
  const note = (what: string) => `insert into log (what) values ('${what}')`
  const job = await runJob(api, {
    query: [
      { query: note('one'), onsuccess: note('one went well'), onerror: note('never') },
      {
        query: `select "it's"`,
        onerror: note('two: <%= error_message %>, <%=job_id%>'),
        onsuccess: note('never'),
      },
      { query: note('three'), onerror: note('never') },
    ],
    onerror: note('job: <%= error_message %>'),
    onsuccess: note('never'),
  })
  assert.equal(job.status, 'failed')
  const reason = `column "it's" does not exist`
  assert.equal(job.failed_reason, reason)
  assert.equal(job.fallback_status, 'done')
  assert.deepEqual(
    itemsOf(job).map(({ status, fallback_status }) => [status, fallback_status]),
    [
      ['done', 'done'],
      ['failed', 'done'],
      ['skipped', 'skipped'],
    ],
  )
  assert.deepEqual(
    (await user.sql('select what from log order by at')).rows.map(({ what }) => what),
    ['one', 'one went well', `two: ${reason}, ${job.job_id}`, `job: ${reason}`],
  )
})

test("a job's onsuccess runs when every item has succeeded, and its own failure changes nothing", async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  const done = await runJob(api, {
    query: ['select 1'],
    onsuccess: 'create table yes ()',
    onerror: 'create table no ()',
  })
  assert.equal(done.status, 'done')
  assert.equal(done.fallback_status, 'done')
  const odd = await runJob(api, [{ query: 'select 1', onsuccess: 'select 1/0' }, 'create table further ()'])
  assert.equal(odd.status, 'done')
  assert.equal(odd.failed_reason, undefined)
  const [first] = itemsOf(odd)
  assert.equal(first!.fallback_status, 'failed')
  assert.equal(first!.fallback_failed_reason, 'division by zero')
  const { rows } = await user.sql(
    `select to_regclass('yes') is not null as yes, to_regclass('no') as no, to_regclass('further') is not null as further`,
  )
  assert.deepEqual(rows, [{ yes: true, no: null, further: true }])
})

test('items in the object form have times', async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(jobApi(user), { query: ['select 1', 'select pg_sleep(0.01)'] })
  const [first, second] = itemsOf(job)
  assert.ok(first!.started_at! <= first!.ended_at!)
  assert.ok(first!.ended_at! <= second!.started_at!)
  assert.ok(second!.started_at! < second!.ended_at!)
})

test('the rows of a SELECT are discarded as they arrive', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  const before = process.memoryUsage().rss
  const peak = { bytes: before }
  const timer = setInterval(() => {
    peak.bytes = Math.max(peak.bytes, process.memoryUsage().rss)
  }, 20)
  const job = await runJob(api, `select i, repeat('x', 60) from generate_series(1, 1000000) i`)
  clearInterval(timer)
  assert.equal(job.status, 'done')
  assert.ok(peak.bytes - before < 60 * 1024 ** 2, `${(peak.bytes - before) / 1024 ** 2} MiB`)
})

test('COPY FROM STDIN in a job fails, and COPY TO STDOUT does not hang', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  const [, into] = [await runJob(api, 'create table a (i int)'), await runJob(api, 'copy a from stdin')]
  assert.equal(into.status, 'failed')
  assert.match(into.failed_reason!, /COPY FROM STDIN/)
  assert.equal((await runJob(api, 'copy (select 1) to stdout')).status, 'done')
})

test('an item that ends its own backend is tried three times, then fails', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  await runJob(api, 'create table tries (i serial)')
  const job = await runJob(api, [
    `insert into tries default values; select pg_terminate_backend(pg_backend_pid())`,
    'select 1',
  ])
  assert.deepEqual(statusesOf(job), ['failed', 'pending'])
  assert.match(job.failed_reason!, /lost 3 times.*administrator command/)
  assert.equal((await user.sql('select from tries')).rowCount, 0)
  assert.deepEqual((await user.sql(`select last_value::int from tries_i_seq`)).rows, [{ last_value: 3 }])
})

test('an item that raises the errors of a lost connection itself fails with its own text', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  for (const state of ['57P01', '08006', '57P02', '40001']) {
    const job = await runJob(api, `do $$ begin raise 'by hand' using errcode = '${state}'; end $$`)
    assert.equal(job.status, 'failed')
    assert.equal(job.failed_reason, 'by hand')
  }
})

test('a statement that the parser cannot read fails if it ends its own transaction', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  await runJob(api, 'create table a (i int)')
  // Too deep for our parser, not for PostgreSQL.
  const deep = `${'('.repeat(700)}1${')'.repeat(700)}`
  const job = await runJob(
    api,
    `select ${deep}; insert into a values (1); commit; begin; insert into a values (2)`,
  )
  assert.equal(job.status, 'failed')
  assert.deepEqual((await user.sql('select i from a')).rows, [{ i: 1 }])
})

test('a very long error text is cut', async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(jobApi(user), `do $$ begin raise '%', repeat('\u{1f600}', 100000); end $$`)
  assert.equal(job.status, 'failed')
  assert.ok(job.failed_reason!.length < 10_000)
})

test("jobs still run after the tenant changed its role's password or settings", async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  await user.sql(`alter role current_user set search_path = nowhere`)
  await user.sql(`alter role current_user set role = none`)
  await user.sql(`alter role current_user password 'mine'`)
  assert.equal((await runJob(api, 'create table a ()')).status, 'done')
})

test('a job runs once, however many processes wait for it', async (t) => {
  const { user } = await setup(t, options)
  const api = jobApi(user)
  await runJob(api, 'create table a (i int)')
  const jobs = await Promise.all(
    Array.from({ length: 20 }, (_, i) => api.submit(`insert into a values (${i})`)),
  )
  for (const { job_id } of jobs) assert.equal((await api.ended(job_id)).status, 'done')
  assert.equal((await user.sql('select distinct i from a')).rowCount, 20)
  assert.equal((await user.sql('select from a')).rowCount, 20)
})
