import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { browser } from '../console/support/browser.ts'
import { openConsole } from '../console/support/open-console.ts'
import { provideConsole } from '../console/support/provide-console.ts'
import { type NpmClient, unpackClient } from '../support/clients/npm-client.ts'
import { otherSite } from '../support/clients/other-site.ts'
import { makeMap, templateOf } from '../support/maps/named-api.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

// Before a service starts: it serves the files it finds at that moment.
before(provideConsole)

/** The clients as a page loads them. */
const packages = {
  'mapbox-gl': ['mapbox-gl', '1.13.3'],
  'carto-vl': ['@carto/carto-vl', '1.4.6'],
  'deck.gl': ['deck.gl', '8.9.36'],
  'deck.gl-carto': ['@deck.gl/carto', '8.9.36'],
  // deck.gl loads the worker that reads tiles from here.
  'loaders.gl-mvt': ['@loaders.gl/mvt', '3.4.13'],
} as const
type Client = keyof typeof packages
const clients = new Map<Client, NpmClient>()

/** Unpacks what is missing. Returns why a client is not available. */
async function missingOf(...names: Client[]): Promise<string | undefined> {
  for (const name of names) {
    const [id, version] = packages[name]
    const known = clients.get(name) ?? (await unpackClient(id, version))
    clients.set(name, known)
    if (known.missing !== undefined) return `NOT RUN: ${name}: ${known.missing}`
  }
  return undefined
}

/** The points are in the west, the line in the middle, the area in the east. */
const shapes = `
  create table points (name text, n int, day timestamptz, the_geom geometry(Point, 4326)); select CDB_CartodbfyTable('points');
  insert into points (name, n, day, the_geom) select case when n % 2 = 0 then 'even' else 'odd' end, n, timestamptz '2024-01-01Z' + n * interval '40 days',
    st_point(-20 + n, 40 + n, 4326) from generate_series(1, 10) n;
  create table lines (name text, n int, the_geom geometry(MultiLineString, 4326)); select CDB_CartodbfyTable('lines');
  insert into lines (name, n, the_geom) values ('line', 1, 'SRID=4326;MULTILINESTRING((-20 30, 20 60))');
  create table areas (name text, n int, the_geom geometry(MultiPolygon, 4326)); select CDB_CartodbfyTable('areas');
  insert into areas (name, n, the_geom) values ('area', 1, 'SRID=4326;MULTIPOLYGON(((-10 30, 10 30, 10 55, -10 55, -10 30)))')`

test('CARTO VL 1.4.6 draws tables and queries', { timeout: 300_000 }, async (t) => {
  const missing = await missingOf('carto-vl', 'mapbox-gl')
  if (missing) return t.skip(missing)
  const { user } = await setup(t)
  await user.sql(shapes)
  const sources = {
    points: [`new carto.source.Dataset('points')`, 'color: red width: 20 strokeWidth: 0'],
    lines: [`new carto.source.Dataset('lines')`, 'color: red width: 8'],
    areas: [`new carto.source.Dataset('areas')`, 'color: red strokeWidth: 0'],
    query: [`new carto.source.SQL('select * from points where n > 3')`, 'color: red width: 20'],
    'a ramp over numbers': [
      `new carto.source.Dataset('points')`,
      'color: ramp($n, [red, rgb(255, 0, 0)]) width: 20',
    ],
    'a ramp over categories': [
      `new carto.source.Dataset('points')`,
      `color: ramp(buckets($name, ['even', 'odd']), [red, red]) width: 20`,
    ],
    'the top categories': [
      `new carto.source.Dataset('points')`,
      'color: ramp(top($name, 2), [red, red]) width: 20',
    ],
    'a filter': [
      `new carto.source.Dataset('points')`,
      'color: red width: 20 filter: $n > 5 and $name in ["even"]',
    ],
    clusters: [
      `new carto.source.Dataset('points')`,
      'color: ramp(clusterAvg($n), [red, red]) width: 10 + clusterCount() resolution: 16',
    ],
    dates: [
      `new carto.source.Dataset('points')`,
      'color: ramp(linear($day, globalMin($day), globalMax($day)), [red, red]) width: 20',
    ],
    'clusters of months': [
      `new carto.source.Dataset('points')`,
      `@month: clusterTime($day, 'month', 'Europe/Madrid') color: red width: 20 resolution: 8`,
    ],
    'a day of the week': [
      `new carto.source.Dataset('points')`,
      `color: ramp(linear(clusterTime($day, 'dayOfWeek')), [red, red]) width: 20 resolution: 8`,
    ],
  }
  for (const [name, [source, viz]] of Object.entries(sources)) {
    const red = await draw(t, vlPage(user, source!, viz!))
    assert.ok(Number(red) > 100, `${name}: ${red}`)
  }
})

