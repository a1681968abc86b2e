import assert from 'node:assert/strict'
import { test } from 'node:test'
import { breaksOf } from '../../../console/maps/breaks.ts'
import {
  categoriesSql,
  mostRead,
  numbersSql,
  type Stored,
  sampleOf,
  storedSql,
  tableIn,
} from '../../../console/maps/sample-sql.ts'
import { setup, type TestUser } from '../../support/service/setup.ts'

/** How many rows the scans of a statement have read. */
async function rowsRead(user: TestUser, statement: string): Promise<number> {
  type Node = { 'Actual Rows': number; 'Rows Removed by Filter'?: number; Plans?: Node[] }
  const { rows } = await user.sql(`explain (analyze, format json) ${statement}`)
  const read = ({ Plans, ...node }: Node): number =>
    Plans ? Math.max(...Plans.map(read)) : node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
  return read(rows[0]['QUERY PLAN'][0].Plan)
}

test('colours by value read a part of a large table or query, which stands for all of a table', async (t) => {
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

test('only a whole table is sampled, and only a large one that is stored', () => {
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
