import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { LayergroupDocument, NamedMapTemplate } from '../../src/contract/documents.ts'
import { keysClient } from '../support/keys/keys-client.ts'
import { askForMap, askMapTile, mapOf, mapTile } from '../support/maps/map-api.ts'
import { makeMap, writeMap } from '../support/maps/named-api.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'
import { askMaps, lockTable } from '../support/tiles/tile-api.ts'

const point = 'select 1 as cartodb_id, st_point(0, 0, 3857) as the_geom_webmercator'
const whole = '/0/0/0.mvt'

const templateOf = (name: string, layergroup: object, more: object = {}) =>
  ({ version: '0.0.1', name, layergroup, ...more }) as NamedMapTemplate

const layer = (id: unknown, more: object = {}) => ({ id, options: { sql: point, ...more } })
const named = (name: string, more: object = {}) => ({ type: 'named', options: { name }, ...more })

async function refused(user: TestUser, layers: readonly unknown[]) {
  const { status, body } = await askForMap(user, { layers })
  return [status, (body as unknown as { errors: string[] }).errors?.[0]] as const
}

/** The queries on templates that `work` sends to the control database. */
async function templateQueries(t: TestContext, { service }: Setup, work: () => Promise<unknown>) {
  const { control } = service.services.databases
  const spy = t.mock.method(control, 'query')
  await work()
  const asked = spy.mock.calls.map(({ arguments: [text] }) => String(text))
  spy.mock.restore()
  return asked.filter((text) => text.includes('map_templates'))
}

test('a map of thousands of named layers is refused before a template is read', async (t) => {
  const world = await setup(t)
  const { user } = world
  const x = Array.from({ length: 80_000 }, () => [])
  await makeMap(user, templateOf('a', { layers: [layer('a')], x }))
  const many = Array.from({ length: 6_300 }, () => named('a'))
  const asked = await templateQueries(t, world, async () => {
    assert.deepEqual(await refused(user, many), [400, 'A map has at most 20 layers'])
  })
  assert.deepEqual(asked, [])
  const twenty = Array.from({ length: 20 }, (_, at) => named('a', { id: `a${at}` }))
  const { metadata } = await mapOf(user, { layers: twenty })
  assert.equal(metadata.layers.length, 20)
})

test('the cache of maps is limited by the number of layers, not of named maps', async (t) => {
  const { user, service } = await setup(t)
  const x = 'x'.repeat(200_000)
  await makeMap(user, templateOf('a', { layers: [layer('a', { x })] }))
  const maps: LayergroupDocument[] = []
  for (let at = 0; at < 25; at += 1) maps.push(await mapOf(user, { layers: [named('a', { id: `a${at}` })] }))
  await service.services.databases.control.query('delete from cartage.maps where user_id = $1', [
    user.account.userId,
  ])
  const statuses: number[] = []
  for (const { layergroupid } of maps) statuses.push((await askMapTile(user, layergroupid, whole)).status)
  assert.equal(statuses[0], 400, 'the first is forgotten')
  assert.equal(statuses.at(-1), 200, 'the last is kept')
  assert.ok(statuses.filter((status) => status === 200).length * x.length < 4 * 1024 ** 2)
})

test('an id that is not text is refused for a named layer and in a named map', async (t) => {
  const { user } = await setup(t)
  const hostile = { toString: 1, valueOf: 1 }
  await makeMap(user, templateOf('one', { layers: [layer('a')] }))
  await makeMap(user, templateOf('two', { layers: [layer('a'), layer(hostile)] }))
  for (const id of [hostile, [hostile], 7, true])
    assert.deepEqual(await refused(user, [named('one', { id })]), [
      400,
      'The id of layer 0 must be text without a comma',
    ])
  assert.deepEqual(await refused(user, [named('none', { id: hostile })]), [
    400,
    'The id of layer 0 must be text without a comma',
  ])
  assert.deepEqual(await refused(user, [named('two', { id: 'x' })]), [
    400,
    'The id of layer 1 must be text without a comma',
  ])
  assert.equal((await askForMap(user, { layers: [named('one', { id: null })] })).status, 200)
})

