import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fullJobApi } from '../support/jobs/full-job-api.ts'
import { jobSession } from '../support/jobs/job-session.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'

type Progress = NonNullable<Awaited<ReturnType<ReturnType<typeof fullJobApi>['read']>>['progress']>

/** Waits for the wanted progress of the job, then cancels the job. */
async function seen(
  user: TestUser,
  query: unknown,
  check: (progress: Progress) => void,
  prepare = async (): Promise<unknown> => undefined,
): Promise<Progress> {
  await prepare()
  const api = fullJobApi(user)
  let { job_id: id } = await api.submit({ query })
  const progress = await eventually(async () => {
    const job = await api.read(id)
    if (job.status === 'done') {
      await prepare()
      id = (await api.submit({ query })).job_id
    }
    assert.ok(job.progress, JSON.stringify(job))
    check(job.progress)
    return job.progress
  }, 30_000)
  const cancelled = await api.cancel(id)
  assert.ok(!('progress' in cancelled))
  return progress
}

test('a running job reports its current item and the number of items, and no phase if PostgreSQL has none', async (t) => {
  const { user } = await setup(t, { worker: true })
  const progress = await seen(user, ['select 1', 'select pg_sleep(60)', 'select 3'], ({ item }) =>
    assert.equal(item, 2),
  )
  assert.deepEqual(progress, { item: 2, items: 3 })
})

test('CREATE INDEX reports its phase and percent', async (t) => {
  const { user } = await setup(t, { worker: true })
  await user.sql(`create table big as select n, repeat('x', 500) as filler from generate_series(1, 2000) n;
    create function slow(n int) returns int immutable language plpgsql as
      $$ begin perform pg_sleep(0.01); return n; end $$`)
  const progress = await seen(user, 'create index on big (slow(n))', ({ percent = 0 }) =>
    assert.ok(percent > 5),
  )
  assert.match(progress.phase!, /building index/)
  assert.ok(progress.percent! < 100, JSON.stringify(progress))
})

test('VACUUM reports its phase and percent', async (t) => {
  const bundle = await setup(t, { worker: true })
  const { user } = bundle
  await user.sql(`create table big as select n, repeat('x', 500) as filler from generate_series(1, 2000) n`)
  const holder = await jobSession(t, bundle, user)
  // VACUUM waits at the page that a cursor holds, unless the rows are newer than the cursor's snapshot; any older
  // transaction of the cluster keeps them so.
  const { phase, percent } = await seen(
    user,
    'vacuum (freeze, disable_page_skipping) big',
    ({ percent = 0 }) => assert.ok(percent > 40),
    () => holder.query('rollback; begin; declare half cursor for select n from big; fetch 1000 from half'),
  )
  assert.equal(phase, 'scanning heap')
  assert.ok(percent! < 60, String(percent))
})

test('ANALYZE and CLUSTER report their phase', async (t) => {
  const { user } = await setup(t, { worker: true })
  const slow = (
    pause: number,
  ) => `create or replace function slow(n int) returns int immutable language plpgsql as
    $$ begin perform pg_sleep(${pause}); return n; end $$`
  await user.sql(`${slow(0)}; create table big as select n from generate_series(1, 2000) n;
    create index by_n on big (n); create index on big (slow(n)); ${slow(0.05)}`)
  for (const [query, expected] of [
    ['analyze big', 'computing statistics'],
    ['cluster big using by_n', 'rebuilding index'],
  ] as const) {
    await seen(user, query, ({ phase }) => assert.equal(phase, expected))
  }
})

test('COPY reports that it copies, and no percent, because PostgreSQL knows no total', async (t) => {
  const { user } = await setup(t, { worker: true })
  const query = 'copy (select pg_sleep(0.01) from generate_series(1, 10000)) to stdout'
  const progress = await seen(user, query, ({ phase }) => assert.equal(phase, 'copying'))
  assert.ok(!('percent' in progress), JSON.stringify(progress))
})

