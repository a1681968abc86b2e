import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberNames } from '../../src/sql-text/named-values.ts'

test('a name outside of quotes and comments becomes a parameter, each name one', () => {
  const { text, names } = numberNames(
    `select :a, :town::text, :a from t where x = ':no' and "y:no" = $$ :no $$ -- :no\n and /* :no */ z=:b_2`,
  )
  assert.equal(
    text,
    `select $1, $2   ::text, $1 from t where x = ':no' and "y:no" = $$ :no $$ -- :no\n and /* :no */ z=$3  `,
  )
  assert.deepEqual(names, ['a', 'town', 'b_2'])
})

test('casts, slices and assignments have no names', () => {
  for (const text of [
    'select a::int',
    "select '1'::int[]",
    'select a[1:n]',
    'select a[f(x):n]',
    'do := x',
    'a : b',
  ])
    assert.deepEqual(numberNames(text), { text, names: [] })
})

test('a position in the text with parameters is the same position in the text with names', () => {
  const sql = 'select :first, :second, nowhere'
  assert.equal(numberNames(sql).text.indexOf('nowhere'), sql.indexOf('nowhere'))
})
