import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateStyleMin } from '@maplibre/maplibre-gl-style-spec'
import type { MapPageMetadata, StyleDocument } from '../../src/contract/documents.ts'
import { grantsOf, keysClient, roleOf } from '../support/keys/keys-client.ts'
import { circles, makeMap, places, templateOf } from '../support/maps/named-api.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'
import { askMaps, lockTable, readTile, type TileCall } from '../support/tiles/tile-api.ts'

const anonymous = { token: '' }

const prepared = `create table dots (the_geom geometry(Point, 4326)); select CDB_CartodbfyTable('dots');
  insert into dots (the_geom) values (st_point(1, 1, 4326)), (st_point(2, 2, 4326))`

const askStyle = (user: TestUser, name: string, call: TileCall = {}) =>
  askMaps(user, `/map/${name}.json`, { ...anonymous, ...call })

async function styleOf(user: TestUser, name: string, call: TileCall = {}): Promise<StyleDocument> {
  const { status, body, bytes } = await askStyle(user, name, call)
  assert.equal(status, 200, bytes.toString())
  const style = body as unknown as StyleDocument
  assert.deepEqual(validateStyleMin(style as never), [])
  return style
}

const cartageOf = ({ metadata }: StyleDocument) => metadata.cartage as MapPageMetadata

const tilesOf = ({ sources }: StyleDocument, source = 'places') =>
  (sources[source] as { tiles: string[] }).tiles[0]!.replace('{z}/{x}/{y}', '0/0/0')

test('the style of a named map has its layers, basemap and place, and its tiles need no key', async (t) => {
  const { user, url } = await setup(t)
  await user.sql(places)
  const view = {
    title: 'Places',
    description: 'All',
    style: [circles()],
    popup: { places: ['name'] },
    legend: [{ items: [{ label: 'a place', color: '#0b6e6e' }] }],
    center: { lng: 1, lat: 2 },
    zoom: 3,
  }
  await makeMap(user, templateOf('shops', view))
  const reply = await askStyle(user, 'shops')
  assert.equal(reply.headers.get('access-control-allow-origin'), '*')
  assert.match(reply.headers.get('cache-control')!, /no-cache/)
  const style = await styleOf(user, 'shops')
  assert.deepEqual([style.name, style.center, style.zoom], ['Places', [1, 2], 3])
  assert.deepEqual(cartageOf(style), {
    title: 'Places',
    description: 'All',
    basemap: cartageOf(style).basemap,
    popup: view.popup,
    legend: [{ items: [{ ...view.legend[0]!.items[0], shape: 'point' }] }],
  })
  assert.deepEqual(style.layers.at(-1), { ...circles(), 'source-layer': 'places' })
  const tile = await fetch(tilesOf(style))
  assert.equal(readTile(Buffer.from(await tile.arrayBuffer())).places!.length, 10)
  const { 'basemap:source': world } = style.sources as Record<string, { data: string }>
  if (world) {
    const countries = await fetch(world.data, { headers: { origin: 'https://elsewhere.example' } })
    assert.equal(countries.headers.get('access-control-allow-origin'), '*')
    assert.equal(((await countries.json()) as { type: string }).type, 'FeatureCollection')
    assert.ok(world.data.startsWith(`${url}/console/assets/countries-`), world.data)
  }
  const dark = await styleOf(user, 'shops', { query: { theme: 'dark' } })
  assert.notDeepEqual(dark.layers[0], style.layers[0])
  assert.equal((await askStyle(user, 'shops', { query: { theme: 'pink' } })).status, 400)
  const again = { 'if-none-match': reply.headers.get('etag')! }
  assert.equal((await askStyle(user, 'shops', { headers: again })).status, 304)
})