test('a job that waits for a lock names the own session that holds it, and nothing of other accounts', async (t) => {
  const bundle = await setup(t, { worker: true })
  const { createOrganization, createUser } = bundle
  const { name: organization } = await createOrganization()
  const [user, other] = [await createUser({ organization }), await createUser({ organization })]
  const table = `"${user.account.schema}".wanted`
  await user.sql(`create table ${table} (n int); grant usage on schema "${user.account.schema}" to "${other.account.masterRole}";
    grant all on ${table} to "${other.account.masterRole}"`)
  const holder = await jobSession(t, bundle, user)
  await holder.query(`begin; lock table ${table} in access exclusive mode`)
  const held = await seen(user, `update ${table} set n = 1`, ({ waits_for }) => assert.ok(waits_for))
  assert.equal(held.waits_for!.lock, 'relation')
  const [session, ...others] = held.waits_for!.sessions
  assert.deepEqual(others, [])
  assert.equal(session!.pid, holder.processId)
  assert.equal(session!.state, 'idle in transaction')
  assert.match(session!.query, /lock table/)
  await holder.query('rollback')
  const stranger = await jobSession(t, bundle, other)
  await stranger.query(`begin; lock table ${table} in access exclusive mode`)
  const hidden = await seen(user, `update ${table} set n = 2`, ({ waits_for }) => assert.ok(waits_for))
  assert.deepEqual(hidden.waits_for, { lock: 'relation', sessions: [] })
})

test('eta_ms is the median of the last five done runs of the statement, less the time it has run', async (t) => {
  const { user, admin, service } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  const none = await seen(user, "select pg_sleep(60), 'never done'", ({ item }) => assert.equal(item, 1))
  assert.ok(!('eta_ms' in none))
  for (const seconds of [9, 0.01, 0.6, 0.3, 0.02, 0.3])
    await api.run({ query: `select pg_sleep(${Math.min(seconds, 0.6)}), 'measured'` })
  await api.run({ query: "select 1/0, pg_sleep(0.01), 'measured'" })
  const { namespace } = service.services.config
  const runs = await eventually(async () => {
    const { rows } = await admin(
      'select durations_ms from cartage.run_times where user_id = $1',
      [user.account.userId],
      namespace,
    )
    assert.equal(rows.length, 1, JSON.stringify(rows))
    assert.equal(rows[0].durations_ms.length, 5)
    const durations = (rows[0].durations_ms as string[]).map(Number)
    assert.ok(durations[0]! >= 290 && durations[1]! < 200, String(durations))
    return durations
  })
  const median = runs.toSorted((one, other) => one - other)[2]!
  assert.ok(median >= 290 && median < 600, String(runs))
  const first = await seen(user, "select pg_sleep(60), 'again'", ({ eta_ms }) =>
    assert.ok(eta_ms !== undefined),
  )
  assert.ok(first.eta_ms! <= median, JSON.stringify(first))
  await seen(user, "select pg_sleep(60), 'again'", ({ eta_ms }) => assert.equal(eta_ms, 0))
})

test('a statement of over 10,000 characters has eta_ms too', async (t) => {
  const { user } = await setup(t, { worker: true })
  await user.sql('create table pause as select 1.2 as seconds')
  const query = `select pg_sleep(seconds) from pause -- ${'x'.repeat(10_000)}`
  await fullJobApi(user).run({ query })
  await user.sql('update pause set seconds = 60')
  const { eta_ms } = await seen(user, query, (progress) => assert.ok(progress.eta_ms !== undefined))
  assert.ok(eta_ms! < 2_000, String(eta_ms))
  const other = await seen(user, query.replace('xxx', 'yyy'), ({ item }) => assert.equal(item, 1))
  assert.ok(!('eta_ms' in other))
})

test('eta_ms is close to the time the statement takes', async (t) => {
  const { user, admin, service } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  const query = "select pg_sleep(2), 'near'"
  for (let run = 0; run < 3; run++) await api.run({ query })
  await eventually(async () => {
    const { rows } = await admin(
      'select durations_ms from cartage.run_times where user_id = $1',
      [user.account.userId],
      service.services.config.namespace,
    )
    assert.equal(rows[0]?.durations_ms.length, 3)
  })
  const { job_id: id } = await api.submit({ query })
  const told: { at: number; etaMs: number }[] = []
  for (;;) {
    const { status, progress } = await api.read(id)
    assert.ok(['pending', 'running', 'done'].includes(status), status)
    if (status === 'done') break
    if (progress?.eta_ms !== undefined) told.push({ at: performance.now(), etaMs: progress.eta_ms })
    await sleep(50)
  }
  const endedAt = performance.now()
  const early = told
    .map(({ at, etaMs }) => ({ leftMs: endedAt - at, etaMs }))
    .filter(({ leftMs }) => leftMs > 700)
  assert.ok(early.some(({ leftMs }) => leftMs > 1_200) && early.length > 5, JSON.stringify(early))
  const wrong = early.filter(({ leftMs, etaMs }) => etaMs < leftMs / 2 || etaMs > leftMs * 2)
  assert.deepEqual(wrong, [])
})
