import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { makeMap, places, templateOf } from '../../support/maps/named-api.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessible } from '../support/axe.ts'
import { colourAt, drawnOf, onMap } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'
import { landColours, rasterColour, type StyleSite, styleSite } from '../support/style-site.ts'

const layersOf = (page: Page) =>
  onMap(page, (map) => (map as unknown as { getLayersOrder: () => string[] }).getLayersOrder())

const colourIs = (page: Page, at: readonly [number, number], colour: readonly number[]) =>
  eventually(async () => assert.deepEqual((await colourAt(page, ...at)).slice(0, 3), colour), 60_000)

const open = (t: Parameters<typeof openConsole>[0], { light, dark, origin }: StyleSite) =>
  openConsole(t, {
    drawsMaps: true,
    context: { colorScheme: 'light' },
    setup: { config: { mapStyle: { light, dark }, mapStyleOrigins: [origin] } },
    expected: /^request to another origin: http:\/\/127\.0\.0\.1:/,
  })

const nothingOfOurs = (layers: readonly string[]) =>
  assert.deepEqual(
    layers.filter((id) => /^basemap:(?!style:|background)/.test(id)),
    [],
  )

test("maps of results and the pages of named maps draw the operator's style below the data, in both themes", async (t) => {
  const site = await styleSite(t)
  const { page, user, signInAt } = await open(t, site)
  await signInAt('/sql')
  await run(page, 'select st_setsrid(st_point(x, 20), 4326) as the_geom from (values (-20), (100)) v (x)')
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText('2 shapes').waitFor()
  await colourIs(page, [-5, 10], landColours.light)
  await colourIs(page, [80, 10], rasterColour)
  assert.notDeepEqual((await colourAt(page, 100, 20)).slice(0, 3), rasterColour, 'the data are above')
  const layers = await layersOf(page)
  nothingOfOurs(layers)
  assert.ok(layers.indexOf('basemap:style:names') < layers.indexOf('shape-areas'), layers.join())
  const credit = page.locator('.map-credit')
  await credit.getByRole('link', { name: 'Them & Us' }).waitFor()
  assert.equal(await credit.innerText(), '© Them & Usno()')
  for (const part of [/^\/sprite.*png$/, /^\/fonts\/Their Font\//])
    await eventually(async () =>
      assert.ok(
        site.asked.some((path) => part.test(path)),
        String(part),
      ),
    )
  await assertAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await colourIs(page, [-5, 10], landColours.dark)
  nothingOfOurs(await layersOf(page))

  await user.sql(places)
  await makeMap(user, templateOf('one', { center: { lng: 30, lat: 0 }, zoom: 3 }))
  await page.emulateMedia({ colorScheme: 'light' })
  await page.goto(`${user.base}/map/one`)
  await colourIs(page, [20, 10], landColours.light)
  nothingOfOurs(await layersOf(page))
  await page.getByRole('link', { name: 'Them & Us' }).waitFor()
  // One layer of the style is invalid and left out.
  assert.equal(await page.getByText('cannot be loaded').count(), 0)
  await page.emulateMedia({ colorScheme: 'dark' })
  await colourIs(page, [20, 10], landColours.dark)
  await makeMap(user, templateOf('bare', { basemap: 'none', center: { lng: 30, lat: 0 }, zoom: 3 }))
  await page.goto(`${user.base}/map/bare`)
  await eventually(async () => assert.ok((await layersOf(page)).length > 1))
  assert.equal((await layersOf(page)).filter((id) => id.startsWith('basemap:style:')).length, 0)
})

test('pages and workers of maps may read only from the origins of the style', async (t) => {
  const site = await styleSite(t)
  const { url, user } = await open(t, site)
  await user.sql(places)
  await makeMap(user, templateOf('one', { center: { lng: 30, lat: 0 }, zoom: 3 }))
  await makeMap(user, templateOf('bare', { basemap: 'none', center: { lng: 30, lat: 0 }, zoom: 3 }))
  const policyOf = async (address: string) =>
    (await fetch(address)).headers.get('content-security-policy')!.split('; ')
  const named = `'self' ${new URL(site.light).origin} ${site.origin}`
  for (const address of [`${url}/console/`, `${user.base}/map/one`])
    assert.ok((await policyOf(address)).includes(`connect-src ${named}`), address)
  assert.ok((await policyOf(`${user.base}/map/bare`)).includes("connect-src 'self'"))
  const asset = /\/console\/assets\/[\w-]+\.js/.exec(await (await fetch(`${url}/console/`)).text())![0]
  assert.ok((await policyOf(url + asset)).includes("connect-src 'self'"))
  const kept = async (origins: string) =>
    (await fetch(`${url}${asset}?${new URLSearchParams({ origins })}`)).headers.get('cache-control')
  assert.match((await kept(named.slice("'self' ".length)))!, /immutable/)
  assert.equal(
    await kept('https://other.example'),
    'no-store',
    'the style of a process that was restarted before',
  )
})

test("the map draws countries, and says so, if the operator's style or its tiles cannot be loaded", async (t) => {
  const site = await styleSite(t)
  const { page, user, signInAt } = await open(t, site)
  const note = page.getByText('The basemap of this service cannot be loaded. Countries are drawn instead.')
  const isOurs = () =>
    eventually(async () => {
      assert.ok((await drawnOf(page, 'basemap:land')).length > 0)
      assert.ok((await drawnOf(page, 'basemap:countries')).length > 0)
    }, 60_000)
  site.failing.add('styles')
  await signInAt('/sql')
  await run(page, 'select st_setsrid(st_makeenvelope(-20, 0, 60, 50), 4326) as the_geom')
  await page.getByRole('tab', { name: 'Map' }).click()
  await note.waitFor()
  await page.getByText('Natural Earth · GeoNames').waitFor()
  await isOurs()
  await assertAccessible(page)
  // The dark style exists, but nothing that it draws.
  site.failing.delete('styles')
  site.failing.add('tiles')
  await page.emulateMedia({ colorScheme: 'dark' })
  await eventually(() => assert.ok(site.asked.includes('/dark.json')))
  await note.waitFor()
  await isOurs()
  assert.equal((await layersOf(page)).filter((id) => id.startsWith('basemap:style:')).length, 0)

  await user.sql(places)
  await makeMap(user, templateOf('one', { center: { lng: 30, lat: 0 }, zoom: 3 }))
  await page.goto(`${user.base}/map/one`)
  await note.waitFor()
  await page.getByText('Natural Earth · GeoNames').waitFor()
  await isOurs()
})
