import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import type { StyleDocument } from '../../../src/contract/documents.ts'
import { makeMap, templateOf } from '../../support/maps/named-api.ts'
import { eventually } from '../../support/service/setup.ts'
import { browser } from '../support/browser.ts'
import { colourAt, drawnOf } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'
import { otherSite } from '../support/other-site.ts'

const cities = `create table cities (name text, the_geom geometry(Point, 4326)); select CDB_CartodbfyTable('cities');
  insert into cities (name, the_geom) select 'City ' || n, st_point(n * 2, 45, 4326) from generate_series(1, 20) n`

const view = {
  style: [
    {
      id: 'dots',
      type: 'circle',
      source: 'cities',
      paint: { 'circle-color': '#ff0000', 'circle-radius': 12 },
    },
  ],
  center: { lng: 20, lat: 45 },
  zoom: 4,
}

/**
 * A map that needs a token with characters special in HTML, scripts and addresses, and what the console offers to
 * paste.
 */
async function sharedMap(t: TestContext) {
  const { page, user, signInAt } = await openConsole(t)
  await user.sql(cities)
  const layergroup = { layers: [{ id: 'cities', options: { sql: 'select * from cities' } }] }
  const auth = { method: 'token', valid_tokens: [`it's "a" <b>&amp; {z} secret`] }
  await makeMap(user, templateOf('cities', view, { layergroup, auth }))
  await signInAt('/maps/map/cities')
  const textOf = (label: string) => page.getByRole('region', { name: label }).innerText()
  return { user, textOf }
}

async function openElsewhere(t: TestContext, html: string): Promise<Page> {
  const page = await (await browser(true)).newPage({ viewport: { width: 800, height: 600 } })
  t.after(() => page.close())
  await page.goto(await otherSite(t, `<!doctype html><link rel="icon" href="data:">${html}`))
  return page
}

test('the frame offered by the console draws the map on a page of another site', async (t) => {
  const { textOf } = await sharedMap(t)
  const page = await openElsewhere(t, await textOf('Frame for a web page'))
  const frame = page.frames()[1] as unknown as Page
  await eventually(async () => assert.ok((await drawnOf(frame, 'dots')).length > 0), 60_000)
  assert.deepEqual((await colourAt(frame, 20, 45)).slice(0, 3), [255, 0, 0])
})

test('the line for MapLibre offered by the console draws the map on a page of another site', async (t) => {
  const { textOf } = await sharedMap(t)
  const line = await textOf('MapLibre')
  const page = await openElsewhere(
    t,
    `<div id="map" style="width: 600px; height: 400px"></div>
<script type="module">
  import * as maplibregl from '/maplibre-gl.mjs'
  maplibregl.setWorkerUrl(new URL('/maplibre-gl-worker.mjs', location.href).href)
  const map = ${line}
  map.on('error', ({ error }) => { globalThis.drawn = String(error) })
  map.once('idle', () => { globalThis.drawn = map.queryRenderedFeatures({ layers: ['dots'] }).length })
</script>`,
  )
  const drawn = await page.waitForFunction('globalThis.drawn', undefined, { timeout: 60_000 })
  const count = await drawn.jsonValue()
  assert.ok(Number(count) >= 10, String(count))
})

test('the addresses for QGIS offered by the console give tiles that GDAL reads, and a style with tiles', async (t) => {
  const { textOf } = await sharedMap(t)
  const template = await textOf('QGIS: Layer')
  // As QGIS fills it in.
  const address = (z: number, x: number, y: number) =>
    template.replace('{z}', String(z)).replace('{x}', String(x)).replace('{y}', String(y))
  const headers = { 'user-agent': 'Mozilla/5.0 QGIS/33410/Linux', 'accept-encoding': 'gzip, deflate' }
  const folder = await mkdtemp(join(tmpdir(), 'cartage-qgis-'))
  t.after(() => rm(folder, { recursive: true }))
  const tile = await fetch(address(0, 0, 0), { headers })
  assert.deepEqual([tile.status, tile.headers.get('content-type')], [200, 'application/x-protobuf'])
  const file = join(folder, 'tile.mvt')
  await writeFile(file, Buffer.from(await tile.arrayBuffer()))
  const { stdout } = await promisify(execFile)('ogrinfo', ['-so', '-al', '-oo', 'CLIP=NO', `MVT:${file}`])
  assert.match(stdout, /^Layer name: cities$/m)
  assert.match(stdout, /^Feature Count: 20$/m)
  const style = (await (await fetch(await textOf('QGIS: Style URL'), { headers })).json()) as StyleDocument
  assert.equal(style.version, 8)
  const { tiles } = style.sources.cities as { tiles: string[] }
  const filled = tiles[0]!.replace('{z}', '0').replace('{x}', '0').replace('{y}', '0')
  assert.equal((await fetch(filled, { headers })).status, 200)
})
