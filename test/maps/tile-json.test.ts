import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TileJson } from '../../src/contract/documents.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { layerOf } from '../support/maps/map-api.ts'
import { makeMap, places, templateOf } from '../support/maps/named-api.ts'
import { basic, setup, type TestUser } from '../support/service/setup.ts'
import { askMaps, readTile, type TileCall } from '../support/tiles/tile-api.ts'

const ask = (user: TestUser, name: string, call: TileCall = {}) =>
  askMaps(user, `/api/v1/map/named/${name}/tiles.json`, { token: '', ...call })

async function tileJsonOf(user: TestUser, name: string, call: TileCall = {}): Promise<TileJson> {
  const { status, body, bytes } = await ask(user, name, call)
  assert.equal(status, 200, bytes.toString())
  return body as unknown as TileJson
}

const wholeTile = async ({ tiles }: TileJson) => {
  const answer = await fetch(tiles[0]!.replace('{z}/{x}/{y}', '0/0/0'))
  assert.equal(answer.status, 200)
  return readTile(Buffer.from(await answer.arrayBuffer()))
}

test('the TileJSON of a named map needs no key, and has its tiles, fields, place, zooms and attribution', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const layer = (id: string, more = {}) => ({
    id,
    options: {
      sql: 'select cartodb_id, name, the_geom_webmercator from places',
      attribution: 'A & B',
      ...more,
    },
  })
  const layergroup = {
    minzoom: 1.5,
    maxzoom: 12,
    layers: [layer('one'), { type: 'http', options: { urlTemplate: 'https://x.example' } }, layer('two')],
  }
  const bounds = { west: -100, south: -50, east: 100, north: 50 }
  const view = { title: 'Places', description: 'All', bounds }
  await makeMap(user, templateOf('shops', view, { layergroup }))
  const found = await tileJsonOf(user, 'shops')
  const fields = { cartodb_id: 'Number', name: 'String' }
  assert.deepEqual(found, {
    tilejson: '3.0.0',
    name: 'Places',
    description: 'All',
    scheme: 'xyz',
    tiles: [`${user.base}/api/v1/map/named/shops/all/{z}/{x}/{y}.mvt`],
    vector_layers: [
      { id: 'one', fields, description: '' },
      { id: 'two', fields, description: '' },
    ],
    bounds: [-100, -50, 100, 50],
    // A zoom that has tiles, although another zoom would show the whole box.
    center: [0, 0, 2],
    minzoom: 2,
    maxzoom: 12,
    attribution: 'A &#38; B',
  })
  const { headers } = await ask(user, 'shops')
  assert.match(headers.get('cache-control')!, /no-cache/)
  const again = await ask(user, 'shops', { headers: { 'if-none-match': headers.get('etag')! } })
  assert.equal(again.status, 304)
})

test('with max_age a map, a TileJSON and a style are kept for so long, as are their tiles; another value is 400', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  await makeMap(user, templateOf('shops', undefined))
  const source = 'select * from places'
  const config = layerOf(source)
  const answers: [string, TileCall][] = [
    ['/api/v1/map', { body: config }],
    ['/api/v1/map', { query: { config: JSON.stringify(config) } }],
    ['/api/v1/map/named/shops', { body: {} }],
    ['/api/v1/map/named/shops/jsonp', {}],
    ['/api/v1/map/named/shops/tiles.json', {}],
    ['/map/shops.json', {}],
    ['/api/v1/tiles/places', {}],
    ['/carto/table', { query: { source: 'places' } }],
    ['/carto/sql', { query: { source } }],
  ]
  for (const [path, call] of answers) {
    const asked = (query: Record<string, string>) =>
      askMaps(user, path, { ...call, query: { ...call.query, ...query } })
    const plain = await asked({})
    assert.deepEqual([plain.status, plain.headers.get('cache-control')], [200, 'private, no-cache'], path)
    assert.ok(!plain.bytes.includes('max_age'), path)
    const kept = await asked({ max_age: '60' })
    assert.deepEqual([kept.status, kept.headers.get('cache-control')], [200, 'private, max-age=60'], path)
    const [tile] = /http[^"]*\.mvt\?[^"]*max_age=60[^"]*/.exec(kept.bytes.toString()) ?? []
    const { status, headers } = await fetch(tile!.replace('{z}/{x}/{y}', '0/0/0'), {
      headers: basic(user.username, user.masterToken),
    })
    assert.deepEqual([status, headers.get('cache-control')], [200, 'private, max-age=60'], tile)
    for (const max_age of ['0', '3601', '1.5', 'x', ''])
      assert.equal((await asked({ max_age })).status, 400, `${path} ${max_age}`)
  }
  const script = await askMaps(user, '/api/v1/map/named/shops/jsonp', {
    query: { callback: 'f', max_age: '9' },
  })
  assert.equal(script.headers.get('cache-control'), 'private, max-age=9')
})

test('the zooms of a TileJSON are in order and in range, whatever the map says', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const layers = [{ id: 'one', options: { sql: 'select * from places' } }]
  for (const [index, [minzoom, maxzoom, ...expected]] of [
    [9, 3, 9, 9],
    [2.5, 2.7, 3, 3],
    [25, 30, 22, 22],
    [-5, -1, 0, 0],
  ].entries()) {
    await makeMap(user, templateOf(`map${index}`, undefined, { layergroup: { minzoom, maxzoom, layers } }))
    const found = await tileJsonOf(user, `map${index}`)
    assert.deepEqual([found.minzoom, found.maxzoom], expected)
  }
})

test('the fields of aggregated points are their own', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const aggregation = {
    threshold: 1,
    columns: { names: { aggregate_function: 'count', aggregated_column: 'name' } },
  }
  const options = { sql: 'select * from places', aggregation }
  await makeMap(user, templateOf('shops', undefined, { layergroup: { layers: [{ id: 'places', options }] } }))
  const found = await tileJsonOf(user, 'shops')
  const { places: features } = await wholeTile(found)
  assert.deepEqual(
    Object.keys(found.vector_layers[0]!.fields).sort(),
    Object.keys(features![0]!.properties).sort(),
  )
  assert.ok('_cdb_feature_count' in found.vector_layers[0]!.fields)
  const box = [-180, -85, 180, 85]
  assert.ok(
    found.bounds.every((edge, at) => Math.abs(edge) < Math.abs(box[at]!)),
    String(found.bounds),
  )
})

test("the TileJSON of a map with tokens needs one, and ends with the map's key", async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const keys = keysClient(user)
  const { token } = await keys.make('painter', [
    { type: 'apis', apis: ['maps'] },
    grantsOf({ places: ['select'] })[1],
  ])
  const auth = { method: 'token', valid_tokens: ['letmein'] }
  await makeMap(user, templateOf('shops', undefined, { auth }), { token })
  assert.equal((await ask(user, 'shops')).status, 403)
  assert.equal((await ask(user, 'shops', { query: { auth_token: 'wrong' } })).status, 403)
  const found = await tileJsonOf(user, 'shops', { query: { auth_token: 'letmein' } })
  assert.match(found.tiles[0]!, /\?auth_token=letmein$/)
  assert.ok(Object.keys(await wholeTile(found)).length > 0)
  assert.equal((await ask(user, 'nothing')).status, 404)
  await keys.remove('painter')
  assert.equal((await ask(user, 'shops', { query: { auth_token: 'letmein' } })).status, 404)
})
