import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../../support/service/setup.ts'
import { browser } from '../support/browser.ts'
import { otherSite } from '../support/other-site.ts'

/** A page as a person would write it on another site. */
const pageWith = (
  tileJson: string,
) => `<!doctype html><div id="map" style="width: 400px; height: 400px"></div>
<script type="module">
  import * as maplibregl from '/maplibre-gl.mjs'
  maplibregl.setWorkerUrl(new URL('/maplibre-gl-worker.mjs', location.href).href)
  const map = new maplibregl.Map({
    container: 'map', center: [10, 50], zoom: 4, fadeDuration: 0, canvasContextAttributes: { preserveDrawingBuffer: true },
    style: { version: 8, sources: {}, layers: [] },
  })
  map.on('error', ({ error }) => { globalThis.failed = String(error) })
  map.on('load', () => {
    map.addSource('places', { type: 'vector', url: ${JSON.stringify(tileJson)} })
    map.addLayer({ id: 'dots', type: 'circle', source: 'places', 'source-layer': 'places', paint: { 'circle-color': '#ff0000', 'circle-radius': 8 } })
    map.once('idle', () => {
      const gl = map.getCanvas().getContext('webgl2')
      const pixels = new Uint8Array(gl.drawingBufferWidth * gl.drawingBufferHeight * 4)
      gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, pixels)
      let red = 0
      for (let at = 0; at < pixels.length; at += 4) if (pixels[at] === 255 && pixels[at + 1] === 0 && pixels[at + 3] === 255) red += 1
      globalThis.drawn = { red, names: map.queryRenderedFeatures({ layers: ['dots'] }).map((each) => each.properties.name).sort() }
    })
  })
</script>`

test('MapLibre on another site draws a table and a view of it from the address of its TileJSON alone', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (name text, the_geom geometry(Point, 4326)); select CDB_CartodbfyTable('t');
    insert into t (name, the_geom) values ('a', st_point(8, 50, 4326)), ('b', st_point(12, 51, 4326)), ('far', st_point(-100, 0, 4326));
    create schema shown; create view shown.places as select name, the_geom from t; create table places as select * from t`)
  for (const table of ['places', 'shown.places']) {
    const address = `${user.base}/api/v1/tiles/${table}?api_key=${user.masterToken}`
    const page = await (await browser(true)).newPage()
    t.after(() => page.close())
    await page.goto(await otherSite(t, pageWith(address)))
    const drawn = await page.waitForFunction('globalThis.drawn ?? globalThis.failed', undefined, {
      timeout: 60_000,
    })
    const shown = (await drawn.jsonValue()) as { red: number; names: string[] }
    assert.deepEqual(shown.names, ['a', 'b'], JSON.stringify(shown))
    assert.ok(shown.red > 100, `${shown.red} red pixels`)
  }
})
