import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { adminTarget } from '../../src/postgres/session-target.ts'
import { ask } from '../support/http/ask.ts'
import { jobSession } from '../support/jobs/job-session.ts'
import { grantsOf, keysClient, roleOf } from '../support/keys/keys-client.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

// PostgreSQL fires no event triggers for EXPLAIN ANALYZE of a CREATE.

type Creator = Setup &
  Readonly<{ run: (q: string, parameters?: Record<string, string>) => ReturnType<typeof ask>; role: string }>

/** A user with a key that may create tables. */
async function creator(t: TestContext): Promise<Creator> {
  const context = await setup(t)
  const { token } = await keysClient(context.user).make('creator', grantsOf({}, ['public']))
  const role = await roleOf(context, context.user, 'creator')
  return { ...context, role, run: (q, parameters) => ask(context.user, q, { api_key: token, ...parameters }) }
}

/** Relations in schema public with a name of PostGIS. */
async function misnamed({ user }: Creator): Promise<unknown[]> {
  const { rows } = await user.sql(
    `select relname from pg_class where relnamespace = 'public'::regnamespace
       and (relname in (select relname from pg_class where relnamespace = 'postgis'::regnamespace)
         or relname in (select typname from pg_type where typnamespace = 'postgis'::regnamespace))`,
  )
  return rows
}

const unwatched = [
  'explain analyze create table geometry as select 7 as a',
  'explain (analyze, costs off) select 7 as a into box2d',
  'explain analyze create materialized view spatial_ref_sys as select 7 as a',
  'prepare p as select 7 as a; explain analyze create table geography as execute p',
  `do $$ begin execute 'explain analyze create table box3d as select 7 as a'; end $$`,
  'begin; explain analyze create unlogged table geometry_dump as select 7 as a; commit',
]

test('a PostGIS name that a key took by EXPLAIN ANALYZE is free again when the answer arrives', async (t) => {
  const context = await creator(t)
  for (const text of unwatched) {
    const { status } = await context.run(text)
    assert.equal(status, 200, text)
    assert.deepEqual(await misnamed(context), [], text)
  }
  const { rows } = await context.user.sql(
    `select relname from pg_class where relname ~ '^(geometry|box2d|spatial_ref_sys|geography|box3d|geometry_dump)_[0-9a-f]+$'`,
  )
  assert.equal(rows.length, unwatched.length, 'nothing is lost')
  assert.equal(
    (await ask(context.user, `create table pts as select 'POINT(1 1)'::geometry as g`)).status,
    200,
  )
})

test('also if the key has taken the replacement names in advance, or sends params', async (t) => {
  const context = await creator(t)
  const inAdvance = `do $$ begin
    execute 'explain analyze create table geometry as select 7 as a';
    execute format('explain analyze create table geometry_%s as select 7 as a', 'geometry'::regclass::oid);
  end $$`
  assert.equal((await context.run(inAdvance)).status, 200)
  assert.deepEqual(await misnamed(context), [])
  const text = 'explain analyze create table geography as select $1::int as a'
  assert.equal((await context.run(text, { params: '[7]' })).status, 200)
  assert.deepEqual(await misnamed(context), [])
})

test('also if the request fails after its commit, or gives the table away', async (t) => {
  const context = await creator(t)
  for (const rest of [
    'select 1/0',
    `select pg_catalog.set_config('client_encoding', 'LATIN1', false)`,
    `reassign owned by current_user to "${context.user.account.publicRole}"`,
  ]) {
    await context.run(`explain analyze create table geometry as select 7 as a; commit; ${rest}`)
    await eventually(async () => assert.deepEqual(await misnamed(context), [], rest))
  }
})

