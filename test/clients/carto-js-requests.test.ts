import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LayergroupDocument } from '../../src/contract/documents.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { askMapTile, mapOf } from '../support/maps/map-api.ts'
import { setup } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

/** The requests of carto.js 4.2.2, without a browser, and what it does on errors. */

const sales = `create table sales as select n as cartodb_id, chr(65 + n % 8) as shop, st_setsrid(st_makepoint(n * 100000, 0), 3857) as the_geom_webmercator
  from generate_series(1, 100) n`

const source = { id: 'S1' }
const config = {
  buffersize: { mvt: 0 },
  layers: [
    {
      id: 'L1',
      type: 'mapnik',
      options: {
        cartocss: '#sales { marker-width: 7; }',
        cartocss_version: '2.1.0',
        source,
        interactivity: ['cartodb_id', 'shop'],
        attributes: { id: 'cartodb_id', columns: ['shop'] },
        minzoom: 0,
      },
    },
  ],
  dataviews: { rows: { type: 'formula', source, options: { column: 'cartodb_id', operation: 'count' } } },
  analyses: [{ id: 'S1', type: 'source', params: { query: 'SELECT * from sales' } }],
}

test('the answer has what carto.js reads: empty CartoCSS ramps and ready analyses', async (t) => {
  const { user } = await setup(t)
  await user.sql(sales)
  const { layergroupid, metadata } = await mapOf(user, config)
  assert.deepEqual(metadata.layers[0]!.meta.cartocss_meta, { rules: [] })
  assert.ok(!JSON.stringify(metadata).includes('#sales'))
  const url = `${user.base}/api/v1/map/${layergroupid}/analysis/node/S1`
  assert.deepEqual(metadata.analyses, [
    { nodes: { S1: { status: 'ready', url: { http: url, https: url.replace('http:', 'https:') } } } },
  ])
  const ask = (id: string) => askMapTile(user, layergroupid, `/analysis/node/${id}`)
  assert.deepEqual((await ask('S1')).body, { status: 'ready' })
  assert.equal((await ask('S2')).status, 404)
})

test('a map without layers has dataviews and empty tiles', async (t) => {
  const { user } = await setup(t)
  await user.sql(sales)
  const { layergroupid, metadata, last_updated } = await mapOf(user, { ...config, layers: [] })
  assert.deepEqual([metadata.layers, metadata.tilejson, metadata.url], [[], {}, {}])
  assert.equal(last_updated, '1970-01-01T00:00:00.000Z')
  const rows = await askMapTile(user, layergroupid, '/dataview/rows')
  assert.equal(rows.body.result, 100)
  assert.equal((await askMapTile(user, layergroupid, '/0/0/0.mvt')).status, 204)
  assert.equal((await askMapTile(user, layergroupid, '/0/0/0/0.mvt')).status, 400)
  assert.equal((await fetch(`${user.base}/api/v1/map/${layergroupid}/dataview/rows`)).status, 403)
  assert.equal((await mapOf(user, { layers: [], dataviews: {}, analyses: [] })).metadata.layers.length, 0)
})

test('a script element can read attributes too', async (t) => {
  const { user } = await setup(t)
  await user.sql(sales)
  const { layergroupid } = await mapOf(user, config)
  const ask = async (fid: string, callback: string) => {
    const path = `/api/v1/map/${layergroupid}/0/attributes/${fid}`
    const { status, headers, bytes } = await askMaps(user, path, { query: { callback } })
    return [status, headers.get('content-type')?.split(';')[0], bytes.toString().slice(0, 30)]
  }
  assert.deepEqual(await ask('1', '_cdbi_1'), [200, 'text/javascript', '/**/_cdbi_1({"shop":"B"});'])
  assert.deepEqual(await ask('0', '_cdbi_2'), [200, 'text/javascript', '/**/_cdbi_2({"errors":["Featur'])
  assert.deepEqual((await ask('1', 'alert(1)')).slice(0, 2), [400, 'application/json'])
})

