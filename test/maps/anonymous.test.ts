import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { askForMap, askMapTile, layerOf, mapOf, mapTile } from '../support/maps/map-api.ts'
import { basic, setup, type TestUser } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

const places = `create table places (cartodb_id int, name text, since date, the_geom geometry(Point, 4326), the_geom_webmercator geometry(Point, 3857));
  insert into places select n, name, date '2020-01-01', g, st_transform(g, 3857) from (values (1, 'Berlin', st_point(13.4, 52.5, 4326)), (2, 'Lima', st_point(-77, -12, 4326))) v (n, name, g)`

const mapsKey = async (user: TestUser, tables: Record<string, readonly string[]>) => {
  const grants = [{ type: 'apis', apis: ['maps'] }, grantsOf(tables)[1]]
  return (await keysClient(user).make(`k${Math.random()}`, grants)).token
}

test('a map of SQL answers with its layergroup, and its tiles show the rows', async (t) => {
  const { user, url } = await setup(t)
  await user.sql(places)
  const reply = await askForMap(user, layerOf('select * from places where cartodb_id = 1;'))
  assert.equal(reply.status, 200)
  const { layergroupid, metadata, cdn_url } = reply.body
  assert.match(layergroupid, /^[0-9a-f]{32}:\d+$/)
  assert.equal(reply.headers.get('x-layergroup-id'), layergroupid)
  const host = url.replace('http://', '')
  assert.deepEqual(cdn_url, { http: `${host}/user`, https: `${host}/user` })
  const tiles = (layer: string) => [`${user.base}/api/v1/map/${layergroupid}${layer}/{z}/{x}/{y}.mvt`]
  const vector = (layer: string) => ({ tilejson: '2.2.0', tiles: tiles(layer), minzoom: 0, maxzoom: 30 })
  assert.deepEqual(metadata, {
    layers: [
      {
        type: 'mapnik',
        id: 'layer0',
        meta: {
          stats: metadata.layers[0]!.meta.stats,
          aggregation: { png: false, mvt: false },
        },
        tilejson: { vector: vector('/layer0') },
      },
    ],
    dataviews: {},
    analyses: [],
    tilejson: { vector: vector('') },
    url: { vector: { urlTemplate: tiles('')[0], subdomains: [] } },
  })
  const { estimatedFeatureCount } = metadata.layers[0]!.meta.stats as { estimatedFeatureCount: number }
  assert.ok(estimatedFeatureCount >= 1)
  const tile = await mapTile(user, reply.body, '/0/0/0.mvt')
  assert.equal(tile.headers.get('content-type'), 'application/x-protobuf')
  assert.equal(tile.headers.get('cache-control'), 'private, no-cache')
  assert.deepEqual(
    tile.layers.layer0!.map(({ id, properties }) => [id, properties]),
    [[1, { cartodb_id: 1, name: 'Berlin', since: '2020-01-01' }]],
  )
  const again = await askMapTile(user, layergroupid, '/0/0/0.mvt', {
    headers: { 'if-none-match': tile.headers.get('etag')! },
  })
  assert.equal(again.status, 304)
  await user.sql(`update places set name = 'Bonn'`)
  const changed = await mapTile(user, reply.body, '/0/0/0.mvt')
  assert.equal(changed.layers.layer0![0]!.properties.name, 'Bonn')
  await user.sql('alter table places add column more int default 7')
  assert.equal((await mapTile(user, reply.body, '/0/0/0.mvt')).layers.layer0![0]!.properties.more, 7)
})

test('the same config is the same map, by POST and by GET, whatever credential it contains', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const config = layerOf('select * from places')
  const { layergroupid } = await mapOf(user, config)
  const inBody = await mapOf(user, { ...config, api_key: user.masterToken, client: 'x' }, { token: '' })
  assert.equal(inBody.layergroupid, layergroupid)
  assert.match(inBody.metadata.tilejson.vector!.tiles[0]!, new RegExp(`\\?api_key=${user.masterToken}$`))
  const byGet = await askMaps(user, '/api/v1/map/', { query: { config: JSON.stringify(config) } })
  assert.deepEqual([byGet.status, byGet.body.layergroupid], [200, layergroupid])
  assert.match(byGet.headers.get('cache-control')!, /no-cache/)
  const known = await askMaps(user, '/api/v1/map', {
    query: { config: JSON.stringify(config) },
    headers: { 'if-none-match': byGet.headers.get('etag')! },
  })
  assert.equal(known.status, 304)
  assert.notEqual((await mapOf(user, layerOf('select * from places limit 1'))).layergroupid, layergroupid)
  const published = await askMaps(user, '/api/v1/map', {
    query: {
      config: JSON.stringify(layerOf('select null::geometry as the_geom_webmercator')),
      api_key: 'default_public',
    },
    token: '',
  })
  assert.ok(!published.bytes.includes('default_public'))
})

