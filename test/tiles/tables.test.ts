import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { basic, eventually, setup, type TestUser } from '../support/service/setup.ts'
import { askTiles, tileOf } from '../support/tiles/tile-api.ts'

const places = `create table places (name text, the_geom geometry(Point, 4326));
  insert into places values ('Berlin', st_setsrid(st_point(13.4, 52.5), 4326)), ('Lima', st_setsrid(st_point(-77, -12), 4326))`

const mapsKey = async (user: TestUser, tables: Record<string, readonly string[]>, apis = ['maps']) => {
  const grants = [{ type: 'apis', apis }, grantsOf(tables)[1]]
  return (await keysClient(user).make(`k${Math.random()}`, grants)).token
}

test('a tile of a table has only the rows inside the tile, as features', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const world = await tileOf(user, '/places/0/0/0.mvt')
  assert.equal(world.headers.get('content-type'), 'application/x-protobuf')
  assert.deepEqual(
    world.layers.places!.map(({ properties, type }) => [properties, type]),
    [
      [{ name: 'Berlin' }, 1],
      [{ name: 'Lima' }, 1],
    ],
  )
  const [point] = world.layers.places![0]!.geometry[0]!
  assert.deepEqual([point!.x, point!.y], [2200, 1344])
  for (const path of ['/places/3/4/2', '/places/3/4/2.pbf', '/public.places/3/4/2.mvt']) {
    const { layers } = await tileOf(user, path)
    assert.deepEqual(
      layers.places!.map(({ properties }) => properties.name),
      ['Berlin'],
    )
  }
})

test('an empty tile is 204; x wraps around the world, y does not', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  for (const path of ['/places/3/0/0.mvt', '/places/3/4/8.mvt', `/places/3/4/${'9'.repeat(30)}.mvt`]) {
    const reply = await askTiles(user, path)
    assert.deepEqual([reply.status, reply.bytes.length], [204, 0], path)
  }
  const { layers } = await tileOf(user, `/places/3/${8 * 10 ** 15 + 4}/2.mvt`)
  assert.equal(layers.places!.length, 1)
})

test('a bad zoom, place, format or parameter is 400 with the reason', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const refused: [string, RegExp][] = [
    ['/places/31/0/0', /^Invalid z/],
    ['/places/-1/0/0', /^Invalid z/],
    ['/places/1/1e3/0', /^Invalid x/],
    ['/places/1/0/-1', /^Invalid y/],
    ['/places/1/0/0.png', /^Unsupported format png: this server makes vector tiles \(mvt\)$/],
    ['/places/1/0/0.grid.json', /^Unsupported format grid.json/],
    ['/places/1/0/0?limit=50001', /^Invalid limit/],
    ['/places/1/0/0?limit=0', /^Invalid limit/],
    ['/places/1/0/0?columns=nothing', /^No column 'nothing'/],
    ['/places/1/0/0?columns=the_geom', /^No column 'the_geom'/],
    ['/places/1/0/0?max_age=3601', /^Invalid max_age/],
    ['/places,places/1/0/0', /^A table is named twice$/],
    [`/${Array(11).fill('places').join(',')}`, /^At most 10 tables/],
  ]
  for (const [path, text] of refused) {
    const { status, body } = await askTiles(user, path)
    assert.equal(status, 400, path)
    assert.match(body.errors[0]!, text)
    assert.deepEqual(body.errors_with_context, [{ type: 'tile', message: body.errors[0] }])
  }
})