test('a circle and a polygon filter a dataview', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(sales)
  const { layergroupid } = await mapOf(user, config)
  const client = clientOf(t, house)
  const count = async (area: object) => {
    const [[name, value]] = Object.entries(area) as [[string, unknown]]
    return (await client.maps.dataview(layergroupid, 'rows', { [name]: JSON.stringify(value) })).result
  }
  // Metres of the projection are true on the equator, and a degree is 111.3 km.
  const ring = (west: number, east: number) => [
    [west, -1],
    [east, -1],
    [east, 1],
    [west, 1],
    [west, -1],
  ]
  assert.equal(await count({ circle: { lat: 0, lng: 0, radius: 550_000 } }), 5)
  assert.equal(await count({ circle: { lat: 0, lng: 0, radius: 0 } }), 0)
  assert.equal(await count({ polygon: { type: 'Polygon', coordinates: [ring(0, 10)] } }), 11)
  assert.equal(await count({ polygon: { type: 'Polygon', coordinates: [ring(0, 10), ring(2, 4)] } }), 9)
  assert.equal(await count({ polygon: { type: 'Polygon', coordinates: [] } }), 0)
  for (const [name, value] of [
    ['circle', 'x'],
    ['circle', '{"lat":0,"lng":0}'],
    ['circle', '{"lat":0,"lng":0,"radius":-1}'],
    ['circle', '{"lat":0,"lng":"0)) or true --","radius":1}'],
    ['circle', 'null'],
    ['polygon', '[]'],
    ['polygon', JSON.stringify({ type: 'Point', coordinates: [0, 0] })],
    ['polygon', JSON.stringify({ type: 'Polygon', coordinates: [ring(0, 10).slice(1)] })],
    ['polygon', JSON.stringify({ type: 'Polygon', coordinates: [[["0')) or true --", 0]]] })],
  ] as const) {
    const path = `/api/v1/map/${layergroupid}/dataview/rows`
    const { status, body } = await askMaps(user, path, { query: { [name]: value } })
    assert.deepEqual([status, body.errors_with_context[0]!.type], [400, 'dataview'], value)
  }
})

test('a config in the parameter lzma gives the same map as without', async (t) => {
  const { user } = await setup(t)
  await user.sql(sales)
  const get = (lzma: string) => askMaps(user, '/api/v1/map', { query: { lzma } })
  const made = await get(packedByCartoJs)
  assert.equal(made.status, 200, made.bytes.toString())
  const { layergroupid } = made.body as unknown as LayergroupDocument
  const query = "select *, 'ü 😀' as sign from sales"
  const plain = { ...config, analyses: [{ id: 'S1', type: 'source', params: { query } }] }
  assert.equal(layergroupid, (await mapOf(user, plain)).layergroupid)
  const bytes = Buffer.from(packedByCartoJs, 'base64')
  const attacks = {
    'no text': '',
    'no base64': '%%%',
    'no LZMA': Buffer.from('{"config":"{}"}').toString('base64'),
    'an end that is missing': bytes.subarray(0, -20).toString('base64'),
    'an unknown property': Buffer.concat([Buffer.from([0xff ^ 0x80]), bytes.subarray(1)]).toString('base64'),
    'a length of 2 GB': Buffer.from(bytes.map((byte, at) => (at === 8 ? 0x7f ^ 0x80 : byte))).toString(
      'base64',
    ),
    'a megabyte of zeros': zeros,
    'too many characters': `${packedByCartoJs}${'A'.repeat(8_000)}`,
    'no config in it': packedNull,
  }
  for (const [what, lzma] of Object.entries(attacks)) {
    const { status, body } = await get(lzma)
    assert.deepEqual([status, body.code], [400, 'map-invalid'], what)
    assert.match(body.errors[0]!, /send the config as the body of a POST$/, what)
  }
})

/** As packed by carto.js 4.2.2. */
const packedByCartoJs =
  '3YCAiIDJgoCAgICAgIC9CAjntIUbMkyt4S6xq5e9KCiZiA/k16XZNpEjL0UplWZ1Q/1d7Fyeo+O6YbO+ve/SdpY78LbHKc2rxarrY++h8nZlxeC/Q9X+nQVm48Plv2VVNx0tiO6mzmbLWdAPCfjgLO3LPbPASH1V5Rl2jfuvr/fXnNw92JWSEUjKpzt/sVjN8mvfyfe7RESSjozheYiUYuSE18SF4lHtESBC7PErl4gwl3RcDmrZXGE840WgdY9/CMxw79lYdixQfwDI2VrXxbSH3Pt8j4qzYPNnNC0gdF4P+GOg88mvgbMTBIHIVE/Mlp3SnKEbFuRLWcs9ZIbALjfgVj9SI4nMqu5twon0lrrcA4jOqDR29JINP5pjF727qPZgsYnpY3R1cDhaN08pIzwMytKyFX+IGZv/GNdx837fI4sCP9+dt7V/MIYpgA=='

const zeros =
  '3YCAAIB/f39/f39/f4CA731/fyM3f8e+yJXyueHROBKoZiMGh3luZJ4CU69FuryByzH+SQoKza8jjVn/JmMMo5HTYNmYRfUKYvd4NhT/jOpAXvTJ5GJp3NMyhFh3xIwr343txmllQ/YINxbXLDbNYemd73vLCJDswksIv9yAD1DOL6aoFPGfvQ+kYfAeJ6PfbKhLBVEVGAr+qhFyp/V3mUCGGM0YfVgvVRCPRKXTeHURtrGFJTBu70HwzceMURGRKi3gnTpOMaeY3NkGaebS2D5p9izZZGXbhYh5R1otfHvSqndlnFxPf38CloCA'

/** The text `null`. */
const packedNull = '3YCAiICEgICAgICAgIC3nck84iizH3967ACA'
