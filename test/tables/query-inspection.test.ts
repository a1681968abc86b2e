import assert from 'node:assert/strict'
import { test } from 'node:test'
import { column, makeKey, refusal, value } from '../support/postgres/tenant-session.ts'
import { setup } from '../support/service/setup.ts'

const splits: readonly (readonly [string, string, readonly string[]])[] = [
  ['splits at semicolons and cuts white space', ' select 1 ;\n\tselect 2;', ['select 1', 'select 2']],
  ['drops empty statements', ';; ;', []],
  ['drops a statement of only comments', '-- a; b\n/* c; d */;', []],
  [
    'keeps comments inside statements',
    'select 1 -- one; two\n, 2; select 3',
    ['select 1 -- one; two\n, 2', 'select 3'],
  ],
  ['nests comments', '/* a /* b; */ c; */ select 1; select 2', ['/* a /* b; */ c; */ select 1', 'select 2']],
  ['reads an operator before a comment', 'select 2*/* ; */3; select 4', ['select 2*/* ; */3', 'select 4']],
  [
    'does not split strings',
    `select 'a;b', 'it''s;', ''; select 2`,
    [`select 'a;b', 'it''s;', ''`, 'select 2'],
  ],
  [
    'reads a backslash in a plain string as a character',
    `select '\\'; select 2`,
    [`select '\\'`, 'select 2'],
  ],
  [
    "reads escapes in E''",
    `select E'a\\';b\\\\', e'\\''; select 2`,
    [`select E'a\\';b\\\\', e'\\''`, 'select 2'],
  ],
  [
    "continues E'' after a line break",
    `select E'a'\n  'b\\';c'; select 2`,
    [`select E'a'\n  'b\\';c'`, 'select 2'],
  ],
  ["reads no escapes in U&''", `select U&'\\'; select 2`, [`select U&'\\'`, 'select 2']],
  [
    'does not split quoted identifiers',
    'select "a;b", "c"";d"; select 2',
    ['select "a;b", "c"";d"', 'select 2'],
  ],
  ['does not split dollar quotes', 'select $$a;b$$; select 2', ['select $$a;b$$', 'select 2']],
  [
    'matches the tags of dollar quotes',
    'select $a$ $b$; $$; x$a$; do $é$begin null; end$é$',
    ['select $a$ $b$; $$; x$a$', 'do $é$begin null; end$é$'],
  ],
  [
    'accepts a dollar sign in a name',
    'select a$b$; select $1; select 3',
    ['select a$b$', 'select $1', 'select 3'],
  ],
  [
    'does not split inside parentheses',
    'create rule r as on insert to t do (select 1; select 2); select 3',
    ['create rule r as on insert to t do (select 1; select 2)', 'select 3'],
  ],
  [
    'does not split SQL bodies of functions',
    'create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end; begin; end',
    [
      'create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end',
      'begin',
      'end',
    ],
  ],
  ['reads an unclosed quote to the end of the text', `select 1; select 'a; b`, ['select 1', `select 'a; b`]],
  ['reads any script', 'select "ä;😀", ö; sélect; ☃', ['select "ä;😀", ö', 'sélect', '☃']],
  ['does not trim letters', 'select v;v', ['select v', 'v']],
]

test('CDB_QueryStatements', async (t) => {
  const { user } = await setup(t)
  for (const [what, text, statements] of splits) {
    await t.test(what, async () => {
      const { rows } = await user.sql('select CDB_QueryStatements($1) as statement', [text])
      assert.deepEqual(
        rows.map(({ statement }) => statement),
        statements,
      )
    })
  }
  await t.test("follows the caller's standard_conforming_strings", async () => {
    const text = `set standard_conforming_strings = off;
      select CDB_QueryStatements($q$select 'a\\';b'; select 2$q$)`
    assert.deepEqual(await column(user, text), [`select 'a\\';b'`, 'select 2'])
  })
  await t.test('takes seconds, not minutes, for a megabyte', async () => {
    const text = `select count(*)::int from CDB_QueryStatements(repeat('select ''ä'' from foo;', 20000))`
    assert.equal(await value(user, text), 20_000)
  })
})

test('CDB_QueryTables', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql(`create table a (id int); create table "B.b" (id int); create table "Ünï""q" (id int);
    create view v as select a.id from a join "B.b" using (id); create schema s; create table s.a (id int)`)
  const ask = (query: string, role?: string) =>
    user.sql('select CDB_QueryTablesText($1) as tables', [query], role).then(({ rows }) => rows[0]!.tables)

  await t.test('answers the tables of all statements, sorted, each once', async () => {
    assert.deepEqual(
      await ask('select * from a; select * from s.a, a; insert into a select * from "Ünï""q"'),
      ['public."Ünï""q"', 'public.a', 's.a'],
    )
  })
  await t.test('sees through views, subqueries and CTEs', async () => {
    const tables = ['public."B.b"', 'public.a']
    assert.deepEqual(await ask('select * from v'), tables)
    assert.deepEqual(
      await ask('with x as (select * from v) select (select max(id) from x) union select 1'),
      tables,
    )
  })
  await t.test('answers none for a query without tables and for commands without a plan', async () => {
    assert.deepEqual(await ask('select 1; create table c (id int); vacuum a; drop table a'), [])
    assert.equal(await value(user, `select CDB_QueryTablesText(null) is null`), true)
  })
  await t.test('executes nothing', async () => {
    await ask('delete from a; truncate a')
    await ask('insert into a values (1)')
    await ask('analyze delete from a')
    assert.equal(await value(user, 'select count(*)::int from a'), 0)
    assert.equal(await value(user, "select to_regclass('c') is null"), true)
  })
  await t.test('reports the error in the query', async () => {
    assert.match((await refusal(user, `select CDB_QueryTables('select * from nowhere')`)) ?? '', /^42P01/)
  })
  await t.test('resolves names as for the caller', async () => {
    assert.deepEqual(
      await value(user, `set search_path = s, cartodb; select CDB_QueryTablesText('table a')`),
      ['s.a'],
    )
  })
  await t.test('has the rights of the caller, no more', async () => {
    const key = await makeKey(context, user)
    for (const name of ['CDB_QueryTables', 'CDB_QueryTablesText']) {
      const text = `select ${name}('select * from a')`
      assert.match((await refusal(user, text, key)) ?? '', /^42501/)
      assert.match((await refusal(user, text, user.account.publicRole)) ?? '', /^42501/)
    }
  })
  await t.test('answers the same as an array of names', async () => {
    assert.equal(
      await value(user, `select CDB_QueryTables('table v')::text`),
      '{"public.\\"B.b\\"",public.a}',
    )
  })
})
