import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { drawnOf } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, summary } from '../support/sql-page.ts'

test('the first sign-in shows where to begin: one click loads the countries, and three example queries run on them', async (t) => {
  const { page, signIn, user } = await openConsole(t, { drawsMaps: true, setup: { worker: true } })
  await signIn()
  await page.getByRole('heading', { name: 'Where to begin' }).waitFor()
  await page.getByText('Drop a CSV, TSV or GeoJSON file on this page').waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: 'Load sample data' }).click()
  await page.getByText('countries has 177 new rows').waitFor()
  const { rows } = await user.sql(
    'select count(*)::int as n, bool_and(st_isvalid(the_geom)) as valid, bool_and(area_km2 > 0) as areas from countries',
  )
  assert.deepEqual(rows, [{ n: 177, valid: true, areas: true }])

  await page.getByRole('link', { name: 'Example queries' }).click()
  await page.getByRole('heading', { name: 'Examples for the table countries' }).waitFor()
  await assertAccessibleEverywhere(page)
  const first = { 'The largest countries': 'Russia', 'How far every country is from Nairobi': 'Kenya' }
  for (const [title, name] of Object.entries(first)) {
    await page.getByRole('button', { name: `Run: ${title}` }).click()
    await eventually(async () => assert.equal((await cells(page))[0]?.[0], name), 30_000)
    await page.getByRole('button', { name: /Close result/ }).click()
  }
  await page.getByRole('button', { name: 'Run: The neighbours of Germany' }).click()
  await summary(page)
    .filter({ hasText: /^9 rows/ })
    .waitFor()
  await page.getByRole('tab', { name: 'Map' }).click()
  await eventually(async () => assert.ok((await drawnOf(page, 'shape-areas')).length > 0), 60_000)
})

test('a user with tables of their own is not told where to begin', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table places (n int)')
  await signIn()
  await page.getByText('Results appear here').waitFor()
  assert.equal(await page.getByText('Where to begin').count(), 0)
})
