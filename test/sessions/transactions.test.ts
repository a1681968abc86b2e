import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/http/ask.ts'
import { openSession } from '../support/http/session-socket.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { setup } from '../support/service/setup.ts'

test('the statements of a session share one PostgreSQL session: ROLLBACK undoes the change', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table places (name text)')
  const session = await openSession(t, user)
  assert.equal((await session.run('begin')).last.transaction, 'open')
  const { last } = await session.run("insert into places values ('Oslo')")
  assert.deepEqual([last.type, last.total_rows, last.transaction], ['done', 1, 'open'])
  assert.deepEqual((await session.run('select name from places')).rows, [{ name: 'Oslo' }])
  assert.deepEqual((await ask(user, 'select name from places')).body.rows, [])
  assert.equal((await session.run('rollback')).last.transaction, 'none')
  assert.deepEqual((await session.run('select name from places')).rows, [])
})

test('COMMIT stores the change, and settings and temporary tables stay until the session ends', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  await session.run(
    "begin; create table kept (x int); set timezone = 'Asia/Tokyo'; create temp table mine (y int)",
  )
  await session.run('insert into kept values (1)')
  await session.run('commit')
  assert.deepEqual((await ask(user, 'select x from kept')).body.rows, [{ x: 1 }])
  const { rows } = await session.run(
    "select current_setting('timezone') as zone, (select count(*)::int from mine) as n, timestamptz '2026-01-31 00:00+00' as at",
  )
  assert.deepEqual(rows, [{ zone: 'Asia/Tokyo', n: 0, at: '2026-01-31T09:00:00+09:00' }])
})

test('an error inside a transaction leaves it failed until ROLLBACK', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  await session.run('begin')
  const { last } = await session.run('select 1/0')
  assert.deepEqual(
    [last.type, last.error, last.code, last.sqlstate, last.status, last.transaction],
    ['error', ['division by zero'], 'database', '22012', 400, 'failed'],
  )
  const refused = await session.run('select 1')
  assert.deepEqual([refused.last.sqlstate, refused.last.transaction], ['25P02', 'failed'])
  await session.run('rollback')
  assert.deepEqual((await session.run('select 1 as n')).rows, [{ n: 1 }])
})

test('params, exact numbers and formats work as on the SQL endpoint', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  session.send(
    '{"type":"query","id":1,"q":"select $1::numeric::text as n, $2::int[] as list, $3::jsonb as j","params":[12345678901234567890.5,[1,2],{"a":null}]}',
  )
  const { rows, last } = await session.answer(1)
  assert.deepEqual(rows, [{ n: '12345678901234567890.5', list: [1, 2], j: { a: null } }])
  assert.deepEqual(last.fields.list, { type: 'number[]', pgtype: '_int4' })
  const few = await session.run('select $1::int', { params: [] })
  assert.equal(few.last.code, 'params-invalid')
  const csv = await session.run("select 1 as a, 'x' as b", { format: 'csv' })
  assert.deepEqual([csv.bytes, csv.rows, csv.last.type], ['a,b\r\n1,x\r\n', [], 'done'])
  const map = await session.run('select st_setsrid(st_makepoint(1, 2), 4326) as the_geom', {
    format: 'geojson',
  })
  assert.deepEqual(JSON.parse(map.bytes).features[0].geometry, { type: 'Point', coordinates: [1, 2] })
})

test('types created in the open transaction have their names and accept arrays', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  await session.run("begin; create type mood as enum ('sad', 'glad')")
  const { rows, last } = await session.run("select 'glad'::mood as m, $1::mood[] as list", {
    params: [['sad']],
  })
  assert.deepEqual([rows[0]?.m, last.fields.m?.pgtype, last.transaction], ['glad', 'mood', 'open'])
  assert.equal((await session.run('commit')).last.transaction, 'none')
})

test('notices arrive while the statement runs, and again at the end of the answer', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  const id = session.begin(
    "do $$ begin raise notice 'half'; perform pg_sleep(1.5); raise warning 'all'; end $$",
  )
  const first = await session.until('notice')
  assert.deepEqual([first.id, first.severity, first.message], [id, 'notice', 'half'])
  const progress = await session.until('progress')
  assert.ok(progress.id === id && progress.time >= 0.9)
  const { last } = await session.answer(id)
  assert.deepEqual(last.notices, ['half'])
})

test('cancel stops the statement, not the session', async (t) => {
  const { user, admin } = await setup(t)
  const session = await openSession(t, user)
  await session.run('set application_name = kept')
  const id = session.begin('select pg_sleep(60)')
  await session.until('progress')
  session.send({ type: 'cancel', id: 'another' })
  session.send({ type: 'cancel', id })
  const { last } = await session.answer(id)
  assert.deepEqual([last.code, last.status, last.transaction], ['statement-cancelled', 409, 'none'])
  assert.deepEqual((await session.run('show application_name')).rows, [{ application_name: 'kept' }])
  const { rowCount } = await admin(
    `select from pg_stat_activity where datname = $1 and query ~ 'pg_sleep\\(60\\)' and state = 'active'`,
    [user.account.database],
  )
  assert.equal(rowCount, 0)
})

test('a second statement is refused while one runs, and the first continues', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  const id = session.begin('select pg_sleep(0.5), 1 as n')
  const other = session.begin('select 2')
  const busy = await session.until('error')
  assert.deepEqual([busy.id, busy.code], [other, 'session-busy'])
  assert.equal((await session.answer(id)).last.type, 'done')
})

test('COPY and LISTEN are refused with a reason', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  for (const [text, code] of [
    ['copy (select 1) to stdout', 'copy-elsewhere'],
    ['create temp table t (x int); copy t from stdin', 'copy-elsewhere'],
    ['listen news', 'listen-refused'],
  ]) {
    const { last } = await session.run(text!)
    assert.deepEqual([last.code, last.transaction], [code, 'none'], text)
  }
  assert.deepEqual((await session.run('select 1 as n')).rows, [{ n: 1 }])
})

test('a session has the rights of its key in PostgreSQL and no more', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table seen (x int); create table hidden (x int)')
  const { token } = await keysClient(user).make('reader', grantsOf({ seen: ['select'] }))
  const session = await openSession(t, user, { token })
  assert.equal((await session.run('select * from seen')).last.type, 'done')
  for (const text of [
    'select * from hidden',
    `set role "${user.account.masterRole}"`,
    `set session authorization "${user.account.masterRole}"`,
    "create function f() returns int language sql as 'select 1'",
  ]) {
    const { last } = await session.run(text)
    assert.deepEqual([last.type, last.status], ['error', 403], `${text}: ${last.error}`)
  }
  assert.equal((await session.run('discard all')).last.type, 'done')
})

test('what a key creates without event triggers is checked when its transaction commits', async (t) => {
  const { user } = await setup(t)
  const { token } = await keysClient(user).make('maker', grantsOf({}, ['public']))
  const session = await openSession(t, user, { token })
  await session.run('begin')
  await session.run('explain analyze create table geometry as select 7 as a')
  await session.run('select 1')
  assert.equal((await session.run('commit')).last.type, 'done')
  const { rows } = await user.sql(
    "select relname ~ '^geometry_' as renamed from pg_class where relname ~ '^geometry' and relkind = 'r' and relnamespace = 'public'::regnamespace",
  )
  assert.deepEqual(rows, [{ renamed: true }])
})
