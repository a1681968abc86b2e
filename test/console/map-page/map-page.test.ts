import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { NamedMapView } from '../../../src/contract/documents.ts'
import { makeMap, templateOf } from '../../support/maps/named-api.ts'
import { eventually, setup, type TestUser } from '../../support/service/setup.ts'
import { askMaps } from '../../support/tiles/tile-api.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { browser } from '../support/browser.ts'
import { colourAt, drawnOf, onMap } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'
import { otherSite } from '../support/other-site.ts'
import { provideConsole } from '../support/provide-console.ts'

before(provideConsole)

const tables = `create table cities (name text, people int, the_geom geometry(Point, 4326)); select CDB_CartodbfyTable('cities');
  insert into cities (name, people, the_geom) values ('Paris', 2100000, st_point(2.35, 48.86, 4326)), ('<b>Rome</b>', 2800000, st_point(12.5, 41.9, 4326));`

const view: NamedMapView = {
  title: 'Cities of <Europe>',
  description: 'The largest ones',
  style: [
    {
      id: 'dots',
      type: 'circle',
      source: 'cities',
      paint: { 'circle-color': '#ff0000', 'circle-radius': 12 },
    },
  ],
  popup: { cities: ['name', 'people', 'nothing'] },
  legend: [{ title: 'Cities', items: [{ label: 'a city', color: '#ff0000', shape: 'point' }] }],
  center: { lng: 8, lat: 46 },
  zoom: 4,
}

const layergroup = {
  layers: [{ id: 'cities', options: { sql: 'select * from cities', attribution: 'Us & them' } }],
}

const pageOf = (user: TestUser, name: string) => `${user.base}/map/${name}`

test('a person without an account sees the map, its title, legend, scale, attribution and popups', async (t) => {
  const { page, user } = await openConsole(t, { drawsMaps: true })
  await user.sql(tables)
  await makeMap(user, templateOf('cities', view, { layergroup }))
  await page.goto(pageOf(user, 'cities'))
  assert.equal(await page.title(), 'Cities of <Europe>')
  await page.getByRole('heading', { name: 'Cities of <Europe>' }).waitFor()
  await page.getByText('The largest ones').waitFor()
  await page.getByRole('list', { name: 'Cities' }).getByText('a city').waitFor()
  await page.getByText('Natural Earth · GeoNames · Us & them').waitFor()
  await page.locator('.maplibregl-ctrl-scale').waitFor()
  await page.getByRole('button', { name: 'Enter fullscreen' }).waitFor()
  await eventually(async () => assert.equal((await drawnOf(page, 'dots')).length, 2))
  assert.deepEqual((await colourAt(page, 2.35, 48.86)).slice(0, 3), [255, 0, 0])
  assert.notDeepEqual(await colourAt(page, -20, 46), await colourAt(page, 2.35, 46.5), 'land and water')
  const place = await onMap(page, (map) => map.project([12.5, 41.9]))
  await page.mouse.click(place.x, place.y)
  const popup = page.locator('.maplibregl-popup')
  await popup.getByText('<b>Rome</b>').waitFor()
  assert.equal(await popup.innerText(), 'name\n<b>Rome</b>\npeople\n2,800,000\nnothing\n–\n×')
  await page.keyboard.press('Escape')
  await popup.waitFor({ state: 'detached' })
})

test('the page of a map can be used with the keyboard alone, and on a phone', async (t) => {
  const { page, user } = await openConsole(t, {
    drawsMaps: true,
    context: { viewport: { width: 360, height: 640 } },
  })
  await user.sql(tables)
  await makeMap(user, templateOf('cities', { ...view, center: { lng: 2.35, lat: 48.86 } }, { layergroup }))
  await page.goto(pageOf(user, 'cities'))
  await eventually(async () => assert.ok((await drawnOf(page, 'dots')).length > 0))
  assert.equal(await page.getByText('The largest ones').isVisible(), false, 'the map is not covered')
  await page.getByText('Cities of').click()
  await page.getByText('The largest ones').waitFor()
  await page.locator('canvas').focus()
  await page.keyboard.press('Enter')
  await page.locator('.maplibregl-popup').getByText('Paris').waitFor()
  await page.keyboard.press('Escape')
  await eventually(async () =>
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'CANVAS'),
  )
  assert.ok(
    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    'nothing is wider than the screen',
  )
  await assertAccessibleEverywhere(page)
})

