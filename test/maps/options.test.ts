import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layerOf, mapOf, mapTile } from '../support/maps/map-api.ts'
import { setup } from '../support/service/setup.ts'

const twoPoints = `select n as cartodb_id, st_setsrid(st_makepoint(x, y), 3857) as the_geom_webmercator
  from (values (1, 1e6, 1e6), (2, 3e6, 5e6)) p (n, x, y)`

test('the point of a cell is its centre, the average of its points, or one of its points', async (t) => {
  const { user } = await setup(t)
  const inTile = (x: number, y: number) => {
    const cells = 4096 / (2 * Math.PI * 6378137)
    return [2048 + x * cells, 2048 - y * cells].map(Math.round)
  }
  const quarter = 0.25 * 2 * Math.PI * 6378137
  for (const [placement, places] of [
    ['point-grid', [inTile(quarter / 2, quarter / 2)]],
    ['centroid', [inTile(2e6, 3e6)]],
    ['point-sample', [inTile(1e6, 1e6), inTile(3e6, 5e6)]],
  ] as const) {
    const aggregation = { threshold: 1, resolution: 64, placement }
    const map = await mapOf(user, layerOf(twoPoints, { aggregation }))
    const { layers } = await mapTile(user, map, '/0/0/0.mvt')
    const [{ geometry, properties }, ...others] = layers.layer0! as [(typeof layers)['layer0'][0]]
    assert.deepEqual([others.length, properties._cdb_feature_count], [0, 2])
    const { x, y } = geometry[0]![0]!
    const distance = Math.min(...places.map(([left, top]) => Math.hypot(x - left!, y - top!)))
    assert.ok(distance < 2, `${placement}: ${x} ${y} instead of ${JSON.stringify(places)}`)
  }
})

test('options of raster maps and unknown ones are ignored: the map has vector tiles', async (t) => {
  const { user } = await setup(t)
  const raster = {
    cartocss: '#layer { marker-width: 7; broken',
    cartocss_version: '2.3.0',
    interactivity: ['nothing'],
    affected_tables: ['nothing'],
    layer_name: 'x',
    unheard_of: { of: ['anything'] },
  }
  for (const version of ['1.0.0', '1.8.0']) {
    const config = { ...layerOf(twoPoints, raster), version, stat_tag: 'x', unheard_of: 1 }
    const map = await mapOf(user, config)
    assert.match(JSON.stringify(map.metadata.url), /\{y\}\.mvt/)
    const { layers } = await mapTile(user, map, '/0/0/0.mvt')
    assert.equal(layers.layer0!.length, 2)
  }
})

test('a layer of type plain or http is listed and has no tiles, beside layers that have them or alone', async (t) => {
  const { user } = await setup(t)
  const plain = { type: 'plain', options: { color: 'blue' } }
  const http = { type: 'http', options: { urlTemplate: 'https://x.example/{z}/{x}/{y}.png' } }
  const map = await mapOf(user, { layers: [plain, { options: { sql: twoPoints } }, http] })
  const [first, second, third] = map.metadata.layers
  assert.deepEqual(first, { type: 'plain', id: 'plain-layer0', meta: {} })
  assert.deepEqual(third, { type: 'http', id: 'http-layer0', meta: {} })
  assert.deepEqual([second!.type, second!.id], ['mapnik', 'layer0'])
  assert.deepEqual(Object.keys((await mapTile(user, map, '/0/0/0.mvt')).layers), ['layer0'])
  assert.equal((await mapTile(user, map, '/0/0/0/0.mvt')).status, 204)
  const alone = await mapOf(user, { layers: [plain] })
  assert.deepEqual([alone.metadata.tilejson, alone.metadata.url], [{}, {}])
  assert.equal((await mapTile(user, alone, '/0/0/0.mvt')).status, 204)
})

test('a tile is made without parallel workers and without JIT', async (t) => {
  const { user } = await setup(t)
  const settings = ['jit', 'max_parallel_workers_per_gather']
  const told = settings.map((name) => `current_setting('${name}') as ${name}`)
  const map = await mapOf(user, layerOf(`select *, ${told.join(', ')} from (${twoPoints}) p`))
  const { layers } = await mapTile(user, map, '/0/0/0.mvt')
  const { jit, max_parallel_workers_per_gather: workers } = layers.layer0![0]!.properties
  assert.deepEqual([jit, workers], ['off', '0'])
})
