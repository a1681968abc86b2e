import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { storedResults } from '../support/kept-results.ts'
import { openConsole } from '../support/open-console.ts'
import { resultTabs, run } from '../support/sql-page.ts'

/** The lines of the list: kind, key and values. */
const changes = (page: Page) =>
  page
    .getByRole('table', { name: 'Changes' })
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)))

const counts = (page: Page) => page.locator('.changes-kinds').textContent()

const showChanges = (page: Page) => page.getByRole('tab', { name: 'Changes' }).click()

test('Changes shows the rows that were added, removed or changed since the last run of the same text', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(
    `create table places as select i as cartodb_id, 'place ' || i % 3 as name, i * 1.10 as n from generate_series(1, 5) i`,
  )
  await signInAt('/sql')
  await run(page, 'select * from places order by cartodb_id')
  assert.equal(await page.getByRole('tab', { name: 'Changes' }).count(), 0)
  await user.sql(
    `update places set n = null, name = 'X' where cartodb_id = 2; delete from places where cartodb_id = 4;
     insert into places values (1234567890, 'place 1', 7); alter table places add more int default 1`,
  )
  await run(page, 'select 1 as other')
  assert.equal(await page.getByRole('tab', { name: 'Changes' }).count(), 0)
  await run(page, 'SELECT *   FROM places -- again\n ORDER BY cartodb_id;')
  await showChanges(page)
  await eventually(async () =>
    assert.deepEqual(await changes(page), [
      ['changed', '2', 'name: place 2 → Xn: 2.20 → NULL'],
      ['added', '1234567890', 'cartodb_id: 1234567890name: place 1n: 7'],
      ['gone', '4', 'cartodb_id: 4name: place 1n: 4.40'],
    ]),
  )
  assert.equal(await counts(page), '3 in all1 changed1 added1 gone3 rows the same')
  await page.getByText('New columns: more. They are not compared.').waitFor()
  await page.getByRole('button', { name: '1 gone' }).click()
  await eventually(async () => assert.equal((await changes(page)).length, 1))
  await page.getByRole('button', { name: '3 in all' }).click()
  await assertAccessibleEverywhere(page)

  const key = page.getByRole('combobox', { name: 'Key' })
  await key.selectOption('name')
  await page
    .getByText('name does not name one row each: 2 rows before and 1 now repeat the value of an earlier row.')
    .waitFor()
  await key.selectOption('none: whole rows')
  await eventually(async () =>
    assert.equal(await counts(page), '4 in all0 changed2 added2 gone3 rows the same'),
  )
})

test('a pinned result is compared with a run after a reload, large results up to a limit', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await signInAt('/sql')
  await user.sql('create table size as select 200000 as n')
  const text =
    'select g % 7 as part, g, random() as r from generate_series(1, (select n from size)) g order by g'
  await run(page, text)
  await page.getByRole('button', { name: 'Pin result 1' }).click()
  await eventually(async () => assert.equal((await storedResults(page, user.username)).length, 2))
  await page.reload()
  await eventually(async () =>
    assert.match((await resultTabs(page).allTextContents()).join(), /^1 · .* \(pinned\)$/),
  )
  await run(page, text)
  await showChanges(page)
  await page.getByText('Show 200 more').waitFor()
  // The first column is the key of each row.
  await page.getByRole('columnheader', { name: 'g', exact: true }).waitFor()
  assert.equal(await counts(page), '200,000 in all200,000 changed0 added0 gone0 rows the same')
  assert.equal((await changes(page)).length, 200)

  await user.sql('update size set n = 200001')
  await run(page, text)
  await showChanges(page)
  await page.getByText('Not compared: at most 200,000 rows and 64 MB are.').waitFor()
})
