import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadGrammar } from '../../src/sql/grammar.ts'
import { namesInQuery } from '../../src/sql/query-names.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

before(loadGrammar)

const table = `create type kind as enum ('x'); create table t (name text, kind kind, day date, the_geom geometry(Point, 4326)); select CDB_CartodbfyTable('t');`

/** From one look-up; null: changes of the rows cannot be detected. */
async function versionOf(
  user: TestUser,
  query: string,
  known: string | null = null,
  role?: string,
): Promise<string | null> {
  const names = namesInQuery(query)
  if (!names) return null
  const { relations, optional, functions, operators, members } = names
  const { rows } = await user.sql(
    'select version from cartodb._CDB_QueryVersion($1, $2, $3, $4, $5, $6)',
    [relations, optional, functions, operators, members, known],
    role,
  )
  return rows[0].version
}

test('the version of a query changes with its tables, functions and the meaning of its names, and only then', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    `${table} create view v as select * from t; create function loud(text) returns text immutable language sql as 'select upper($1)'`,
  )
  const query = `with t as (select * from t where name <> 'x'), w as (select * from v)
    select loud(t.name) || t.kind::text as name, count(*), st_transform(t.the_geom, 3857) as g from t join w using (cartodb_id) where t.day > '2020-01-01'::date group by 1, 3 order by 2 limit 5`
  let known = await versionOf(user, query)
  assert.ok(known)
  for (const change of [
    `insert into t (name) values ('a')`,
    `create or replace function loud(text) returns text immutable language sql as 'select lower($1)'`,
    `create function loud(varchar) returns text immutable language sql as 'select $1'`,
    'create or replace view v as select * from t where cartodb_id > 1',
    'create schema other; create table other.v (like t including all)',
    `alter type kind rename value 'x' to 'y'`,
    'create table w (name text)',
    'drop table w',
    'alter table t add n int',
  ]) {
    assert.equal(await versionOf(user, query, known), known)
    await user.sql(change)
    const next = await versionOf(user, query, known)
    if (change.includes('other')) assert.equal(next, known, change)
    else assert.notEqual(next, known, change)
    if (change !== 'create table w (name text)') assert.ok(next, change)
    known = next
  }
})

test('a query whose rows may change without its tables has no version', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${table} create table plain (name text); create function tick(t) returns float8 volatile language sql as 'select random()';
    create operator === (function = texteq, leftarg = text, rightarg = text)`)
  for (const query of [
    'select now() as n, the_geom from t',
    'select current_user as n, the_geom from t',
    'select random() as n, the_geom from t',
    `select * from t where day > 'yesterday'`,
    `select * from t where day > E'\\x6eow'`,
    `select * from t where day > ('to' || 'day')::date`,
    'select name::date, the_geom from t',
    'select * from t tablesample system (10)',
    'select * from t for update',
    'select t.tick, the_geom from t',
    'select (t).tick, the_geom from t',
    'select * from t, plain',
    'select * from pg_class, t',
    'select * from missing',
    `select * from t where name === 'x'`,
    `select 't'::regclass, the_geom from t`,
    `select nextval('x')`,
    'insert into t default values returning *',
    'select 1; select 2',
  ])
    assert.equal(await versionOf(user, query), null, query)
  assert.ok(await versionOf(user, 'select name, the_geom from t'))
})
