import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/http/ask.ts'
import { setup } from '../support/service/setup.ts'

test('several statements are sent as one message: rows of all, fields of the last one with columns', async (t) => {
  const { user } = await setup(t)
  const { body } = await ask(user, 'BEGIN; SELECT 1 AS a; COMMIT;')
  assert.deepEqual(body.rows, [{ a: 1 }])
  assert.equal(body.total_rows, 1)
  const several = await ask(user, 'select 1 as a; select 2 as b, true as c; create table t (x int)')
  assert.deepEqual(several.body.rows, [{ a: 1 }, { b: 2, c: true }])
  assert.deepEqual(Object.keys(several.body.fields), ['b', 'c'])
  const written = await ask(user, 'insert into t select generate_series(1, 5); set timezone = utc')
  assert.deepEqual([written.body.rows, written.body.total_rows], [[], 5])
})

test('a GET may write, with RETURNING', async (t) => {
  const { user } = await setup(t)
  const { body } = await ask(user, 'create table t (x int); insert into t values (1), (2) returning x')
  assert.deepEqual([body.rows, body.total_rows], [[{ x: 1 }, { x: 2 }], 2])
  const ddl = await ask(user, 'drop table t')
  assert.deepEqual([ddl.status, ddl.body.rows, ddl.body.fields, ddl.body.total_rows], [200, [], {}, 0])
})

test('one message is one transaction: an error undoes the statements before it', async (t) => {
  const { user } = await setup(t)
  const failed = await ask(user, 'create table t (x int); select 1/0')
  assert.deepEqual([failed.status, failed.body.error], [400, ['division by zero']])
  const gone = await ask(user, 'select * from t')
  assert.match(gone.body.error[0]!, /relation "t" does not exist/)
})

test('a text that leaves a transaction open is refused, and nothing of that transaction is stored', async (t) => {
  const { user } = await setup(t, { config: { connectionsPerRole: 1 } })
  for (const text of [
    'begin; create table t (x int); select 1 as a',
    'start transaction; create table t (x int)',
    'begin; create table kept (x int); commit and chain; create table u (x int)',
  ]) {
    const { status, body } = await ask(user, text)
    assert.deepEqual([status, body.code], [400, 'transaction-open'], text)
  }
  const whole = await ask(user, 'begin; create table whole (x int); commit')
  assert.equal(whole.status, 200)
  const aborted = await ask(user, 'begin; create table other (x int); select 1/0')
  assert.deepEqual([aborted.status, aborted.body.error], [400, ['division by zero']])
  const after = await ask(
    user,
    `select to_regclass('t') as t, to_regclass('u') as u, to_regclass('kept')::text as kept, to_regclass('other') as other, to_regclass('whole')::text as whole,
       pg_current_xact_id_if_assigned()::text as xid`,
  )
  assert.deepEqual(after.body.rows, [
    { t: null, u: null, kept: 'kept', other: null, whole: 'whole', xid: null },
  ])
})

test('a request leaves nothing to the next: no settings, temporary tables or locks', async (t) => {
  const { user } = await setup(t, { config: { connectionsPerRole: 1 } })
  await ask(
    user,
    `set search_path = pg_catalog; create temp table mine (x int); select pg_advisory_lock(1);
     prepare p as select 1; listen news`,
  )
  const { body } = await ask(
    user,
    `select current_setting('search_path') as path, to_regclass('pg_temp.mine') as temp,
       pg_advisory_unlock(1)::int as locks,
       (select count(*) from pg_prepared_statements) as prepared,
       (select count(*) from pg_listening_channels()) as channels`,
  )
  assert.deepEqual(body.rows, [
    { path: 'public,cartodb,postgis', temp: null, locks: 0, prepared: 0, channels: 0 },
  ])
})

test('notices and warnings come after the rows', async (t) => {
  const { user } = await setup(t)
  const { body } = await ask(
    user,
    `drop table if exists nothing; do $$ begin raise warning 'careful'; end $$; select 1 as a`,
  )
  assert.deepEqual(Object.keys(body), ['rows', 'time', 'fields', 'total_rows', 'notices', 'warnings'])
  assert.deepEqual(body.notices, ['table "nothing" does not exist, skipping'])
  assert.deepEqual(body.warnings, ['careful'])
  const flood = await ask(user, `do $$ begin for i in 1..5000 loop raise notice '%', i; end loop; end $$`)
  assert.equal(flood.body.notices!.length, 1000)
})