const good = { options: { sql: 'select * from places' } }
const layer = (index = 0, id = `layer${index}`) => ({ id, index, type: 'mapnik' })
const refused: [unknown, number, RegExp, unknown?][] = [
  [{}, 400, /^Missing layers array from layergroup config$/],
  [{ layers: Array(21).fill(good) }, 400, /^A map has at most 20 layers$/],
  [{ layers: [{}] }, 400, /^Missing options from layer 0 of layergroup config$/],
  [{ layers: [good, { options: {} }] }, 400, /^Missing sql for layer 1 options$/, layer(1)],
  [{ version: '2.0.0', layers: [good] }, 400, /^Unsupported layergroup configuration version 2.0.0$/],
  [{ layers: [{ type: 'torque', options: {} }] }, 400, /^Unsupported type torque of layer 0/],
  [{ layers: [good], buffersize: { mvt: 257 } }, 400, /^Buffer size of format "mvt" must be from 0 to 256$/],
  [layerOf('select 1', { vector_extent: 100 }), 400, /^Invalid vector_extent/],
  [layerOf('select * from places', { vector_simplify_extent: 5000 }), 400, /^Invalid vector_simplify_extent/],
  [{ layers: [good, { options: { ...good.options, vector_extent: 512 } }] }, 400, /^Multiple extent values/],
  [
    { layers: [good, { options: { ...good.options, vector_simplify_extent: 512 } }] },
    400,
    /^Multiple simplify extent values/,
  ],
  [layerOf('select * from nothing'), 404, /relation "nothing" does not exist/, layer()],
  [layerOf('selec'), 400, /syntax error/, layer()],
  [layerOf('select 1 as a'), 400, /^column "the_geom_webmercator" does not exist$/, layer()],
  [layerOf('select 1 as a', { geom_column: 'a' }), 400, /^column "a" is not a geometry$/, layer()],
  [
    layerOf('select * from places', { source: { id: 'a' }, sql: '' }),
    400,
    /^Missing analysis node.id='a'/,
    layer(),
  ],
  [{ layers: [good], analyses: [{ id: 'a', type: 'buffer' }] }, 400, /^Unsupported analysis buffer/],
  [
    layerOf('select * from places', { aggregation: { placement: 'here' } }),
    400,
    /^Invalid placement/,
    layer(),
  ],
]

test('an invalid config is refused with the classic text, and the layer is named', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  for (const [config, status, text, context] of refused) {
    const reply = await askForMap(user, config)
    const body = reply.body as unknown as { errors: string[]; errors_with_context: object[] }
    assert.equal(reply.status, status, JSON.stringify(config))
    assert.match(body.errors[0]!, text)
    const type = context ? 'layer' : 'mapconfig'
    assert.deepEqual(body.errors_with_context, [
      { type, message: body.errors[0], ...(context !== undefined && { layer: context }) },
    ])
  }
  for (const [query, text] of [
    [{}, /needs a "config" parameter/],
    [{ config: '{' }, /not valid JSON/],
    [{ config: '{"layers":"\\u0000"}' }, /NUL/],
    [{ lzma: 'x' }, /POST/],
  ] as const) {
    const { status, body } = await askMaps(user, '/api/v1/map', { query })
    assert.equal(status, 400)
    assert.match(body.errors[0]!, text)
  }
})