test('what is drawn has its popup while other parts of the map are loading', async (t) => {
  const { page, user } = await openConsole(t, { drawsMaps: true })
  await user.sql(tables)
  await makeMap(user, templateOf('cities', { ...view, center: { lng: 2.35, lat: 48.86 } }, { layergroup }))
  let held = 0
  await page.route(/assets\/[^/]*countries[^/]*json/, () => {
    held++
  })
  await page.goto(pageOf(user, 'cities'))
  await eventually(async () => assert.ok((await drawnOf(page, 'dots')).length > 0))
  assert.ok(held > 0, 'a part of the map is loading')
  await page.locator('canvas').click()
  await page.locator('.maplibregl-popup').getByText('Paris').waitFor()
})

test('the page draws the map without the internet: it sends requests only to its own server', async (t) => {
  const basemap = 'https://tiles.example/{z}/{x}/{y}.png'
  const { url, user } = await setup(t, { config: { mapBasemaps: [{ address: basemap, attribution: '' }] } })
  await user.sql(tables)
  const names = { id: 'names', type: 'symbol', source: 'cities', layout: { 'text-field': ['get', 'name'] } }
  const style = [...view.style!, names]
  await makeMap(user, templateOf('cities', { ...view, style }, { layergroup }))
  await makeMap(user, templateOf('tiled', { ...view, basemap }, { layergroup }))
  const context = await (await browser(true)).newContext({ viewport: { width: 800, height: 600 } })
  t.after(() => context.close())
  const beyond: string[] = []
  await context.route(
    ({ protocol, origin }) => /^https?:$/.test(protocol) && origin !== new URL(url).origin,
    (route) => {
      beyond.push(route.request().url())
      return route.abort('internetdisconnected')
    },
  )
  const page = await context.newPage()
  await page.goto(pageOf(user, 'cities'))
  await eventually(async () => assert.equal((await drawnOf(page, 'names')).length, 2), 60_000)
  await eventually(async () =>
    assert.deepEqual((await colourAt(page, 2.35, 48.86)).slice(0, 3), [255, 0, 0], 'a city'),
  )
  assert.notDeepEqual(await colourAt(page, -20, 46), await colourAt(page, 2.35, 46.5), 'land and water')
  assert.deepEqual(beyond, [])
  // The same check sees what another map requests from other servers.
  await page.goto(pageOf(user, 'tiled'))
  await eventually(async () => assert.match(beyond.join(), /^https:\/\/tiles\.example\/\d/))
})

/** A page as a person would write it. */
const ownPage = (style: string) => `<!doctype html><div id="map" style="width: 400px; height: 400px"></div>
<script type="module">
  import * as maplibregl from '/maplibre-gl.mjs'
  maplibregl.setWorkerUrl(new URL('/maplibre-gl-worker.mjs', location.href).href)
  const map = new maplibregl.Map({ container: 'map', style: ${JSON.stringify(style)} })
  map.on('error', ({ error }) => { globalThis.drawn = String(error) })
  map.once('idle', () => { globalThis.drawn = ['dots', 'basemap:land'].map((id) => map.queryRenderedFeatures({ layers: [id] }).length) })
</script>`

test('MapLibre on a page of another origin draws the map from the address of its style alone', async (t) => {
  const { user } = await setup(t)
  await user.sql(tables)
  await makeMap(user, templateOf('cities', view, { layergroup }))
  const page = await (await browser(true)).newPage()
  t.after(() => page.close())
  await page.goto(await otherSite(t, ownPage(`${pageOf(user, 'cities')}.json`)))
  const drawn = await page.waitForFunction('globalThis.drawn', undefined, { timeout: 60_000 })
  const [dots, countries] = (await drawn.jsonValue()) as [number, number]
  assert.equal(dots, 2)
  assert.ok(countries > 5, `${countries} countries`)
})

test('another site can show the page in a frame, and its policy is otherwise that of the console', async (t) => {
  const basemap = 'https://tiles.example/{z}/{x}/{y}.png'
  const { url, user } = await setup(t, { config: { mapBasemaps: [{ address: basemap, attribution: '' }] } })
  await user.sql(tables)
  await makeMap(user, templateOf('cities', view, { layergroup }))
  const [page, console_] = await Promise.all([fetch(pageOf(user, 'cities')), fetch(`${url}/console/`)])
  const policy = (answer: Response) => answer.headers.get('content-security-policy')!.split('; ')
  assert.deepEqual(
    policy(console_).filter((rule) => rule !== "frame-ancestors 'none'"),
    policy(page),
  )
  assert.equal(page.headers.get('x-frame-options'), null)
  await makeMap(user, templateOf('tiled', { ...view, basemap }, { layergroup }))
  const tiled = policy(await fetch(pageOf(user, 'tiled')))
  assert.ok(tiled.includes("connect-src 'self' https://tiles.example"), tiled.join())
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
})