test('paging and ordering work with semicolons, comments, CTEs, VALUES and INTO', async (t) => {
  const { user } = await setup(t)
  const page = { rows_per_page: '2', page: '1', order_by: 'n', sort_order: 'desc' }
  const texts = [
    'select n from generate_series(1, 5) n',
    'select n from generate_series(1, 5) n;',
    'select n from generate_series(1, 5) n; -- the end',
    '-- first\nselect n /* ; */ from generate_series(1, 5) n ;; ',
    'with c as (select generate_series(1, 5) as n) select n from c',
    'select column1 as n from (values (1), (2), (3), (4), (5)) v',
    'select n from generate_series(1, 5) n order by n limit 100',
  ]
  for (const text of texts) {
    const { status, body } = await ask(user, text, page)
    assert.equal(status, 200, text)
    assert.deepEqual(body.rows, [{ n: 3 }, { n: 2 }], text)
  }
  const values = await ask(user, 'values (1), (2), (3)', { rows_per_page: '2' })
  assert.deepEqual(values.body.rows, [{ column1: 1 }, { column1: 2 }])
  const none = await ask(user, 'select 1', { rows_per_page: '0' })
  assert.deepEqual([none.body.rows, Object.keys(none.body.fields)], [[], ['?column?']])
})

test('a write runs once and completely, whatever page was requested', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table t (x int)')
  const page = { rows_per_page: '1', page: '0', order_by: 'x' }
  const inserted = await ask(user, 'insert into t values (1), (2) returning x', page)
  assert.deepEqual(inserted.body.rows, [{ x: 1 }, { x: 2 }])
  const cte = await ask(user, 'with i as (insert into t values (3) returning x) select x from i', page)
  assert.deepEqual(cte.body.rows, [{ x: 3 }])
  const into = await ask(user, 'select x into u from t', page)
  assert.equal(into.status, 200)
  const { body } = await ask(user, 'select (select count(*) from t) as t, (select count(*) from u) as u')
  assert.deepEqual(body.rows, [{ t: 3, u: 3 }])
})

test('COPY is refused with a hint to its endpoints, and no statement of the message takes effect', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table t (x int)')
  for (const text of [
    'copy t to stdout',
    'COPY t FROM STDIN',
    'insert into t values (1); copy (select * from t) to stdout with (format csv)',
    "/* x */ copy t from program 'true'",
  ]) {
    const { status, body } = await ask(user, text)
    assert.deepEqual([status, body.error], [400, ['COPY is not possible here']], text)
    assert.match(body.hint!, /copyfrom.*copyto/)
  }
  const { body } = await ask(user, "select count(*) as n, 'copy' as word from t")
  assert.deepEqual(body.rows, [{ n: 0, word: 'copy' }])
})

test('a COPY that the parser did not see is refused when PostgreSQL begins it', async (t) => {
  const { user } = await setup(t, { config: { connectionsPerRole: 1 } })
  await ask(user, 'create table t (x int); insert into t select generate_series(1, 100000)')
  // Longer than what is parsed.
  const filler = `select 1 where 1 in (${Array.from({ length: 20_000 }, () => '1').join()});`
  for (const copy of ['copy t to stdout', 'copy t from stdin']) {
    const form = new URLSearchParams({ q: `${filler} ${copy}`, api_key: user.masterToken })
    const response = await fetch(`${user.base}/api/v2/sql`, { method: 'POST', body: form })
    assert.equal(response.status, 400)
    assert.deepEqual(((await response.json()) as { error: string[] }).error, ['COPY is not possible here'])
  }
  assert.equal((await ask(user, 'select 1')).status, 200)
})

test('a table is private until the user grants SELECT to the public role', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table t (x int); insert into t values (1)')
  const { body } = await ask(user, 'select current_user as role', { api_key: '' })
  const publicRole = body.rows[0]!.role as string
  const before = await ask(user, 'select x from t', { api_key: '' })
  assert.deepEqual([before.status, before.body.error], [403, ['permission denied for table t']])
  await ask(user, `grant select on t to "${publicRole}"`)
  const shared = await ask(user, 'select x from t', { api_key: '' })
  assert.deepEqual(shared.body.rows, [{ x: 1 }])
  await ask(user, `revoke select on t from "${publicRole}"`)
  assert.equal((await ask(user, 'select x from t', { api_key: '' })).status, 403)
})
