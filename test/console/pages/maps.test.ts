import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { NamedMapTemplate, NamedMapView } from '../../../src/contract/documents.ts'
import { circles, makeMap, templateOf } from '../../support/maps/named-api.ts'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { askMaps } from '../../support/tiles/tile-api.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { drawnOf } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'

const cities = `create table cities (name text, people int, country text, the_geom geometry(Point, 4326)); select CDB_CartodbfyTable('cities');
  insert into cities (name, people, country, the_geom) select 'City ' || n, n * 1000, case when n % 3 = 0 then 'Italy' else 'France' end, st_point(n, 45, 4326) from generate_series(1, 20) n`

async function readMap(user: TestUser, name: string): Promise<NamedMapTemplate & { view: NamedMapView }> {
  const { body } = await askMaps(user, `/api/v1/map/named/${name}`)
  return body.template as never
}

async function addLayers(page: Page): Promise<void> {
  await page.getByLabel('Add a layer from').selectOption('cities')
  await page.getByRole('button', { name: 'Add layer' }).click()
  await eventually(async () => assert.equal((await drawnOf(page, 'cities')).length, 20))
  assert.equal(await page.getByLabel('Title').inputValue(), 'cities')
  await page.getByLabel('Title').fill('Cities of <Europe>')
  await page.getByLabel('Colour', { exact: true }).selectOption('numbers:people')
  await page.getByLabel('Classes', { exact: true }).selectOption('equal')
  await page.getByLabel('Number of classes').selectOption('4')
  await page.getByRole('list', { name: 'cities: people' }).getByText('5,750 to 10,500').waitFor()
  await page.getByLabel('Radius').fill('9')
  await page.getByLabel('Label', { exact: true }).selectOption('name')
  await page.getByLabel('country', { exact: true }).uncheck()

  await page.getByLabel('Add a layer from').selectOption('query')
  await page
    .getByLabel('Query')
    .fill(
      "select cartodb_id, country, st_buffer(the_geom_webmercator, 30000) as geom from cities where country = 'Italy';",
    )
  await page.getByRole('button', { name: 'Add layer' }).click()
  await page.getByRole('button', { name: 'Move query down' }).click()
  await eventually(async () => assert.ok((await drawnOf(page, 'query')).length >= 6))
}

async function assertTemplate(user: TestUser): Promise<void> {
  const { view, layergroup } = await readMap(user, 'cities')
  assert.equal(view.title, 'Cities of <Europe>')
  assert.deepEqual(
    (layergroup.layers as { id: string }[]).map(({ id }) => id),
    ['query', 'cities'],
  )
  assert.deepEqual(
    view.style!.map(({ id, type }) => [id, type]),
    [
      ['query', 'fill'],
      ['query edges', 'line'],
      ['cities', 'circle'],
      ['cities labels', 'symbol'],
    ],
  )
  assert.deepEqual(view.popup!.cities, ['name', 'people'])
}

test('a map is made from a table and a query, coloured by value, viewed, shared, changed and withdrawn', async (t) => {
  const { page, user, signInAt, context } = await openConsole(t, {
    drawsMaps: true,
    context: { viewport: { width: 1200, height: 900 } },
    expected: /404|403/,
  })
  await user.sql(cities)
  await signInAt('/maps')
  await page.getByText('No maps yet.').waitFor()
  await page.getByRole('link', { name: 'New map' }).click()
  await addLayers(page)
  await page.getByRole('button', { name: 'Make map' }).click()
  await page.getByRole('heading', { name: 'Share' }).waitFor()

  await assertTemplate(user)
  const link = await page.getByRole('region', { name: 'Link' }).innerText()
  const shown = await context.newPage()
  await shown.goto(link)
  await shown.getByRole('heading', { name: 'Cities of <Europe>' }).waitFor()
  await eventually(async () => assert.equal((await drawnOf(shown, 'cities')).length, 20))
  await shown.close()
  const tiles = await page.getByRole('region', { name: 'QGIS: Layer' }).innerText()
  assert.equal((await fetch(tiles.replace('{z}/{x}/{y}', '0/0/0'))).status, 200)
  const tileJson = await fetch(await page.getByRole('region', { name: 'TileJSON' }).innerText())
  assert.deepEqual(((await tileJson.json()) as { tiles: string[] }).tiles, [tiles])

  await page.reload()
  await page.getByLabel('Classes', { exact: true }).waitFor()
  assert.equal(await page.getByLabel('Radius').inputValue(), '9')
  await page.getByLabel('Who can open it').selectOption('token')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.toast', { hasText: 'Map saved' }).waitFor()
  assert.equal((await fetch(link)).status, 403)
  const whole = await page.getByRole('region', { name: 'Link' }).innerText()
  assert.equal((await fetch(whole)).status, 200)
  await page.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByLabel('Type cities to confirm').fill('cities')
  await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
  await page.getByText('No maps yet.').waitFor()
  assert.equal((await fetch(whole)).status, 404)
})

test('a map written by hand is listed, shared and withdrawn, and never rewritten', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  await user.sql(cities)
  const layergroup = { layers: [{ id: 'places', options: { sql: 'select * from cities' } }] }
  await makeMap(user, templateOf('by-hand', { style: [circles()] }, { layergroup }))
  await signInAt('/maps')
  await assertAccessibleEverywhere(page)
  await page.getByRole('link', { name: 'by-hand' }).click()
  await page.getByText('This map was not made on this page').waitFor()
  await page.getByRole('region', { name: 'MapLibre' }).getByText('/map/by-hand.json').waitFor()
  await assertAccessibleEverywhere(page)
})

test('the editor of a map works at every size and shows errors of a query', async (t) => {
  const { page, user, signInAt } = await openConsole(t, { drawsMaps: true, expected: /400/ })
  await user.sql(cities)
  await signInAt('/tables/public/cities')
  await page.getByRole('link', { name: 'Make a map' }).click()
  await eventually(async () => assert.equal((await drawnOf(page, 'cities')).length, 20))
  await page.getByLabel('Add a layer from').selectOption('query')
  await page.getByLabel('Query').fill('select nam from cities')
  await page.getByRole('button', { name: 'Add layer' }).click()
  await page.getByText('column "nam" does not exist').waitFor()
  await page.getByLabel('Query').fill('select name from cities')
  await page.getByRole('button', { name: 'Add layer' }).click()
  await page.getByText('These rows have no geometry.').waitFor()
  await assertAccessibleEverywhere(page)
})