test('CartoLayer of deck.gl 8.9 draws queries by v1 and v2', { timeout: 300_000 }, async (t) => {
  const missing = await missingOf('deck.gl', 'deck.gl-carto', 'loaders.gl-mvt')
  if (missing) return t.skip(missing)
  const { user } = await setup(t)
  await user.sql(shapes)
  for (const version of ['V1', 'V2'])
    for (const table of ['points', 'lines', 'areas']) {
      const red = await draw(t, deckPage(user, version, `select * from ${table}`))
      assert.ok(Number(red) > 100, `${version} ${table}: ${red}`)
    }
  const failed = await draw(t, deckPage(user, 'V2', 'select * from missing'))
  assert.match(String(failed), /relation "missing" does not exist/)
})

test('CARTO VL and deck.gl draw public tables without a key, and get the reason for others', {
  timeout: 300_000,
}, async (t) => {
  const missing = await missingOf(...(Object.keys(packages) as Client[]))
  if (missing) return t.skip(missing)
  const { user } = await setup(t)
  await user.sql(`${shapes}; grant select on areas to public`)
  const anyone = { ...user, masterToken: 'default_public' }
  const vl = (table: string) =>
    draw(t, vlPage(anyone, `new carto.source.Dataset('${table}')`, 'color: red strokeWidth: 0'))
  assert.ok(Number(await vl('areas')) > 100)
  assert.match(String(await vl('points')), /Unauthorized access to dataset/)
  for (const version of ['V1', 'V2']) {
    assert.ok(Number(await draw(t, deckPage(anyone, version, 'select * from areas'))) > 100)
    const refused = await draw(t, deckPage(anyone, version, 'select * from points'))
    assert.match(String(refused), /Unauthorized access to dataset/)
  }
})

