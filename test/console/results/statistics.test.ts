import assert from 'node:assert/strict'
import { test } from 'node:test'
import { distributionOf } from '../../../console/result/statistics/distribution.ts'
import { readStatistics } from '../../../console/result/statistics/tally.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'

const count = 30_000
const columns = [
  { name: 'id', type: 'number', pgtype: 'int8' },
  { name: 'kind', type: 'string', pgtype: 'text' },
  { name: 'late', type: 'string', pgtype: 'text' },
  { name: 'at', type: 'date', pgtype: 'timestamptz' },
  { name: 'facts', type: 'string', pgtype: 'jsonb' },
]
/** Of a hundred kinds, every second is "a"; "late" repeats only after more values than are counted. */
const row = (at: number) => [
  `${9_007_199_254_740_993n + BigInt(at)}`,
  at % 2 === 0 ? 'a' : at % 10 === 1 ? null : `kind ${at % 100}`,
  at < 15_000 ? `only ${at}` : 'often',
  new Date(Date.UTC(2026, 0, 1, at)).toISOString().replace('.000', ''),
  '{"b": 1}',
]

test('the statistics of a result count all rows: shares, distinct values, every digit of the ends, most frequent values', () => {
  const { rows, sampled, columns: found, leftOut } = readStatistics(columns, { count, row })
  assert.deepEqual([rows, sampled, leftOut], [count, 10_000, 0])
  const [id, kind, late, at, facts] = found
  assert.deepEqual([id!.distinct, id!.hasMoreDistinct, id!.nullShare], [10_000, true, 0])
  assert.deepEqual([id!.bounds[0], id!.bounds.at(-1)], ['9007199254740993', '9007199254770992'])
  const bars = distributionOf(id!, 'all')!.bars
  assert.ok(
    bars.every((share) => Math.abs(share - 1 / bars.length) < 0.01),
    'even numbers make even bars',
  )
  assert.deepEqual([kind!.distinct, kind!.hasMoreDistinct], [41, false])
  assert.deepEqual(kind!.common[0], { value: 'a', share: 0.5 })
  assert.equal(kind!.nullShare, 0.1)
  assert.deepEqual(kind!.bounds, [], 'only the database can order texts')
  assert.equal(late!.common[0]!.value, 'often')
  assert.ok(Math.abs(late!.common[0]!.share - 0.5) < 0.01, 'a value that comes late is counted in the sample')
  assert.equal(at!.bounds[0], '2026-01-01 00:00:00+00')
  assert.ok(distributionOf(at!, 'all'))
  assert.deepEqual([facts!.distinct, facts!.bounds], [1, []])
})

test('long texts with the same beginning are different values, and are shown cut', () => {
  const start = 'https://example.org/'.padEnd(100, 'a')
  const texts = (at: number) => [`${start}${at % 3 === 0 ? 'often' : `${at % 100}`.padStart(5, '0')}`]
  const columns = [{ name: 'url', type: 'string', pgtype: 'text' }]
  const [url] = readStatistics(columns, { count: 300, row: texts }).columns
  assert.equal(url!.distinct, 101)
  assert.deepEqual(url!.common[0], { value: `${start}…`, share: 1 / 3 })
  assert.ok(url!.common.slice(1).every(({ value, share }) => value === `${start}…` && share === 2 / 300))
  // Beyond the values that are counted, the sample tells.
  const many = (at: number) => [`${start}${at < 15_000 ? at : 'often'}`]
  const [sampled] = readStatistics(columns, { count, row: many }).columns
  assert.deepEqual([sampled!.hasMoreDistinct, sampled!.common.length], [true, 1])
})

test('the statistics of a result are one of its views, over every row, with the extent of its geometries', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await run(
    page,
    `select i, case when i % 4 = 0 then null else 'kind ' || i % 3 end as kind, st_setsrid(st_point(500000 + i, 10), 25832) as place
     from generate_series(1, 20000) i`,
  )
  await page.getByRole('tab', { name: 'Statistics' }).click()
  await page
    .getByText(
      'Counted in all 20,000 rows. Distributions, extents and the most frequent of over 10,000 distinct values are of 10,000 of them.',
    )
    .waitFor()
  const line = (name: string) => page.getByRole('row', { name: new RegExp(`^${name} `) })
  assert.match((await line('i').textContent())!, /^iint40 %over 10,000120000/)
  assert.match((await line('kind').textContent())!, /^kindtext25 %3kind 1 25 %kind 2 25 %/)
  assert.match((await line('place').textContent())!, /500001 10 to 51\d+ 10|500001 10 to 5\d+ 10/)
  await assertAccessibleEverywhere(page)
})