test('a key needs maps and reads only what its role may read; any other table looks missing', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${places}; create table secret as select * from places; create table plain (n int)`)
  const own = await mapsKey(user, { places: ['select'] })
  const sqlOnly = await mapsKey(user, { places: ['select'] }, ['sql'])
  assert.equal((await tileOf(user, '/places/0/0/0', { token: own })).layers.places!.length, 2)
  for (const [path, call, status, text] of [
    ['/secret/0/0/0', { token: own }, 404, "Table 'secret' not found"],
    ['/secret', { token: own }, 404, "Table 'secret' not found"],
    ['/plain/0/0/0', {}, 404, "Table 'plain' not found"],
    ['/nothing/0/0/0', {}, 404, "Table 'nothing' not found"],
    ['/places,/0/0/0', {}, 404, "Table '' not found"],
    [`/${'x'.repeat(64)}/0/0/0`, {}, 404, `Table '${'x'.repeat(64)}' not found`],
    ['/places/0/0/0', { token: sqlOnly }, 403, 'Forbidden'],
    ['/places/0/0/0', { token: 'wrong' }, 401, 'Unauthorized'],
    ['/places/0/0/0', { headers: basic('other', own) }, 403, 'Forbidden'],
    ['/places/0/0/0', { token: '' }, 404, "Table 'places' not found"],
  ] as const) {
    const reply = await askTiles(user, path, call)
    assert.deepEqual([reply.status, reply.body.errors], [status, [text]], path)
    assert.equal(reply.body.errors_with_context[0]!.type, status === 404 ? 'layer' : 'auth')
  }
})

test('public tables have tiles without a key', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  await fetch(`${user.base}/api/v1/viz/places`, {
    method: 'PUT',
    headers: { ...basic(user.username, user.masterToken), 'content-type': 'application/json' },
    body: JSON.stringify({ privacy: 'PUBLIC' }),
  })
  const reply = await tileOf(user, '/places/0/0/0', { token: '' })
  assert.equal(reply.layers.places!.length, 2)
  assert.equal(reply.headers.get('cache-control'), 'public, no-cache')
  const head = await askTiles(user, '/places/0/0/0', { token: '', method: 'HEAD' })
  assert.deepEqual([head.status, head.bytes.length], [200, 0])
  assert.equal(head.headers.get('etag'), reply.headers.get('etag'))
})

test('columns of many types become properties, and the others are left out', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create type mood as enum ('good', 'bad'); create domain small as int check (value < 100);
    create domain smaller as small; create type pair as (a int, b int);
    create table t (cartodb_id int, geom_ text, geom text, feature_id int, b bool, i smaller, f float4, n numeric, huge numeric, tiny numeric,
      v varchar(9), u uuid, m mood, d date, at timestamptz, late timestamp, j jsonb, a int[], bytes bytea, p pair, r int4range, g geometry);
    insert into t values (7, 'x', 'y', 3, true, 5, 1.5, 12345678901234.5, 1e400, 1e-400, 'v', '00000000-0000-0000-0000-000000000001',
      'bad', '2020-02-29', '2020-02-29 12:00+02', 'infinity', '{"x":1}', '{1}', 'b', (1, 2), '[1,2]', 'point(1 1)')`)
  const { layers } = await tileOf(user, '/t/0/0/0')
  const [feature] = layers.t!
  assert.equal(feature!.id, 7)
  assert.deepEqual(feature!.properties, {
    cartodb_id: 7,
    geom_: 'x',
    geom: 'y',
    feature_id: 3,
    b: true,
    i: 5,
    f: 1.5,
    n: 12345678901234.5,
    tiny: 0,
    v: 'v',
    u: '00000000-0000-0000-0000-000000000001',
    m: 'bad',
    d: '2020-02-29',
    at: '2020-02-29T10:00:00+00:00',
    late: 'infinity',
  })
  const some = await tileOf(user, '/t/0/0/0', { query: { columns: 'm,b' } })
  assert.deepEqual(some.layers.t![0], { ...feature, properties: { m: 'bad', b: true } })
  assert.deepEqual((await tileOf(user, '/t/0/0/0', { query: { columns: '' } })).layers.t![0]!.properties, {})
})

test('the id of a feature is a cartodb_id that is not negative, which stays a property', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t as select id as cartodb_id, st_setsrid(st_point(1, 1), 3857) as the_geom_webmercator
    from unnest('{0, 7, -7, null}'::int[]) id`)
  const { layers } = await tileOf(user, '/t/0/0/0')
  const found = layers.t!.map(({ id, properties }) => [id, properties.cartodb_id])
  assert.deepEqual(found, [
    [0, 0],
    [7, 7],
    [undefined, -7],
    [undefined, undefined],
  ])
})

test('a key that may read some columns gets tiles of only these', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${places}; alter table places add hidden text default 'secret';
    grant select (name, the_geom) on places to "${user.account.publicRole}"`)
  const { layers } = await tileOf(user, '/places/0/0/0', { token: '' })
  assert.deepEqual(layers.places![0]!.properties, { name: 'Berlin' })
  assert.equal(
    (await askTiles(user, '/places/0/0/0', { token: '', query: { columns: 'hidden' } })).status,
    400,
  )
})