test('a map and each of its tiles have the rights of the key that requests them', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const own = await mapsKey(user, { places: ['select'] })
  const other = await mapsKey(user, {})
  const config = layerOf('select * from places')
  const map = await mapOf(user, config, { token: own })
  assert.equal((await mapTile(user, map, '/0/0/0.mvt', { token: own })).layers.layer0!.length, 2)
  for (const token of [other, '']) {
    for (const reply of [
      await askForMap(user, config, { token }),
      await askMapTile(user, map.layergroupid, '/0/0/0.mvt', { token }),
    ]) {
      const body = reply.body as unknown as { errors: string[]; errors_with_context: { type: string }[] }
      assert.equal(reply.status, 403)
      assert.match(body.errors[0]!, /permission denied for table places/)
      assert.equal(body.errors_with_context[0]!.type, 'layer')
    }
  }
  await user.sql(`alter table places enable row level security;
    create policy few on places using (cartodb_id = 1)`)
  assert.equal((await mapTile(user, map, '/0/0/0.mvt', { token: own })).layers.layer0!.length, 1)
  assert.equal((await askForMap(user, config, { token: 'wrong' })).status, 401)
  // Also if other parts of the request are wrong.
  for (const path of ['/0/0/0.mvt', '/99/0/0.png', '/dataview/x?bins=0', '/0/attributes/1'])
    assert.equal((await askMapTile(user, map.layergroupid, path, { token: 'wrong' })).status, 401, path)
  const foreign = await askForMap(user, config, { headers: basic('other', own) })
  assert.equal(foreign.status, 403)
  await user.sql('drop table places')
  const gone = await askMapTile(user, map.layergroupid, '/0/0/0.mvt')
  assert.equal(gone.status, 404)
})

test('layers are chosen by index, id or list, and left out outside their zooms', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const sql = 'select * from places'
  const map = await mapOf(user, {
    minzoom: 0,
    maxzoom: 5,
    layers: [
      { id: 'a', options: { sql } },
      { type: 'http', options: { urlTemplate: 'http://example.com' } },
      {
        type: 'cartodb',
        options: { sql: 'select cartodb_id, the_geom from places', geom_column: 'the_geom', srid: 4326 },
      },
      { id: 'late', options: { sql, minzoom: 2, maxzoom: 3 } },
    ],
  })
  assert.deepEqual(
    map.metadata.layers.map(({ id, type, tilejson }) => [id, type, tilejson !== undefined]),
    [
      ['a', 'mapnik', true],
      ['http-layer0', 'http', false],
      ['layer1', 'mapnik', true],
      ['late', 'mapnik', true],
    ],
  )
  const shown = async (path: string) => Object.keys((await mapTile(user, map, path)).layers)
  assert.deepEqual(await shown('/0/0/0.mvt'), ['a', 'layer1'])
  assert.deepEqual(await shown('/0/0/0/0.mvt'), ['a'])
  assert.deepEqual(await shown('/layer1/0/0/0.pbf'), ['layer1'])
  assert.deepEqual(await shown('/layer1,a/0/0/0.mvt'), ['a', 'layer1'])
  assert.deepEqual(await shown('/all/2/2/1.mvt'), ['a', 'layer1', 'late'])
  assert.deepEqual(await shown('/mapnik/2/6/1.mvt'), ['a', 'layer1', 'late'])
  assert.deepEqual(await shown('/late/0/0/0.mvt'), [])
  for (const [path, status, text] of [
    ['/4/0/0/0.mvt', 400, 'Invalid layer filtering'],
    ['/b/0/0/0.mvt', 400, 'Invalid layer filtering'],
    ['/6/0/0.mvt', 404, 'Tile at this zoom not found'],
    ['/31/0/0.mvt', 400, 'Invalid z: it must be a whole number from 0 to 30'],
    ['/0/0/-1.mvt', 400, 'Invalid y: it must be a whole number'],
    ['/0/0/0.png', 400, 'Unsupported format png: this server makes vector tiles (mvt)'],
    ['/0/0/0.grid.json', 400, 'Unsupported format grid.json: this server makes vector tiles (mvt)'],
  ] as const) {
    const { status: told, body } = await askMapTile(user, map.layergroupid, path)
    assert.deepEqual([told, body.errors], [status, [text]], path)
  }
  const head = await askMapTile(user, map.layergroupid, '/0/0/0.mvt', { method: 'HEAD' })
  assert.deepEqual([head.status, head.bytes.length], [200, 0])
})

