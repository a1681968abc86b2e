import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberNames, parametersOf } from '../../src/sql-text/named-values.ts'

test('a name outside quotes and comments becomes a parameter, one per name', () => {
  const { text, names } = numberNames(
    `select :a, :town::text, :a from t where x = ':no' and "y:no" = $$ :no $$ -- :no\n and /* :no */ z=:b_2`,
  )
  assert.equal(
    text,
    `select $1, $2   ::text, $1 from t where x = ':no' and "y:no" = $$ :no $$ -- :no\n and /* :no */ z=$3  `,
  )
  assert.deepEqual(names, ['a', 'town', 'b_2'])
})

test('casts, slices and assignments are not taken for names', () => {
  for (const text of [
    'select a::int',
    "select '1'::int[]",
    'select a[1:n]',
    'select a[f(x):n]',
    'select a[1 :n]',
    'select a[:n]',
    "select json_object('k':v)",
    'select json_objectagg(key:value)',
    'do := x',
    'a : b',
  ])
    assert.deepEqual(numberNames(text), { text, names: [] })
})

test('a position in the text with parameters maps to the text with names', () => {
  const sql = 'select :first, :second, nowhere'
  assert.equal(numberNames(sql).text.indexOf('nowhere'), sql.indexOf('nowhere'))
})

test('names work in arrays, calls, subscripts and after keywords', () => {
  for (const [text, numbered] of [
    ['select array[:a, :b]', 'select array[$1, $2]'],
    ['select a[(:n)]', 'select a[($1)]'],
    ['select json_object(key :k value :v)', 'select json_object(key $1 value $2)'],
    ['select 1 limit:n', 'select 1 limit $1'],
    ['select f(:a)[1:2]', 'select f($1)[1:2]'],
  ] as const)
    assert.equal(numberNames(text).text, numbered)
})

test('the parameters of a statement are its names and numbers, not those of a function body', () => {
  const labels = (text: string) => parametersOf(text).map(({ label }) => label)
  assert.deepEqual(labels("select :a, $2::int, $1.5, a$3, '$4', $$ $5 $$, $0, $99999999999 -- $6"), [
    ':a',
    '$2',
    '$1',
  ])
  assert.deepEqual(labels('create or replace function f(int) returns int return $1 + 1'), [])
  assert.deepEqual(labels('create procedure p(int) begin atomic select $1; end'), [])
  assert.deepEqual(labels('prepare p as select $1'), [])
  assert.deepEqual(labels('create table t as select $1::int as n'), ['$1'])
})
