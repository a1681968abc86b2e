import assert from 'node:assert/strict'
import { test } from 'node:test'
import { breaksOf } from '../../../console/maps/breaks.ts'
import {
  categoriesSql,
  isTooSmall,
  mostRead,
  numbersSql,
  type Stored,
  sampleOf,
  storedSql,
  tableIn,
  wholeOf,
} from '../../../console/maps/sample-sql.ts'
import { setup, type TestUser } from '../../support/service/setup.ts'

/** How many rows the scans of a statement read. */
async function rowsRead(user: TestUser, statement: string): Promise<number> {
  type Node = { 'Actual Rows': number; 'Rows Removed by Filter'?: number; Plans?: Node[] }
  const { rows } = await user.sql(`explain (analyze, format json) ${statement}`)
  const read = ({ Plans, ...node }: Node): number =>
    Plans ? Math.max(...Plans.map(read)) : node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
  return read(rows[0]['QUERY PLAN'][0].Plan)
}

test('colours by value read part of a large table or query; the part of a table is representative', async (t) => {
  const { user } = await setup(t)
  const count = 600_000
  await user.sql(`create table many as select n, case when n % 10 < 7 then 'often' else 'rare' end as word, null::geometry as the_geom
    from generate_series(1, ${count}) n; analyze many`)
  const sql = 'select * from "public"."many"'
  const [stored] = (await user.sql(storedSql(tableIn(sql)!))).rows as Stored[]
  for (const from of [sampleOf(sql, stored), sampleOf(`${sql} where n > 0;`, undefined)])
    for (const statement of [numbersSql(from, 'n'), categoriesSql(from, 'word', 8)]) {
      const read = await rowsRead(user, statement)
      assert.ok(read > 0 && read <= 1.3 * mostRead, `${read} rows of ${statement}`)
    }
  const { rows } = await user.sql(numbersSql(sampleOf(sql, stored), 'n'))
  assert.equal(rows.length, 5_000)
  const breaks = breaksOf(
    rows.map(({ value }) => Number(value)),
    'quantiles',
    5,
  )
  for (const [at, found] of breaks.entries())
    assert.ok(Math.abs(found / count - (at + 1) / 5) < 0.05, `${breaks} of ${count}`)
  const words = await user.sql(categoriesSql(sampleOf(sql, stored), 'word', 8))
  assert.deepEqual(
    words.rows.map(({ value }) => value),
    ['often', 'rare'],
  )
})

test('colours by value read a part of a large partitioned table, spread over all its partitions', async (t) => {
  const { user } = await setup(t)
  const count = 600_000
  await user.sql(`create table parts (n integer, the_geom geometry) partition by range (n);
    create table parts_low partition of parts for values from (0) to (300001) partition by range (n);
    create table parts_a partition of parts_low for values from (0) to (150001);
    create table parts_b partition of parts_low for values from (150001) to (300001);
    create table parts_c partition of parts for values from (300001) to (1000000);
    create table parts_d partition of parts for values from (1000000) to (2000000);
    insert into parts select n from generate_series(1, ${count}) n; analyze parts_a; analyze parts_b; analyze parts_c`)
  const sql = 'select * from "public"."parts"'
  const [stored] = (await user.sql(storedSql(tableIn(sql)!))).rows as Stored[]
  assert.deepEqual(stored, { kind: 'p', rows: count })
  const { rows } = await user.sql(numbersSql(sampleOf(sql, stored), 'n'))
  assert.ok(!isTooSmall(rows) && rows[0].found <= 1.3 * mostRead, `${rows[0].found} values`)
  const breaks = breaksOf(
    rows.map(({ value }) => Number(value)),
    'quantiles',
    5,
  )
  for (const [at, found] of breaks.entries())
    assert.ok(Math.abs(found / count - (at + 1) / 5) < 0.05, `${breaks} of ${count}`)
})

test('colours of a mostly empty column read no more rows, and say if values are few', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table sparse as select n, case when n <= 3000 then n end as seldom, null::integer as never
    from generate_series(1, 600000) n; analyze sparse`)
  const sql = 'select * from "public"."sparse"'
  const [stored] = (await user.sql(storedSql(tableIn(sql)!))).rows as Stored[]
  const sample = sampleOf(sql, stored)
  for (const from of [sample, wholeOf(sql)])
    for (const column of ['seldom', 'never'])
      for (const statement of [numbersSql(from, column), categoriesSql(from, column, 8)]) {
        const read = await rowsRead(user, statement)
        assert.ok(read > 0 && read <= 1.3 * mostRead, `${read} rows of ${statement}`)
      }
  for (const [from, column, isFew] of [
    [sample, 'n', false],
    [sample, 'seldom', true],
    [sample, 'never', true],
    [wholeOf(sql), 'seldom', false],
  ] as const)
    for (const statement of [numbersSql(from, column), categoriesSql(from, column, 8)])
      assert.equal(isTooSmall((await user.sql(statement)).rows), isFew, statement)
})

test('only a whole table is sampled, and only a large stored one', () => {
  const large = { kind: 'r', rows: 1e7 }
  for (const [sql, stored, isSampled] of [
    ['select * from "public"."a "" b";', large, true],
    ['select * from many', large, true],
    ['select * from "public"."many"', { kind: 'r', rows: 1000 }, false],
    ['select * from "public"."many"', { kind: 'v', rows: 1e7 }, false],
    ['select * from "public"."many"', undefined, false],
    ['select * from "public"."many" where n = 1', large, false],
    ['select * from "public"."many", other', large, false],
    ['select n from "public"."many"', large, false],
  ] as const)
    assert.equal(sampleOf(sql, stored).includes('tablesample'), isSampled, sql)
})
