import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { makeMap, places, templateOf } from '../../support/maps/named-api.ts'
import { eventually } from '../../support/service/setup.ts'
import { drawnOf, onMap } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'

const named = async (page: Page, layer: string) =>
  (await drawnOf(page, layer)).map(({ properties }) => properties.name as string)

test('without the internet a map has names of countries, cities, lakes and rivers in both themes', async (t) => {
  const { page, user, signInAt } = await openConsole(t, { drawsMaps: true })
  await signInAt('/sql')
  await run(
    page,
    `select st_setsrid(st_point(x, y), 4326) as the_geom, st_makeenvelope(x, y, x + 1, y + 1, 4326) as area
     from (values (-5, 36), (30, 60)) v (x, y)`,
  )
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText('2 shapes').waitFor()
  await onMap(page, (map) => map.jumpTo({ center: [15, 50], zoom: 3.2 }))
  await eventually(async () => {
    const countries = await named(page, 'basemap:countries')
    for (const name of ['France', 'Poland', 'Ukraine'])
      assert.ok(countries.includes(name), `${name}: ${countries}`)
    assert.ok((await named(page, 'basemap:cities')).includes('Paris'))
  }, 30_000)
  await page.getByText('Natural Earth · GeoNames').waitFor()
  const order = await onMap(page, (map) =>
    (map as unknown as { getLayersOrder: () => string[] }).getLayersOrder(),
  )
  const [lakes, areas, names, points] = [
    'basemap:lakes',
    'shape-areas',
    'basemap:cities',
    'shape-points',
  ].map((id) => order.indexOf(id)) as [number, number, number, number]
  assert.ok(lakes < areas && areas < names && names < points, order.join())
  await page.emulateMedia({ colorScheme: 'dark' })
  await eventually(async () => assert.ok((await named(page, 'basemap:countries')).includes('France')))
  await onMap(page, (map) => map.jumpTo({ center: [5.5, 47.2], zoom: 7 }))
  await eventually(async () => {
    const cities = await named(page, 'basemap:cities')
    assert.ok(cities.includes('Dijon') && cities.includes('Besançon'), cities.join())
  })

  await user.sql(places)
  await makeMap(user, templateOf('one', { center: { lng: 30, lat: 0 }, zoom: 4 }))
  await page.emulateMedia({ colorScheme: 'light' })
  await page.goto(`${user.base}/map/one`)
  await eventually(async () => {
    assert.ok((await named(page, 'basemap:countries')).includes('Uganda'))
    assert.ok((await named(page, 'basemap:cities')).includes('Nairobi'))
    assert.ok((await drawnOf(page, 'basemap:lakes')).length > 0)
  }, 30_000)
  await page.getByText('GeoNames').waitFor()
})
