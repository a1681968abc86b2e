import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writers } from '../../../console/result/grid/copy-formats.ts'
import type { ResultColumn } from '../../../console/result/worker/protocol.ts'
import { setup } from '../../support/service/setup.ts'

const columns: readonly ResultColumn[] = [
  { name: 'Name', type: 'string', pgtype: 'text' },
  { name: 'n', type: 'number', pgtype: 'numeric' },
  { name: 'is_it', type: 'boolean', pgtype: 'bool' },
  { name: 'tags', type: 'string', pgtype: '_text' },
]

test('rows copied as INSERT give the same rows in another table', async (t) => {
  const { user } = await setup(t)
  const text = writers.INSERT(columns, [
    ['O\'Brien \\ "x"', '12345678901234567890.50', 'true', '["a [b]","c\\"d\\\\e",null]'],
    [null, 'NaN', null, '[]'],
  ])
  await user.sql('create table my_table ("Name" text, n numeric, is_it bool, tags text[])')
  await user.sql(text)
  const { rows } = await user.sql(
    'select "Name" as name, n::text, is_it, tags[1] as a, tags[2] as c, tags[3] is null as e, cardinality(tags) as z from my_table order by 1',
  )
  assert.deepEqual(rows, [
    {
      name: 'O\'Brien \\ "x"',
      n: '12345678901234567890.50',
      is_it: true,
      a: 'a [b]',
      c: 'c"d\\e',
      e: true,
      z: 3,
    },
    { name: null, n: 'NaN', is_it: null, a: null, c: null, e: true, z: 0 },
  ])
})
