import assert from 'node:assert/strict'
import { test } from 'node:test'
import { send } from '../support/postgres/copying.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const listed = [
  'select 1 as a',
  'values (1)',
  'table readable',
  'with x as (select 1 as a) select * from x',
  'explain select 1',
  'explain (analyze, format json) select * from readable',
  'show server_version',
  'begin; declare c cursor for select 1; fetch c; move c; close c; commit',
  'start transaction isolation level repeatable read; savepoint s; rollback to s; release s; end',
  'begin; explain declare c cursor for select 1; abort',
  'insert into writable values (1) returning a',
  'update writable set a = a',
  'delete from writable',
  'merge into writable w using readable r on r.a = w.a when not matched then insert values (r.a)',
  'with gone as (delete from writable returning a) select count(*) from gone',
  'explain analyze insert into writable values (2)',
  'select * from writable for update',
  '/* nothing */ ;; -- at all',
  `select 'xmltable' as "xmltable"`,
]

const others = [
  `set work_mem = '4MB'`,
  'reset all',
  'set transaction read only',
  'set constraints all deferred',
  'discard plans',
  'prepare p as select 1',
  'execute p',
  'deallocate p',
  'explain execute p',
  'explain create table x as select 1',
  `do $$ begin null; end $$`,
  'call something()',
  'select 1 as a into made',
  'select 1 as a into made union select 2',
  'with x as (select 1 as a) select a into made from x',
  'create table made as select 1 as a',
  'create temp table made partition of pg_catalog.pg_authid for values in (1)',
  'create trigger x before insert on pg_catalog.pg_shdepend execute function f()',
  'create rule r as on insert to pg_catalog.pg_database do nothing',
  'create view v as select 1',
  'drop database postgres',
  'drop table readable',
  `alter role current_user in database postgres set work_mem = '4MB'`,
  `alter role current_user password 'x'`,
  'alter table readable add b int',
  'grant select on readable to public',
  'comment on role postgres is null',
  'lock table readable',
  'truncate readable',
  'listen here',
  'unlisten *',
  `notify here, 'x'`,
  'vacuum',
  'analyze readable',
  'cluster',
  'reindex table readable',
  'refresh materialized view m',
  `load 'library'`,
  'checkpoint',
  'import foreign schema a from server b into c',
  `security label on table readable is 'x'`,
  `begin; prepare transaction 'x'`,
  `commit prepared 'x'`,
  `rollback prepared 'x'`,
  'select 1; drop owned by current_user',
  'sELect 1;/* ; */ rEsEt/**/role',
  `select * from xmltable('//*[count(//*)>0]' passing ('<a/>'::xml) columns a text)`,
  `select 1 where exists (select 1 from (values (1)) x, lateral XMLTable('a' passing ('<a/>'::xml) columns b int) as t)`,
  `insert into writable with x as (select b from xmltable('a' passing ('<a/>'::xml) columns b int)) select b from x`,
]

test('a caller without a key runs the listed statements, if granted', async (t) => {
  const user = await sharing(await setup(t))
  for (const q of listed) {
    const { status, text } = await ask(user, { q })
    assert.equal(status, 200, `${q}: ${text}`)
  }
  const { status, body } = await ask(user, { q: 'insert into readable values (1)' })
  assert.deepEqual([status, body.code], [403, 'database'])
})

test('and no other statement at any endpoint', async (t) => {
  const user = await sharing(await setup(t))
  for (const q of others) await refuses(user, { q })
  const ways: Record<string, string>[] = [
    { params: '[]' },
    { format: 'csv' },
    { format: 'ndjson' },
    { rows_per_page: '1', page: '0' },
    { order_by: 'a' },
    { api_key: 'default_public' },
  ]
  for (const more of ways)
    for (const q of ['reset role', 'select 1; discard plans']) await refuses(user, { q, ...more })
  const json = await fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q: 'listen here' }),
  })
  assert.equal(json.status, 403)
  assert.equal((await fetch(`${user.base}/api/v2/sql?q=reset%20all`)).status, 403)
})

test('master and other keys run what PostgreSQL allows them', async (t) => {
  const user = await sharing(await setup(t))
  const q = 'prepare p as select 1 as a; execute p'
  assert.equal((await ask(user, { q, api_key: user.masterToken })).status, 200)
})

test('a syntax error is answered as by PostgreSQL, with the position', async (t) => {
  const { user } = await setup(t)
  const { status, body } = await ask(user, { q: 'select 1; selekt 2' })
  assert.deepEqual(
    [status, body.code, body.sqlstate, body.error, body.position],
    [400, 'database', '42601', ['syntax error at or near "selekt"'], 11],
  )
})

test('copies without a key accept what the list has', async (t) => {
  const user = await sharing(await setup(t))
  const to = (q: string) => send(`${user.base}/api/v2/sql/copyto?${new URLSearchParams({ q })}`)
  for (const q of [
    'copy readable to stdout',
    'copy (select 1) to stdout',
    'copy (delete from writable returning a) to stdout',
  ])
    assert.equal((await to(q)).status, 200, q)
  const into = await to('copy (select 1 as a into made) to stdout')
  assert.deepEqual([into.status, into.body.code], [403, 'statement-not-allowed'])
  const from = (sql: string) => {
    const query = new URLSearchParams({ sql_bytes: String(Buffer.byteLength(sql)) })
    return send(`${user.base}/api/v2/sql/copyfrom?${query}`, { method: 'POST' }, `${sql}1\n`)
  }
  assert.equal((await from('copy writable from stdin;')).status, 200)
  const made = await from('create table made (a int); copy made from stdin;')
  assert.deepEqual([made.status, made.body.code], [403, 'statement-not-allowed'])
})

/** A user whose tables anyone may read one of and write another. */
async function sharing({ user }: { user: TestUser }): Promise<TestUser> {
  const { publicRole } = user.account
  await user.sql(`create table readable (a int); create table writable (a int);
    grant select on readable to "${publicRole}";
    grant select, insert, update, delete on writable to "${publicRole}"`)
  return user
}

async function refuses(user: TestUser, parameters: Record<string, string>): Promise<void> {
  const { status, body, text } = await ask(user, parameters)
  assert.deepEqual([status, body.code], [403, 'statement-not-allowed'], `${parameters.q}: ${text}`)
}

async function ask({ base }: TestUser, parameters: Record<string, string>) {
  const response = await fetch(`${base}/api/v2/sql`, {
    method: 'POST',
    body: new URLSearchParams(parameters),
  })
  const text = await response.text()
  const body = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
  return { status: response.status, text, body }
}
