import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, clipboard } from '../support/sql-page.ts'

const hostile = `Odd "na'me"; --%`
const quoted = `"${hostile.replaceAll('"', '""')}"`

const matches = (page: Page) => page.getByTestId('matches')
const search = (page: Page) => page.getByLabel('Find in all rows of the table')

async function addFilter(page: Page, column: string, condition: string, value?: string): Promise<void> {
  await page.getByRole('button', { name: 'Add filter' }).click()
  const dialog = page.getByRole('dialog', { name: 'Filter rows' })
  await dialog.getByLabel('Column').selectOption(column)
  await dialog.getByLabel('Condition').selectOption(condition)
  if (value !== undefined) await dialog.getByLabel('Value').fill(value)
  await dialog.getByRole('button', { name: 'Filter', exact: true }).click()
}

test('find, filters and sorting of a table page apply to all its rows, and the matches are counted', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(
    `create table big as select i as id, 'row ' || i as ${quoted}, date '2020-01-01' + i % 10 as day,
       case when i % 2 = 0 then 'even' end as kind, ST_SetSRID(ST_MakePoint(1, 2), 4326) as the_geom
     from generate_series(1, 30000) i`,
  )
  await user.sql(`insert into big values (30001, '100% _sure_', null, null, null)`)
  await signInAt('/tables/public/big/preview')
  await eventually(async () => assert.equal((await cells(page))[0]?.[0], '1'))

  await page.getByRole('columnheader', { name: 'id' }).click()
  await page.getByRole('columnheader', { name: 'id ▴' }).click()
  await eventually(async () => assert.equal((await cells(page))[0]?.[0], '30001'))
  await page.getByRole('columnheader', { name: 'id ▾' }).waitFor()

  await search(page).fill('ROW 2999')
  await page.keyboard.press('Enter')
  await matches(page).getByText('11 rows match').waitFor()
  assert.deepEqual(
    (await cells(page)).map(([id]) => id),
    ['29999', '29998', '29997', '29996', '29995', '29994', '29993', '29992', '29991', '29990', '2999'],
  )
  await search(page).fill('0% _s')
  await page.keyboard.press('Enter')
  await matches(page).getByText('1 row matches').waitFor()
  await eventually(async () => assert.equal((await cells(page))[0]?.[0], '30001'))
  await search(page).fill('')
  await matches(page).getByText('Shows up to 10,000 rows').waitFor()

  await addFilter(page, 'kind', '=', 'even')
  await matches(page).getByText('15,000 rows match · the first 10,000 are shown').waitFor()
  await addFilter(page, 'day', '≥', '2020-01-07')
  await matches(page).getByText('6,000 rows match').waitFor()
  await addFilter(page, hostile, 'starts with', 'row 2999')
  await matches(page).getByText('2 rows match').waitFor()
  await eventually(async () =>
    assert.deepEqual(
      (await cells(page)).map(([id]) => id),
      ['29998', '29996'],
    ),
  )
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: 'Remove: kind = even' }).click()
  await page.getByRole('button', { name: `Remove: ${hostile} starts with row 2999` }).click()
  await page.getByRole('button', { name: 'Remove: day ≥ 2020-01-07' }).click()
  await addFilter(page, 'kind', 'is NULL')
  await matches(page).getByText('15,001 rows match').waitFor()

  const shown = page.getByRole('region', { name: 'WHERE and ORDER BY' })
  assert.equal(await shown.textContent(), 'where "kind" is null order by "id" desc')
  await page.getByRole('button', { name: 'Copy: WHERE and ORDER BY' }).click()
  await eventually(async () => assert.equal(await clipboard(page), await shown.textContent()))
  await page.getByRole('button', { name: 'Open as SQL' }).click()
  await page
    .locator('.cm-content', { hasText: 'where "kind" is null order by "id" desc limit 1000' })
    .waitFor()
})

test("filters work by keyboard; a wrong value gives the database's error; a download has the matching rows", async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql("create table places as select i as id, 'it''s ' || i as name from generate_series(1, 20) i")
  await signInAt('/tables/public/places/preview')
  await eventually(async () => assert.equal((await cells(page))[0]?.[0], '1'))
  await page.getByRole('grid').focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('f')
  const dialog = page.getByRole('dialog', { name: 'Filter rows' })
  assert.equal(await dialog.getByLabel('Column').inputValue(), 'name')
  await dialog.getByLabel('Value').fill("it's 1")
  await page.keyboard.press('Enter')
  await matches(page).getByText('11 rows match').waitFor()
  const started = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download ▾' }).click()
  await page.getByRole('menuitem', { name: 'CSV (COPY)', exact: true }).click()
  const lines = (await readFile(await (await started).path(), 'utf8')).trim().split('\n')
  assert.equal(lines.length, 1 + 11)
  await addFilter(page, 'id', '=', 'x')
  await page.getByRole('alert').getByText('invalid input syntax for type integer: "x"').waitFor()
  await page.getByRole('button', { name: 'Remove: id = x' }).click()
  await matches(page).getByText('11 rows match').waitFor()
})

test('a chart on a table page says that it does not include all rows', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql("create table big as select 'v' || i % 3 as v from generate_series(1, 10001) i")
  await signInAt('/tables/public/big/preview')
  await page.getByRole('tab', { name: 'Chart' }).click()
  await page.getByText('of the 10,000 rows that are shown, not of all').waitFor()
  await addFilter(page, 'v', '=', 'v1')
  await page.getByRole('cell', { name: '3,334' }).waitFor()
  assert.equal(await page.getByText('not of all').count(), 0)
})