test('several tables are layers of one tile and of one TileJSON', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${places}; create table "odd näme.x" as select 1 as n, st_setsrid(st_point(1, 1), 3857) as g;
    create schema other; create table other.places as select 2 as n, st_setsrid(st_point(1, 1), 3857) as g`)
  const odd = encodeURIComponent('odd näme.x')
  const { layers } = await tileOf(user, `/places,${odd}/0/0/0`)
  assert.deepEqual(Object.keys(layers), ['places', 'odd näme.x'])
  await user.sql('create table "a,b" as table other.places')
  assert.deepEqual(Object.keys((await tileOf(user, '/a,b/0/0/0')).layers), ['a,b'])
  const { body } = await askTiles(user, `/places,${odd}`)
  const tile = await fetch(body.tiles[0]!.replace('{z}/{x}/{y}', '0/0/0'), {
    headers: basic(user.username, user.masterToken),
  })
  assert.equal(tile.status, 200)
  assert.deepEqual(Object.keys((await tileOf(user, '/places,other.places/0/0/0')).layers), [
    'public.places',
    'other.places',
  ])
})

test('TileJSON has the layers, their fields and bounds, and what the comment of the table adds', async (t) => {
  const { user, url } = await setup(t)
  await user.sql(places)
  const reply = await askTiles(user, '/places', { token: '', query: { api_key: user.masterToken } })
  assert.equal(reply.headers.get('cache-control'), 'private, no-cache')
  const { tiles, ...rest } = reply.body
  assert.deepEqual(rest, {
    tilejson: '3.0.0',
    name: 'places',
    description: '',
    scheme: 'xyz',
    vector_layers: [{ id: 'places', fields: { name: 'String' }, description: '' }],
    bounds: [-77, -12, 13.4, 52.5],
    center: [-31.8, 20.25, 0],
    minzoom: 0,
    maxzoom: 18,
  })
  assert.match(
    tiles[0]!,
    new RegExp(
      `^${url}/user/${user.username}/api/v1/tiles/places/{z}/{x}/{y}.mvt\\?api_key=${user.masterToken}&v=\\w`,
    ),
  )
  const again = await askTiles(user, '/places', {
    token: '',
    query: { api_key: user.masterToken },
    headers: { 'if-none-match': reply.headers.get('etag')! },
  })
  assert.equal(again.status, 304)
  await user.sql(
    `comment on table places is '{"attribution":"me","maxzoom":9,"tiles":["https://example.com"]}'`,
  )
  const { body } = await askTiles(user, '/places')
  assert.deepEqual([body.attribution, body.maxzoom, body.tiles.length], ['me', 9, 1])
  assert.match(body.tiles[0]!, /mvt\?v=/)
})

test('the list has every relation with a geometry that the key may read', async (t) => {
  const { user, url } = await setup(t)
  await user.sql(`${places}; create view seen as select * from places; create table plain (n int);
    create materialized view kept as select * from places; create table parts (n int, g geometry(Polygon)) partition by list (n);
    create table part partition of parts for values in (1)`)
  const base = `${url}/user/${user.username}/api/v1/tiles`
  const entry = (name: string, geometry_type = 'POINT') => ({
    name,
    schema: 'public',
    geometry_type,
    url: `${base}/${name}`,
  })
  const { body } = await askTiles(user, '')
  assert.deepEqual(body.tiles, [entry('kept'), entry('parts', 'POLYGON'), entry('places'), entry('seen')])
  const token = await mapsKey(user, { places: ['select'] })
  assert.deepEqual((await askTiles(user, '/', { token })).body.tiles, [entry('places')])
  for (const name of ['kept', 'seen']) {
    assert.equal((await tileOf(user, `/${name}/0/0/0`)).layers[name]!.length, 2)
  }
  assert.equal((await tileOf(user, '/parts/0/0/0')).status, 204)
})

test('deck.gl finds the TileJSON of a table by its source, and gets errors as one text', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const headers = basic(user.username, user.masterToken)
  const source = await fetch(`${user.base}/carto/table?source=public.places&format=tilejson`, { headers })
  const { tiles, vector_layers } = (await source.json()) as {
    tiles: string[]
    vector_layers: { id: string }[]
  }
  assert.deepEqual([source.status, vector_layers[0]!.id], [200, 'places'])
  assert.equal((await fetch(tiles[0]!.replace('{z}/{x}/{y}', '0/0/0'), { headers })).status, 200)
  const missing = await fetch(`${user.base}/carto/table?source=nothing`, { headers })
  assert.deepEqual(
    [missing.status, ((await missing.json()) as { error: string }).error],
    [404, "Table 'nothing' not found"],
  )
})

test('an error names its layer', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    `${places}; create view broken as select 1 / (name <> 'Lima')::int as n, the_geom from places`,
  )
  const layerIn = async (path: string) => {
    const { status, body } = await askTiles(user, path)
    return [status, (body.errors_with_context[0] as { layer?: unknown }).layer]
  }
  assert.deepEqual(await layerIn('/missing/0/0/0'), [404, { id: 'missing', index: 0, type: 'table' }])
  assert.deepEqual(await layerIn('/places,missing/0/0/0'), [404, { id: 'missing', index: 1, type: 'table' }])
  assert.deepEqual(await layerIn('/places,missing'), [404, { id: 'missing', index: 1, type: 'table' }])
  assert.deepEqual(await layerIn('/broken/0/0/0'), [400, { id: 'broken', index: 0, type: 'table' }])
  assert.deepEqual(await layerIn('/places,broken/0/0/0'), [400, { id: 'broken', index: 1, type: 'table' }])
  assert.deepEqual(await layerIn('/places/99/0/0'), [400, undefined])
})

test('a table in another SRID is read by its index, and no row is missing from its tiles', async (t) => {
  const house = await setup(t)
  const { user } = house
  for (const [srid, x, y, step] of [
    [32632, 500_000, 5_500_000, 1000],
    [2154, 700_000, 6_600_000, 1000],
    [4258, 10, 50, 0.01],
    [3035, 4_321_000, 3_210_000, 1000],
    [5041, 2_000_000, 1_000_000, 1000],
  ] as const) {
    await user.sql(`create table t${srid} as select n, st_setsrid(st_point(${x} + (n % 200 - 100) * ${step}, ${y} + (n / 200 - 100) * ${step}), ${srid})::geometry(Point, ${srid}) as g
      from generate_series(0, 39999) n; create index on t${srid} using gist (g); analyze t${srid};
      create view slow${srid} as select n, st_setsrid(g, 0) as g0, st_transform(g, 3857)::geometry(Point, 3857) as the_geom_webmercator from t${srid}`)
    const {
      rows: [centre],
    } = await user.sql(
      `select st_x(c) as lon, st_y(c) as lat from st_transform(st_setsrid(st_point(${x}, ${y}), ${srid}), 4326) c`,
    )
    for (const z of [5, 8, 11, 13]) {
      const path = `${z}/${Math.floor(((centre.lon + 180) / 360) * 2 ** z)}/${Math.floor(((1 - Math.asinh(Math.tan((centre.lat * Math.PI) / 180)) / Math.PI) / 2) * 2 ** z)}`
      const numbers = async (table: string) =>
        ((await tileOf(user, `/${table}/${path}`, { query: { columns: 'n' } })).layers[table] ?? [])
          .map(({ properties }) => properties.n as number)
          .toSorted((a, b) => a - b)
      const found = await numbers(`t${srid}`)
      assert.ok(found.length > 0, `${srid} ${path}`)
      assert.deepEqual(found, await numbers(`slow${srid}`), `${srid} ${path}`)
    }
    await house.admin(`select pg_stat_force_next_flush()`, [], user.account.database)
    await eventually(async () => {
      const { rows } = await user.sql(
        `select idx_scan::int as scans from pg_stat_user_indexes where relname = 't${srid}'`,
      )
      assert.ok(rows[0].scans > 0, `the index of ${srid} is not used`)
    })
  }
  // Outside the area of the projection.
  assert.equal((await tileOf(user, '/t32632/5/0/0')).status, 204)
  assert.equal((await tileOf(user, '/t2154/8/0/250')).status, 204)
})
