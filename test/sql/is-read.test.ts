import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadGrammar } from '../../src/sql/grammar.ts'
import { isRead } from '../../src/sql/is-read.ts'

before(loadGrammar)

test('a single SELECT, VALUES, TABLE, WITH, EXPLAIN of these, SHOW or COPY TO is a read', () => {
  for (const text of [
    'select 1',
    'select 1;;',
    'values (1)',
    'table t',
    'with a as (select 1) select * from a union select $1::int',
    'explain analyze select 1',
    'show work_mem',
    'copy t to stdout',
    'copy (select 1) to stdout',
    `select 1${' + 1'.repeat(500)}`,
  ])
    assert.ok(isRead(text), text)
})

test('nothing else is a read, not even what only a standby would refuse', () => {
  for (const text of [
    '',
    'selec 1',
    'select 1; select 2',
    'begin read write; insert into t values (1); commit',
    'do $$ begin insert into t values (1); exception when others then null; end $$',
    'call p()',
    'insert into t values (1)',
    'select 1 into t',
    'select 1 into t union select 2',
    'select * from t for update',
    'with a as (insert into t values (1) returning n) select * from a',
    'select * from (with a as (delete from t returning n) select * from a) b',
    'explain analyze insert into t values (1)',
    'explain analyze with a as (update t set n = 1 returning n) select * from a',
    'explain analyze create table u as select 1',
    'explain analyze execute p',
    'copy t from stdin',
    'copy (insert into t values (1) returning n) to stdout',
    'copy (with a as (insert into t values (1) returning n) select * from a) to stdout',
    'set work_mem = 100',
  ])
    assert.ok(!isRead(text), text)
})