test('a tile of another format is refused with what to ask for instead', async (t) => {
  const { user } = await setup(t)
  const map = await mapOf(user, layerOf('select null::geometry as the_geom_webmercator'))
  for (const [format, hint] of [
    ['png', /^Ask for \.mvt, and draw it with MapLibre/],
    ['torque.json', /^Ask for \.mvt/],
    ['grid.json', /attributes\/\{cartodb_id\}/],
  ] as const) {
    const { status, body } = await askMapTile(user, map.layergroupid, `/0/0/0/0.${format}`)
    assert.deepEqual([status, body.errors[0]!.startsWith(`Unsupported format ${format}: `)], [400, true])
    assert.match(String(body.hint), hint)
  }
})

test("each layer's address in the answer leads to that layer, whatever its id is", async (t) => {
  const { user } = await setup(t)
  const ids = ['1', 'all', 'mapnik', '..', 'a/b', 'é ?']
  const map = await mapOf(user, {
    layers: ids.map((id) => ({
      id,
      options: { sql: 'select st_point(0, 0, 3857) as the_geom_webmercator' },
    })),
  })
  for (const { id, tilejson } of map.metadata.layers) {
    const address = tilejson!.vector!.tiles[0]!.replace('{z}/{x}/{y}', '0/0/0')
    const { layers } = await mapTile(
      user,
      map,
      address.slice(address.indexOf(map.layergroupid)).replace(map.layergroupid, ''),
    )
    assert.deepEqual(Object.keys(layers), [id])
  }
})

test('an unknown map is 400, and the part of an id after the colon does not matter', async (t) => {
  const { user, createUser } = await setup(t)
  await user.sql(places)
  const { layergroupid } = await mapOf(user, layerOf('select * from places'))
  const [id] = layergroupid.split(':') as [string]
  for (const known of [id, `${id}:`, `${id}:123`])
    assert.equal((await askMapTile(user, known, '/0/0/0.mvt')).status, 200)
  const other = await createUser()
  for (const [who, token] of [
    [user, 'f'.repeat(32)],
    [user, 'x'],
    [other, id],
  ] as const) {
    const { status, body } = await askMapTile(who, token, '/0/0/0.mvt')
    assert.deepEqual(
      [status, body.errors],
      [400, [`Invalid or nonexistent map configuration token '${token}'`]],
    )
  }
})