test('one query finds all named maps of a tile, and does not read their texts', async (t) => {
  const world = await setup(t)
  const { user } = world
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) await makeMap(user, templateOf(name, { layers: [layer(name)] }))
  const layers = names.map((name) => named(name))
  await makeMap(user, templateOf('outer', { layers }))
  const map = await mapOf(user, { layers })
  const ofMap = await templateQueries(t, world, () => mapTile(user, map, whole))
  assert.equal(ofMap.length, 1)
  assert.ok(!ofMap[0]!.includes('t.template'), ofMap[0])
  const opened = await askMaps(user, '/api/v1/map/named/outer', { body: {} })
  const ofOpened = await templateQueries(t, world, () => mapTile(user, opened.body as never, whole))
  assert.deepEqual(
    ofOpened.map((text) => text.includes('t.template')),
    [false, false],
    'the head of the outer map and the heads of the others',
  )
  const byDefaults = async () => {
    const { status, bytes } = await askMaps(user, `/api/v1/map/named/outer/all${whole}`)
    assert.equal(status, 200, bytes.toString())
  }
  await byDefaults()
  const again = await templateQueries(t, world, byDefaults)
  assert.deepEqual(
    again.map((text) => text.includes('t.template')),
    [false, false],
    'the head of the outer map and the heads of the others',
  )
})

test('a page with layers of other named maps is read once until one of them changes', async (t) => {
  const world = await setup(t)
  const { user } = world
  await makeMap(user, templateOf('inner', { layers: [layer('a')] }))
  const view = { center: { lng: 0, lat: 0 }, zoom: 1 }
  await makeMap(user, templateOf('outer', { layers: [named('inner')] }, { view }))
  const page = async () => {
    const { status, body, bytes } = await askMaps(user, '/map/outer.json')
    assert.equal(status, 200, bytes.toString())
    return Object.keys(body.sources as object).at(-1)
  }
  assert.equal(await page(), 'a')
  const again = await templateQueries(t, world, page)
  assert.equal(again.filter((text) => text.includes('t.template')).length, 0)
  const changed = { method: 'PUT', body: templateOf('inner', { layers: [layer('b')] }) }
  assert.equal((await askMaps(user, '/api/v1/map/named/inner', changed)).status, 200)
  assert.equal(await page(), 'b')
})

test('a named layer is shown only at the zooms of its named map', async (t) => {
  const { user } = await setup(t)
  const layers = [layer('plain'), layer('low', { minzoom: 2, maxzoom: 4 }), layer('high', { maxzoom: 20 })]
  await makeMap(user, templateOf('inner', { minzoom: 1, maxzoom: 10, layers }))
  const map = await mapOf(user, { layers: [layer('own'), named('inner')] })
  const shownAt = async (z: number) =>
    Object.keys((await mapTile(user, map, `/${z}/${2 ** z / 2}/${2 ** z / 2}.mvt`)).layers)
  assert.deepEqual(await shownAt(1), ['own', 'plain', 'high'])
  assert.deepEqual(await shownAt(3), ['own', 'plain', 'low', 'high'])
  assert.deepEqual(await shownAt(10), ['own', 'plain', 'high'])
  assert.deepEqual(await shownAt(11), ['own'])
})

test('a placeholder cannot turn a layer into one of type named', async (t) => {
  const { user } = await setup(t)
  await makeMap(user, templateOf('inner', { layers: [layer('a')] }))
  const outer = (type: string, standard: string) =>
    templateOf(
      'outer',
      { layers: [{ type, options: { sql: point, name: 'inner', auth_tokens: ['secret'] } }] },
      { placeholders: { t: { type: 'sql_ident', default: standard } } },
    )
  const refusal = ['A placeholder cannot make a layer one of type named']
  for (const type of ['<%= t %>', 'n<%= t %>']) {
    const { status, body } = await writeMap(user, outer(type, type === '<%= t %>' ? 'named' : 'amed'))
    assert.deepEqual([status, body.errors], [400, refusal])
  }
  await makeMap(user, outer('<%= t %>', 'mapnik'))
  const opened = await askMaps(user, '/api/v1/map/named/outer', { body: { t: 'named' } })
  assert.deepEqual([opened.status, opened.body.errors], [400, refusal])
  assert.equal((await askMaps(user, '/api/v1/map/named/outer', { body: {} })).status, 200)
})