test('a named map without a view is drawn where its rows are, each layer in its own colour', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${places}; create table roads as select * from places`)
  const layers = ['places', 'roads'].map((id) => ({ id, options: { sql: `select * from ${id}` } }))
  await makeMap(user, templateOf('both', undefined, { layergroup: { layers } }))
  const style = await styleOf(user, 'both')
  const { layers: drawn, center, zoom } = style
  const { bounds } = cartageOf(style)
  const colours = drawn
    .filter(({ type }) => type === 'circle')
    .map(({ paint }) => (paint as Record<string, unknown>)['circle-color'])
  assert.equal(new Set(colours).size, 2)
  const [west, , east] = bounds!
  assert.ok(Math.abs(west! - 0.898) < 0.01 && Math.abs(east! - 8.983) < 0.01, String(bounds))
  assert.ok(Math.abs(center[0]! - 4.94) < 0.01 && zoom > 3 && zoom < 9, `${center} ${zoom}`)
})

test("the style reveals nothing of the map's SQL, tables and key", async (t) => {
  const { user } = await setup(t)
  await user.sql(`${places}; alter table places rename to secret_places`)
  const { token } = await keysClient(user).make('painter', [
    { type: 'apis', apis: ['maps'] },
    grantsOf({ secret_places: ['select'] })[1],
  ])
  const sql = "select cartodb_id, name, the_geom_webmercator from secret_places where name <> '<%= hidden %>'"
  const more = {
    placeholders: { hidden: { type: 'sql_literal', default: 'x' } },
    layergroup: { layers: [{ id: 'places', options: { sql, attribution: '<b>Us & them</b>' } }] },
  }
  await makeMap(user, templateOf('shops', { style: [circles()] }, more), { token })
  const { bytes } = await askStyle(user, 'shops')
  for (const word of ['secret_places', 'select', 'hidden', 'painter', 'the_geom', token])
    assert.ok(!bytes.includes(word), word)
  assert.ok(bytes.includes('&#60;b&#62;Us &#38; them'), bytes.toString())
  await user.sql('revoke select on secret_places from public; drop table secret_places')
  const dropped = await askStyle(user, 'shops')
  assert.ok(!dropped.bytes.includes('secret_places'))
})

test('the style of a map with tokens needs one, and its tile addresses include it', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const auth = { method: 'token', valid_tokens: ['a b', 'c'] }
  await makeMap(user, templateOf('shops', { style: [circles()] }, { auth }))
  for (const query of [{}, { auth_token: 'wrong' }] as Record<string, string>[]) {
    const { status, body } = await askStyle(user, 'shops', { query })
    assert.deepEqual([status, body.errors], [403, ['Unauthorized template instantiation']])
  }
  const style = await styleOf(user, 'shops', { query: { auth_token: 'a b' } })
  assert.match(tilesOf(style), /\?auth_token=a\+b$/)
  assert.equal((await fetch(tilesOf(style))).status, 200)
})

test('a map without a view keeps the basemap, whatever the ids of its layers are', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const layers = [{ id: 'basemap:source', options: { sql: 'select * from places' } }]
  await makeMap(user, templateOf('odd', undefined, { layergroup: { layers } }))
  const { body } = await askStyle(user, 'odd')
  const { 'basemap:source': world } = (body as unknown as StyleDocument).sources
  assert.equal((world as { type: string }).type, 'geojson')
})

test('the extent of the rows is looked up again after a failure, and forgotten after a revoke', async (t) => {
  const { user } = await setup(t)
  await makeMap(user, templateOf('shops', undefined))
  const bounds = async () => cartageOf(await styleOf(user, 'shops')).bounds
  assert.equal(await bounds(), undefined, 'there is no table')
  await user.sql(places)
  await eventually(async () => assert.equal((await bounds())?.length, 4))
  await user.sql('alter table places rename to hidden')
  await eventually(async () => assert.equal(await bounds(), undefined))
})

test('the next request after a REVOKE is told no extent, also of a table whose changes are not recorded', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(`${places}; ${prepared}`)
  const { token } = await keysClient(user).make('painter', [
    { type: 'apis', apis: ['maps'] },
    grantsOf({ places: ['select'], dots: ['select'] })[1],
  ])
  const role = await roleOf(house, user, 'painter')
  for (const table of ['places', 'dots']) {
    const layers = [{ id: table, options: { sql: `select * from ${table}` } }]
    await makeMap(user, templateOf(table, undefined, { layergroup: { layers } }), { token })
    const bounds = async () => cartageOf(await styleOf(user, table)).bounds
    assert.equal((await bounds())?.length, 4, table)
    assert.deepEqual(await bounds(), await bounds(), table)
    await user.sql(`revoke select on ${table} from "${role}"`)
    assert.equal(await bounds(), undefined, table)
    await user.sql(`grant select on ${table} to "${role}"`)
    await eventually(async () => assert.equal((await bounds())?.length, 4, table))
  }
})

test('the extent of unchanged rows is told without reading them, and each change shows at the next request', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(prepared)
  const layers = [{ id: 'dots', options: { sql: 'select * from dots' } }]
  await makeMap(user, templateOf('dots', undefined, { layergroup: { layers } }))
  const bounds = async () => cartageOf(await styleOf(user, 'dots')).bounds
  assert.deepEqual(await bounds(), [1, 1, 2, 2])
  const unlock = await lockTable(house, 'dots')
  assert.deepEqual(await bounds(), [1, 1, 2, 2])
  await unlock()
  await user.sql(`insert into dots (the_geom) values (st_point(5, 4, 4326))`)
  assert.deepEqual(await bounds(), [1, 1, 5, 4])
  await user.sql('delete from dots where cartodb_id > 1')
  assert.deepEqual(await bounds(), [1, 1, 1, 1])
})

test('viewers see no errors of the map itself, only those of their own parameters', async (t) => {
  const { user } = await setup(t)
  const analyses = [{ id: 'a', type: 'source', params: { query: 'select * from secret_places' } }]
  const dataviews = { secret_view: { type: 'formula', source: { id: 'a' }, options: { operation: 'spy' } } }
  const layers = [{ id: 'places', options: { source: { id: 'a' } } }]
  await makeMap(user, templateOf('shops', undefined, { layergroup: { layers, analyses, dataviews } }))
  const { status, body } = await askStyle(user, 'shops')
  assert.deepEqual([status, body.errors], [400, ['This map cannot be drawn']])
  const theme = await askStyle(user, 'shops', { query: { theme: 'pink' } })
  assert.deepEqual([theme.status, theme.body.errors], [400, ['theme must be one of light, dark']])
})

test('an unknown map or account is 404, and deleting a map or key ends style and tiles at the next request', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const { token } = await keysClient(user).make('painter', [
    { type: 'apis', apis: ['maps'] },
    grantsOf({ places: ['select'] })[1],
  ])
  await makeMap(user, templateOf('one', { style: [circles()] }))
  await makeMap(user, templateOf('two', { style: [circles()] }), { token })
  assert.equal((await askStyle(user, 'none')).status, 404)
  const base = user.base.replace(user.username, 'nobody-here')
  assert.equal((await askStyle(user, 'one', { base })).status, 404)
  const [one, two] = [tilesOf(await styleOf(user, 'one')), tilesOf(await styleOf(user, 'two'))]
  assert.deepEqual([(await fetch(one)).status, (await fetch(two)).status], [200, 200])
  await askMaps(user, '/api/v1/map/named/one', { method: 'DELETE' })
  await keysClient(user).remove('painter')
  for (const name of ['one', 'two']) assert.equal((await askStyle(user, name)).status, 404)
  assert.deepEqual([(await fetch(one)).status, (await fetch(two)).status], [404, 404])
})

test('only a basemap that the operator allows is accepted, and it is no longer drawn if that changes', async (t) => {
  const address = 'https://tiles.example/{z}/{x}/{y}.png'
  const allowed = { config: { mapBasemaps: [{ address, attribution: '© <Them>' }] } }
  const { user } = await setup(t, allowed)
  await user.sql(places)
  await makeMap(user, templateOf('shops', { basemap: address, style: [circles()] }))
  const style = await styleOf(user, 'shops')
  const { sources } = style
  assert.equal(cartageOf(style).basemap, 'tiles')
  const { tiles, attribution } = sources['basemap:source'] as { tiles: string[]; attribution: string }
  assert.deepEqual([tiles, attribution], [[address], '© &#60;Them&#62;'])
  await makeMap(user, templateOf('bare', { basemap: 'none', style: [circles()] }))
  assert.deepEqual(Object.keys((await styleOf(user, 'bare')).sources), ['places'])
})