test('a private, unknown or deleted map is a small page that reveals nothing of it', async (t) => {
  const { user } = await setup(t)
  await user.sql(tables)
  const auth = { method: 'token', valid_tokens: ['letmein'] }
  await makeMap(user, templateOf('cities', view, { layergroup, auth }))
  const read = async (path: string) => {
    const answer = await fetch(`${user.base}${path}`)
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    return [answer.status, await answer.text()] as const
  }
  for (const [path, status, sentence] of [
    ['/map/cities', 403, 'This map is not open to everyone: its address needs a token.'],
    ['/map/cities?auth_token=no', 403, 'This map is not open to everyone: its address needs a token.'],
    ['/map/none', 404, 'This map does not exist, or was deleted.'],
    ['/map/cities?api_key=wrong', 401, 'The key in this address is not valid.'],
  ] as const) {
    const [found, html] = await read(path)
    assert.deepEqual([found, html.includes(sentence)], [status, true], html)
    assert.ok(!/Europe|select|letmein|cities<|Master/.test(html), html)
  }
  const [status, html] = await read('/map/cities?auth_token=letmein')
  assert.equal(status, 200)
  assert.match(html, /<title>Cities of &#60;Europe&#62;<\/title>/)
  assert.ok(!/select|the_geom|Master/.test(html), html)
  await askMaps(user, '/api/v1/map/named/cities', { method: 'DELETE' })
  assert.equal((await read('/map/cities?auth_token=letmein'))[0], 404)
})

test('a map page that is open beside the console never has its token, and stays open when the person signs out', async (t) => {
  const { page, context, user, url, signIn } = await openConsole(t, { drawsMaps: true })
  await user.sql(tables)
  await makeMap(user, templateOf('cities', view, { layergroup }))
  const shown = await context.newPage()
  await shown.goto(pageOf(user, 'cities'))
  await shown.getByRole('heading', { name: 'Cities of <Europe>' }).waitFor()
  await signIn()
  const beside = await context.newPage()
  await beside.goto(`${url}/console/`)
  await beside.getByRole('navigation', { name: 'Pages' }).waitFor()
  await shown.evaluate(() => document.body.setAttribute('data-stays', 'yes'))
  assert.equal(await shown.evaluate(() => sessionStorage.getItem('cartage.session')), null)
  await page.getByRole('button', { name: user.username }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await beside.getByLabel('API key').waitFor()
  assert.equal(await shown.evaluate(() => document.body.getAttribute('data-stays')), 'yes')
})

test('the page draws the map at any address of the service, not only the public one', async (t) => {
  const config = { publicUrl: 'https://maps.example' }
  const { page, user } = await openConsole(t, { drawsMaps: true, setup: { config } })
  await user.sql(tables)
  await makeMap(user, templateOf('cities', view, { layergroup }))
  for (const address of [pageOf(user, 'cities'), pageOf(user, 'cities').replace('/user/', '/u/')]) {
    await page.goto(address)
    await eventually(async () => assert.equal((await drawnOf(page, 'dots')).length, 2))
    await eventually(async () => assert.ok((await drawnOf(page, 'basemap:land')).length > 0))
  }
})

test('the page and the map have the theme chosen in the console', async (t) => {
  const { page, user, url } = await openConsole(t, { drawsMaps: true, context: { colorScheme: 'light' } })
  await user.sql(tables)
  await makeMap(user, templateOf('cities', view, { layergroup }))
  await page.goto(`${url}/health`)
  await page.evaluate(() => localStorage.setItem('cartage.theme', 'dark'))
  await page.goto(pageOf(user, 'cities'))
  await eventually(async () => assert.deepEqual((await colourAt(page, 6, 41)).slice(0, 3), [16, 22, 29]))
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const brightness = paper.match(/\d+/g)!.slice(0, 3).map(Number)
  assert.ok(Math.max(...brightness) < 80, paper)
})