test('a script of another page gets the map and its errors by JSONP', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const config = JSON.stringify(layerOf('select * from places'))
  const good = await askMaps(user, '/api/v1/map', { query: { config, callback: 'window.on_$1' } })
  assert.equal(good.status, 200)
  assert.match(good.headers.get('content-type')!, /^text\/javascript/)
  assert.equal(good.headers.get('x-content-type-options'), 'nosniff')
  assert.match(good.bytes.toString(), /^\/\*\*\/window\.on_\$1\(\{"layergroupid":.*\}\);$/s)
  const bad = await askMaps(user, '/api/v1/map', { query: { config: '{}', callback: 'f' } })
  assert.equal(bad.status, 200)
  assert.match(bad.bytes.toString(), /^\/\*\*\/f\(\{"errors":\["Missing layers array/)
  for (const callback of ['alert(1)//', '<script>', '1a', 'a'.repeat(129), '']) {
    const { status, headers } = await askMaps(user, '/api/v1/map', { query: { config, callback } })
    assert.equal(status, 400, callback)
    assert.match(headers.get('content-type')!, /^application\/json/)
  }
})

test("tokens such as !bbox! are replaced by the tile's values, except in literals and comments", async (t) => {
  const { user } = await setup(t)
  const sql = `select st_setsrid(st_centroid(!bbox!), 3857) as the_geom_webmercator, '!bbox!' as literal, $$!bbox!$$ as dollar, E'it\\'s !bbox!' as escaped,
    !pixel_width!::float as w, !pixel_height! = !pixel_width! as same, round(!scale_denominator!) as scale, st_xmax(!bbox!) as east /* !bbox! */ -- !bbox!`
  const map = await mapOf(user, { ...layerOf(sql), buffersize: { mvt: 0 } })
  const [feature] = (await mapTile(user, map, '/1/0/0.mvt')).layers.layer0!
  assert.deepEqual(feature!.properties, {
    literal: '!bbox!',
    dollar: '!bbox!',
    escaped: "it's !bbox!",
    w: 78271.51696402048,
    same: true,
    scale: 279541132,
    east: 0,
  })
})

test('extent, buffer, simplification and dates follow the config', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t as select 1 as cartodb_id, timestamptz '2020-01-01 00:00Z' as at, date 'infinity' as never,
    st_setsrid(st_makeline(array(select st_makepoint(n * 20037508.34 / 1000 - 20037508.34, sin(n) * 30000) from generate_series(0, 2000) n)), 3857) as the_geom_webmercator`)
  const points = async (config: object) => {
    const map = await mapOf(user, config)
    const { layers } = await mapTile(user, map, '/0/0/0.mvt')
    return { map, feature: layers.layer0![0]! }
  }
  const sql = 'select * from t'
  const fine = await points(layerOf(sql, { vector_extent: 8192, dates_as_numbers: true }))
  const coarse = await points(layerOf(sql))
  assert.ok(fine.feature.geometry[0]!.length > 50 * coarse.feature.geometry[0]!.length)
  assert.equal(Math.max(...fine.feature.geometry[0]!.map(({ x }) => x)), 8192)
  assert.equal(fine.feature.properties.at, 1577836800)
  assert.deepEqual(fine.map.metadata.layers[0]!.meta.dates_as_numbers, ['at', 'never'])
  assert.equal(coarse.feature.properties.at, '2020-01-01T00:00:00+00:00')
  const wide = await mapOf(user, { ...layerOf(sql), buffersize: { mvt: 128 } })
  const tile = await mapTile(user, wide, '/1/0/0.mvt')
  assert.equal(Math.max(...tile.layers.layer0![0]!.geometry[0]!.map(({ x }) => x)), 4096 + 2048)
})

test("deck.gl finds the TileJSON of a query, whose geometry is found like a table's", async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const query = { source: 'select name, the_geom from places', format: 'tilejson', api_key: user.masterToken }
  const { status, body } = await askMaps(user, '/carto/sql', { query, token: '' })
  assert.equal(status, 200)
  assert.deepEqual(body.vector_layers, [{ id: 'layer0', fields: { name: 'String' }, description: '' }])
  assert.deepEqual(body.bounds, [-77, -12, 13.4, 52.5])
  const tile = await fetch(body.tiles[0]!.replace('{z}/{x}/{y}', '0/0/0'))
  assert.equal(tile.status, 200)
  for (const [source, text] of [
    ['select 1', 'The query has no geometry'],
    ['delete from places', 'The sql of a layer must be one SELECT that writes nothing'],
  ] as const) {
    const refused = await askMaps(user, '/carto/sql', { query: { source } })
    assert.deepEqual([refused.status, refused.body.error], [400, text])
  }
})

test('the tiles of a TileJSON of a query have another address after each change of its rows, as those of a table', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${places}; select CDB_CartodbfyTable('places')`)
  const versions = async () => {
    const asked = ['/carto/sql?source=select+*+from+places', '/carto/table?source=places']
    const answers = await Promise.all(asked.map((path) => askMaps(user, path)))
    return answers.map(({ body }) => new URL(body.tiles[0]!).searchParams.get('v')!)
  }
  const first = await versions()
  for (const version of first) assert.match(version, /^[\w-]{12}$/)
  assert.deepEqual(await versions(), first)
  await user.sql(`update places set name = 'x'`)
  for (const [at, version] of (await versions()).entries()) assert.notEqual(version, first[at])
})

test('a map has the time its tables last changed, if they record it', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${places}; create table plain as select * from places; select CDB_CartodbfyTable('places')`)
  const before = (await user.sql('select extract(epoch from clock_timestamp()) * 1000 as ms')).rows[0].ms
  await user.sql(`update places set name = 'x'`)
  const { layergroupid, last_updated } = await mapOf(user, layerOf('select * from places'))
  const ms = Number(layergroupid.split(':')[1])
  assert.ok(ms >= Math.floor(Number(before)), `${ms} ${before}`)
  assert.equal(last_updated, new Date(ms).toISOString())
  const unknown = await mapOf(user, layerOf('select p.* from places, plain p'))
  assert.equal(unknown.last_updated, '1970-01-01T00:00:00.000Z')
})