/** A named map created by another key than the master key. */
async function makeForeign(user: TestUser, template: NamedMapTemplate, tables: readonly string[] = []) {
  const granted = tables.map((name) => ({ schema: 'public', name, permissions: ['select'] }))
  const grants = [
    { type: 'apis', apis: ['maps'] },
    ...(granted.length > 0 ? [{ type: 'database', tables: granted }] : []),
  ]
  await makeMap(user, template, { token: (await keysClient(user).make('painter', grants)).token })
}

test('layers read by several keys share the time limit of one tile', async (t) => {
  const { user } = await setup(t, { config: { tileTimeoutMs: 3_000 } })
  const sql = 'select pg_sleep(0.4), st_point(0, 0, 3857) as the_geom_webmercator'
  await makeForeign(user, templateOf('slow', { layers: [layer('a', { sql })] }))
  const layers = Array.from({ length: 10 }, (_, at) =>
    at % 2 === 0 ? layer(`l${at}`, { sql }) : named('slow', { id: `l${at}` }),
  )
  const few = await mapOf(user, { layers: layers.slice(0, 2) })
  assert.equal((await askMapTile(user, few.layergroupid, whole)).status, 200)
  const { layergroupid } = await mapOf(user, { layers })
  const { status, headers } = await askMapTile(user, layergroupid, whole)
  assert.deepEqual([status, headers.get('carto-tile-error')], [429, 'timeout'])
})

test('layers read by one key are one snapshot, also those of its named maps', async (t) => {
  const { user } = await setup(t)
  const sql = 'select now()::text as at, st_point(0, 0, 3857) as the_geom_webmercator'
  await makeMap(user, templateOf('inner', { layers: [layer('a', { sql })] }))
  const map = await mapOf(user, { layers: [layer('own', { sql }), named('inner')] })
  const { own, a } = (await mapTile(user, map, whole)).layers
  assert.equal(own![0]!.properties.at, a![0]!.properties.at)
})

const two = `create table secret as select 1 as cartodb_id, st_point(0, 0, 3857) as the_geom_webmercator;
  create table own as select * from secret;
  select CDB_CartodbfyTable('secret'); select CDB_CartodbfyTable('own')`

test('a tile with named layers is 304 for a client that has it and reads no rows, even if no longer cached', async (t) => {
  const world = await setup(t, { config: { tileCacheBytes: 0, tileTimeoutMs: 3_000 } })
  const { user } = world
  await user.sql(two)
  const inner = templateOf('inner', { layers: [layer('a', { sql: 'select * from secret' })] })
  await makeForeign(user, inner, ['secret'])
  const layers = [layer('own', { sql: 'select * from own' }), named('inner')]
  const { layergroupid } = await mapOf(user, { layers })
  const first = await askMapTile(user, layergroupid, whole)
  assert.deepEqual(Object.keys(first.layers), ['own', 'a'])
  const headers = { 'if-none-match': String(first.headers.get('etag')) }
  const unlock = await lockTable(world, 'secret')
  try {
    assert.equal((await askMapTile(user, layergroupid, whole, { headers })).status, 304)
  } finally {
    await unlock()
  }
})

test('tiles with named layers that change each time take no cache space', async (t) => {
  const world = await setup(t, { config: { tileCacheBytes: 100_000, tileTimeoutMs: 3_000 } })
  const { user } = world
  await user.sql(two)
  const random = `select (select string_agg(md5(random()::text), '') from generate_series(1, 1000)) as x, st_point(0, 0, 3857) as the_geom_webmercator`
  await makeForeign(user, templateOf('random', { layers: [layer('a', { sql: random })] }))
  const cached = await mapOf(user, { layers: [layer('own', { sql: 'select * from own' })] })
  const call = { headers: { 'accept-encoding': 'gzip' } }
  await mapTile(user, cached, whole, call)
  const mixed = await mapOf(user, { layers: [layer('b', { sql: random }), named('random')] })
  for (let turn = 0; turn < 5; turn += 1) await mapTile(user, mixed, whole, call)
  const unlock = await lockTable(world, 'own')
  try {
    assert.deepEqual(Object.keys((await mapTile(user, cached, whole, call)).layers), ['own'])
  } finally {
    await unlock()
  }
})