test('deck.gl 8.9 draws the layer whose text the console offers for a map', {
  timeout: 300_000,
}, async (t) => {
  const missing = await missingOf('deck.gl', 'loaders.gl-mvt')
  if (missing) return t.skip(missing)
  const { page, user, signInAt } = await openConsole(t)
  await user.sql(shapes)
  const auth = { method: 'token', valid_tokens: ["it's a secret"] }
  const layers = ['points', 'areas'].map((id) => ({ id, options: { sql: `select * from ${id}` } }))
  await makeMap(user, templateOf('all', undefined, { layergroup: { layers }, auth }))
  await signInAt('/maps/map/all')
  const text = await page.getByRole('region', { name: 'deck.gl' }).innerText()
  assert.match(text, /^new deck\.MVTLayer\(/)
  const drawn = await draw(t, pastedDeckPage(text))
  assert.ok(Number(drawn) > 100, String(drawn))
})

const pastedDeckPage = (layer: string) => `
<script src="/deck.gl/dist.min.js"></script>
${drawing}
<script>
  globalThis.colour = [11, 110, 110]
  const layer = ${layer}
  const map = new deck.DeckGL({
    container: 'map', initialViewState: { longitude: 0, latitude: 45, zoom: 2 }, layers: [layer], onError: failed,
    glOptions: { preserveDrawingBuffer: true }, parameters: { blend: false },
    onAfterRender: () => { if (layer.isLoaded) count(() => document.querySelector('canvas')) },
  })
</script>`

type Viewer = Pick<TestUser, 'username' | 'masterToken' | 'base'>

const vlPage = (user: Viewer, source: string, viz: string) => `
<link rel="stylesheet" href="/mapbox-gl/dist/mapbox-gl.css">
<script src="/mapbox-gl/dist/mapbox-gl.js"></script><script src="/carto-vl/dist/carto-vl.min.js"></script>
${drawing}
<script>
  const map = new mapboxgl.Map({
    container: 'map', center: [0, 45], zoom: 2, preserveDrawingBuffer: true, style: { version: 8, sources: {}, layers: [] },
  })
  carto.setDefaultAuth({ username: '${user.username}', apiKey: '${user.masterToken}' })
  carto.setDefaultConfig({ serverURL: '${user.base.replace(user.username, '{user}')}' })
  const layer = new carto.Layer('layer', ${source}, new carto.Viz(\`${viz}\`))
  layer.on('loaded', () => count(() => map.getCanvas()))
  layer.addTo(map)
</script>`

const deckPage = (user: Viewer, version: string, sql: string) => `
<script src="/deck.gl/dist.min.js"></script><script src="/deck.gl-carto/dist.min.js"></script>
${drawing}
<script>
  const { API_VERSIONS, CartoLayer, MAP_TYPES, setDefaultCredentials } = deck.carto
  setDefaultCredentials({
    apiVersion: API_VERSIONS.${version}, username: '${user.username}', apiKey: '${user.masterToken}',
    mapsUrl: '${user.base.replace(user.username, '{user}')}${version === 'V1' ? '/api/v1/map' : ''}',
  })
  const layer = new CartoLayer({
    id: 'layer', type: MAP_TYPES.QUERY, data: \`${sql}\`, getFillColor: [255, 0, 0], getLineColor: [255, 0, 0],
    pointRadiusMinPixels: 8, lineWidthMinPixels: 6, onDataError: failed,
  })
  const map = new deck.DeckGL({
    container: 'map', initialViewState: { longitude: 0, latitude: 45, zoom: 2 }, layers: [layer], onError: failed,
    glOptions: { preserveDrawingBuffer: true }, parameters: { blend: false },
    onAfterRender: () => { if (layer.isLoaded) count(() => document.querySelector('canvas')) },
  })
</script>`

/** Counts pixels of a colour, red by default, until some are drawn. */
const drawing = `
<div id="map" style="position: relative; width: 400px; height: 400px"></div>
<script>
  const failed = (error) => { globalThis.answer ??= String(error && error.message || error) }
  addEventListener('error', (event) => failed(event.error ?? event.message))
  addEventListener('unhandledrejection', (event) => failed(event.reason))
  let begun = false
  function count(canvas) {
    if (begun) return
    begun = true
    const look = () => {
      const gl = canvas().getContext('webgl2') ?? canvas().getContext('webgl')
      const pixels = new Uint8Array(gl.drawingBufferWidth * gl.drawingBufferHeight * 4)
      gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, pixels)
      const wanted = globalThis.colour ?? [255, 0, 0]
      let found = 0
      for (let at = 0; at < pixels.length; at += 4) if (wanted.every((part, n) => Math.abs(pixels[at + n] - part) < 50)) found += 1
      if (found > 100) globalThis.answer ??= found
      else setTimeout(look, 100)
    }
    look()
  }
</script>`

/** The number of pixels, or an error. */
async function draw(t: TestContext, html: string): Promise<number | string> {
  const page = await (await browser(true)).newPage({ viewport: { width: 420, height: 420 } })
  const told: string[] = []
  page.on('console', (message) => told.push(message.text()))
  await page.route(/^https:/, (route) => {
    const address = route.request().url()
    if (address.endsWith('/dist/mvt-worker.js'))
      return route.fulfill({ path: join(clients.get('loaders.gl-mvt')!.folder!, 'dist/mvt-worker.js') })
    // The symbols of CARTO VL.
    if (address.endsWith('.svg')) return route.fulfill({ contentType: 'image/svg+xml', body: symbol })
    told.push(`${address} was not served`)
    return route.abort()
  })
  try {
    await page.goto(await otherSite(t, html, (name) => clients.get(name as Client)?.folder))
    const answer = await page.waitForFunction('globalThis.answer', undefined, { timeout: 30_000 })
    return (await answer.jsonValue()) as number | string
  } catch (error) {
    return assert.fail(`${error}\n${told.join('\n')}`)
  } finally {
    await page.close()
  }
}

const symbol =
  '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>'