test('also if the connection was lost amid it', async (t) => {
  const context = await creator(t)
  const answer = context.run(
    'explain analyze create table geometry as select 7 as a; commit; select pg_sleep(20)',
  )
  await eventually(async () => {
    const { rows } = await context.admin(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and query ~ 'pg_sleep'`,
      [context.role],
    )
    assert.equal(rows.length, 1)
  })
  assert.notEqual((await answer).status, 200)
  await eventually(async () => assert.deepEqual(await misnamed(context), []))
})

test('also if another session of the key locks the table', async (t) => {
  const context = await creator(t)
  const { role, user } = context
  await user.sql('explain analyze create table geometry as select 7 as a', [], role)
  const holder = await jobSession(t, context, user, { role })
  await holder.query('begin; lock table public.geometry')
  assert.equal((await context.run('do $$ begin null; end $$')).status, 200)
  assert.deepEqual(await misnamed(context), [])
})

test("a key's materialized view that calls the user's code is dropped, however it was created", async (t) => {
  const context = await creator(t)
  const { user } = context
  await user.sql(`create table victim as select 1 as a;
    create function purge(x int) returns int language plpgsql as $$ begin delete from public.victim; return x; end $$`)
  await context.run('create table sw (a int)')
  for (const text of [
    'explain analyze create materialized view report as select purge(a) from sw',
    `do $$ begin execute 'explain analyze create materialized view report as select purge(a) from sw'; end $$`,
  ]) {
    assert.equal((await context.run(text)).status, 200)
    assert.deepEqual((await user.sql(`select to_regclass('report') as report`)).rows, [{ report: null }])
  }
  const many = `do $$ begin
    for i in 1..250 loop execute format('explain analyze create materialized view report%s as select purge(a) from sw', i); end loop;
  end $$`
  assert.equal((await context.run(many)).status, 200)
  const left = await user.sql(`select count(*)::int as n from pg_class where relname ~ '^report'`)
  assert.deepEqual(left.rows, [{ n: 0 }])
  const harmless = 'explain analyze create materialized view totals as select sum(a) from sw'
  assert.equal((await context.run(harmless)).status, 200)
  assert.equal((await ask(user, 'refresh materialized view totals')).status, 200)
})

test("a materialized view that calls the user's code is not handed over with a deleted key", async (t) => {
  const { user, role, run } = await creator(t)
  await user.sql(`create table victim as select 1 as a;
    create function purge(x int) returns int language plpgsql as $$ begin delete from public.victim; return x; end $$`)
  await run('create table sw (a int); create materialized view totals as select sum(a) from sw')
  // Bypasses the service, which checks after each request.
  await user.sql('explain analyze create materialized view report as select purge(a) from sw', [], role)
  await run('insert into sw values (1)')
  assert.equal((await keysClient(user).remove('creator')).status, 200)
  await eventually(async () => {
    const { rows } = await user.sql(
      `select relowner::regrole::text as owner from pg_class where relname = 'totals'`,
    )
    assert.deepEqual(rows, [{ owner: user.account.masterRole }])
  })
  assert.equal((await ask(user, 'refresh materialized view totals')).status, 200)
  assert.equal((await ask(user, 'refresh materialized view report')).status, 400)
  assert.deepEqual((await user.sql('select a from victim')).rows, [{ a: 1 }])
})

test('grants of keys follow a table that was created again by EXPLAIN ANALYZE', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table kept as select 1 as a')
  const { token } = await keysClient(user).make('reader', grantsOf({ kept: ['select'] }))
  for (const text of [
    'drop table kept; explain analyze create table kept as select 2 as a',
    `do $$ begin drop table kept; execute 'explain analyze create table kept as select 2 as a'; end $$`,
  ]) {
    assert.equal((await ask(user, text)).status, 200)
    assert.deepEqual((await ask(user, 'select a from kept', { api_key: token })).body.rows, [{ a: 2 }], text)
  }
})

test('many such requests of one user take one connection of the administrator', async (t) => {
  const context = await creator(t)
  const { databases } = context.service.services
  const { hostId, database } = context.user.account
  const holder = await databases.admin.acquire(adminTarget(databases.hosts, hostId, database))
  t.after(() => holder.destroy())
  const { token } = await keysClient(context.user).make('other')
  await holder.query('begin; lock table cartage.roles')
  let isAnswered = false
  const answers = Promise.all(
    [undefined, undefined, { api_key: token }, { api_key: token }].map((key) =>
      context.run('do $$ begin null; end $$', key),
    ),
  )
  const all = answers.finally(() => {
    isAnswered = true
  })
  let mostAtOnce = 0
  while (!isAnswered) {
    const { rows } = await context.admin(
      `select count(*)::int as n from pg_stat_activity where datname = $1 and state = 'active' and query ~ '^select cartage.check_made'`,
      [database],
    )
    mostAtOnce = Math.max(mostAtOnce, rows[0].n)
  }
  assert.equal(mostAtOnce, 1)
  assert.deepEqual(
    (await all).map(({ status }) => status),
    [200, 200, 200, 200],
  )
})

test('no function of the service runs a text that it is given', async (t) => {
  const context = await creator(t)
  await context.run('create table own (a int)')
  const text = 'explain analyze create table public.geometry as select 7 as a'
  await context.run(`select cartodb._CDB_AlterColumns('own', '{}', '${text}')`)
  await context.run(`select cartodb.CDB_QueryTablesText('select 1; ${text}')`)
  await context.run(`select cartodb.CDB_QueryTablesText('${text}')`)
  assert.deepEqual(await misnamed(context), [])
})
