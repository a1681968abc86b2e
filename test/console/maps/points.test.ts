import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { drawnOf, onMap } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'

test('two number columns are drawn as longitude and latitude if the user chooses them, and rows outside are counted', async (t) => {
  const { page, signIn } = await openConsole(t, { drawsMaps: true })
  await signIn()
  await run(
    page,
    `select * from (values (11, 2.35, 48.86), (12, 200, 10), (13, -10.5, 5.25), (14, null, 1), (15, 'NaN', 1), (16, 1, 90.1))
       as t (id, from_lon, from_lat)`,
  )
  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`))
  await page.getByRole('tab', { name: 'Map' }).click()
  const longitude = page.getByRole('combobox', { name: 'Longitude' })
  assert.equal(await longitude.locator('option:checked').textContent(), 'from_lon')
  await page.getByText('the statement stays as it is').waitFor()
  assert.equal(await page.locator('.map').count(), 0, 'nothing is drawn unasked')
  await page.getByRole('button', { name: 'Draw points' }).click()
  await page.getByText('2 points · 1 row without both numbers · 3 rows out of range, not drawn').waitFor()
  await eventually(async () =>
    assert.deepEqual((await drawnOf(page, 'shape-points')).map(({ id }) => id).sort(), [0, 2]),
  )
  const { x, y } = await onMap(page, (map) => map.project([-10.5, 5.25]))
  await page.locator('.map').click({ position: { x, y } })
  await page.getByRole('tab', { name: 'Grid' }).click()
  await page.getByRole('gridcell', { selected: true, name: '13' }).waitFor()
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText('2 points').waitFor()
  assert.deepEqual(
    // The history may still be storing the statement before.
    sent.filter((each) => !/\/assets\/|\/history$/.test(each)),
    [],
    'the service is asked for nothing',
  )

  await run(page, 'select 500000 as a, 1 as b, 5700000 as c')
  await page.getByRole('tab', { name: 'Map' }).click()
  const draw = page.getByRole('button', { name: 'Draw points' })
  assert.ok(await draw.isDisabled(), 'no column is named as a coordinate')
  await longitude.selectOption('a')
  await page.getByRole('combobox', { name: 'Latitude' }).selectOption('c')
  await draw.click()
  await page.getByText('No row has a longitude from -180 to 180').waitFor()
  await assertAccessibleEverywhere(page)
})
