import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LayergroupDocument, NamedMapTemplate } from '../../src/contract/documents.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { askForMap, askMapTile, mapOf, mapTile } from '../support/maps/map-api.ts'
import { circles, makeMap } from '../support/maps/named-api.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'
import { askMaps, type TileCall } from '../support/tiles/tile-api.ts'

const anyone: TileCall = { token: '' }
const whole = '/0/0/0.mvt'

const tables = `create table secret as select n as cartodb_id, 'it''s ' || n as name, st_point(n * 1000, 0, 3857) as the_geom_webmercator
    from generate_series(1, 10) n;
  create table open as select * from secret where cartodb_id < 4; grant select on open to public`

/** A user with a private and a public table, and a key that reads the private one. */
async function withPainter(t: Parameters<typeof setup>[0], options: Parameters<typeof setup>[1] = {}) {
  const world = await setup(t, options)
  await world.user.sql(tables)
  const grants = [{ type: 'apis', apis: ['maps'] }, grantsOf({ secret: ['select'] })[1]]
  const { token } = await keysClient(world.user).make('painter', grants)
  return { ...world, painter: { token } }
}

const templateOf = (name: string, sql: string, more: object = {}): NamedMapTemplate => ({
  version: '0.0.1',
  name,
  layergroup: { layers: [{ id: 'rows', options: { sql } }] },
  ...more,
})

const some = templateOf('some', 'select * from secret where cartodb_id > <%= least %>', {
  placeholders: { least: { type: 'number', default: 0 } },
})

const namedLayer = (name: string, more: object = {}) => ({ type: 'named', options: { name, ...more } })
const ownLayer = (sql: string, id = 'own') => ({ id, options: { sql } })

const named = (user: TestUser, path: string, call: TileCall = {}) =>
  askMaps(user, `/api/v1/map/named${path}`, call)

const namesIn = ({ metadata }: LayergroupDocument) => metadata.layers.map(({ id }) => id)

async function refused(user: TestUser, layers: readonly unknown[], call: TileCall = anyone) {
  const { status, body } = await askForMap(user, { layers }, call)
  return [status, (body as unknown as { errors: string[] }).errors[0]] as const
}

async function storedTexts({ service }: Setup): Promise<string> {
  const { rows } = await service.services.databases.control.query<{ text: string }>(
    'select config as text from cartage.maps union all select template from cartage.map_templates',
  )
  return rows.map(({ text }) => text).join('\n')
}

test('a layer of type named becomes the layers of the named map, read as the key that created it', async (t) => {
  const { user, painter } = await withPainter(t)
  await makeMap(user, some, painter)
  const layers = [
    ownLayer('select * from open'),
    namedLayer('some', { config: { least: 8 } }),
    ownLayer('select * from open limit 1', 'last'),
  ]
  const map = await mapOf(user, { layers }, anyone)
  assert.deepEqual(namesIn(map), ['own', 'rows', 'last'])
  const tile = await mapTile(user, map, whole, anyone)
  assert.deepEqual(
    Object.entries(tile.layers).map(([name, features]) => [name, features.length]),
    [
      ['own', 3],
      ['rows', 2],
      ['last', 1],
    ],
  )
  assert.match(String(tile.headers.get('cache-control')), /^private/)
  const rows = await mapTile(user, map, `/rows${whole}`, anyone)
  assert.deepEqual(Object.keys(rows.layers), ['rows'])
  const [status] = await refused(user, [ownLayer('select * from secret'), namedLayer('some')])
  assert.equal(status, 403, 'the other layers are read as the caller')
})

test('a tile with named layers is 304 until one of its layers changes, and compressed like others', async (t) => {
  const { user, painter } = await withPainter(t)
  await user.sql("select CDB_CartodbfyTable('secret'); select CDB_CartodbfyTable('open')")
  await makeMap(user, templateOf('all', "select *, repeat('x', 2000) as more from secret"), painter)
  const map = await mapOf(user, { layers: [ownLayer('select * from open'), namedLayer('all')] }, anyone)
  const call = { ...anyone, headers: { 'accept-encoding': 'gzip' } }
  const first = await mapTile(user, map, whole, call)
  assert.equal(first.headers.get('content-encoding'), 'gzip')
  const etag = String(first.headers.get('etag'))
  const again = () =>
    askMapTile(user, map.layergroupid, whole, {
      ...anyone,
      headers: { ...call.headers, 'if-none-match': etag },
    })
  assert.equal((await again()).status, 304)
  await user.sql('delete from secret where cartodb_id = 1')
  const changed = await again()
  assert.deepEqual([changed.status, changed.layers.rows?.length], [200, 9])
})

test('a named layer needs a token of its named map, for the map and for each tile', async (t) => {
  const world = await withPainter(t)
  const { user, painter } = world
  const auth = { method: 'token', valid_tokens: ['open-sesame', 'other'] }
  await makeMap(user, { ...some, auth } as NamedMapTemplate, painter)
  for (const tokens of [{}, { auth_tokens: ['wrong'] }, { auth_tokens: 7 }])
    assert.deepEqual(await refused(user, [namedLayer('some', tokens)]), [
      403,
      'Unauthorized template instantiation',
    ])
  const map = await mapOf(user, { layers: [namedLayer('some', { auth_tokens: ['open-sesame'] })] }, anyone)
  assert.equal((await askMapTile(user, map.layergroupid, whole, anyone)).status, 403)
  assert.equal((await askMapTile(user, map.layergroupid, whole)).status, 403, 'also for the master key')
  const query = { auth_token: 'other' }
  assert.equal((await mapTile(user, map, whole, { ...anyone, query })).layers.rows?.length, 10)
  const [address] = map.metadata.tilejson.vector!.tiles
  assert.match(address!, /\.mvt\?auth_token=open-sesame$/)
  assert.ok(!(await storedTexts(world)).includes('open-sesame'), 'no token is kept')
  const { layergroupid } = await mapOf(
    user,
    { layers: [namedLayer('some', { auth_tokens: ['other'] })] },
    anyone,
  )
  assert.equal(layergroupid, map.layergroupid, 'a token does not make another map')
})

test("changing or deleting a named map, or revoking its key's rights, ends its layers at the next request", async (t) => {
  const { user, painter } = await withPainter(t)
  await makeMap(user, some, painter)
  const config = { layers: [ownLayer('select * from open'), namedLayer('some')] }
  const map = await mapOf(user, config, anyone)
  const tile = async (layergroupid: string) => (await askMapTile(user, layergroupid, whole, anyone)).status
  assert.equal(await tile(map.layergroupid), 200)
  const later = templateOf('some', 'select * from secret limit 1')
  assert.equal((await named(user, '/some', { method: 'PUT', body: later, ...painter })).status, 200)
  assert.equal(await tile(map.layergroupid), 400)
  const next = await mapOf(user, config, anyone)
  assert.notEqual(next.layergroupid, map.layergroupid)
  assert.equal(await tile(next.layergroupid), 200)
  const { rows } = await user.sql(
    "select grantee from information_schema.role_table_grants where table_name = 'secret' and privilege_type = 'SELECT' and grantee <> (select tableowner from pg_tables where tablename = 'secret')",
  )
  await user.sql(rows.map(({ grantee }) => `revoke select on secret from "${grantee}"`).join(';'))
  assert.equal(await tile(next.layergroupid), 403)
  await keysClient(user).remove('painter')
  assert.equal(await tile(next.layergroupid), 400)
  assert.equal((await refused(user, config.layers))[0], 404)
})

test('an invalid named layer is refused with the classic text: nested, unknown, or without a name', async (t) => {
  const { user, painter } = await withPainter(t)
  await makeMap(user, some, painter)
  await makeMap(user, templateOf('outer', '', { layergroup: { layers: [namedLayer('some')] } }), painter)
  await makeMap(user, templateOf('self', '', { layergroup: { layers: [namedLayer('self')] } }), painter)
  assert.deepEqual(await refused(user, [namedLayer('outer')]), [400, 'Nested named layers are not allowed'])
  const self = await named(user, '/self', { ...anyone, body: {} })
  assert.deepEqual([self.status, self.body.errors], [400, ['Nested named layers are not allowed']])
  assert.deepEqual(await refused(user, [namedLayer('none')]), [
    404,
    `Template 'none' of user '${user.username}' not found`,
  ])
  for (const name of [undefined, '', 7, {}])
    assert.deepEqual(await refused(user, [{ type: 'named', options: { name } }]), [
      400,
      'Missing Named Map `name` in layer options',
    ])
  assert.deepEqual(await refused(user, [{ type: 'named' }]), [
    400,
    'Missing options from layer 0 of layergroup config',
  ])
  const invalid = await refused(user, [namedLayer('some', { config: { least: '0; drop table open' } })])
  assert.deepEqual(invalid, [400, "Invalid number value for template parameter 'least': 0; drop table open"])
})

test('no SQL of the surrounding map runs as the key of a named map', async (t) => {
  const { user, painter } = await withPainter(t)
  const source = (id: string) => ({ layers: [{ id: 'rows', options: { source: { id } } }] })
  const analysis = (id: string, query: string) => ({ id, type: 'source', params: { query } })
  const analyses = [analysis('a', 'select * from secret where cartodb_id = 1')]
  await makeMap(user, templateOf('own', '', { layergroup: { ...source('a'), analyses } }), painter)
  await makeMap(user, templateOf('none', '', { layergroup: source('a') }), painter)
  const hostile = [analysis('a', 'select * from secret')]
  const map = await mapOf(user, { layers: [namedLayer('own')], analyses: hostile }, anyone)
  assert.equal((await mapTile(user, map, whole, anyone)).layers.rows?.length, 1)
  const missing = await askForMap(user, { layers: [namedLayer('none')], analyses: hostile }, anyone)
  assert.equal(missing.status, 400, missing.bytes.toString())
  const kept = namedLayer('own', {
    sql: 'select * from secret',
    sql_wrap: 'select * from secret',
    revision: 'x',
  })
  const wrapped = await mapOf(user, { layers: [kept] }, anyone)
  assert.equal((await mapTile(user, wrapped, whole, anyone)).layers.rows?.length, 1)
})

test('the layers of all named maps in a tile share its size limit, and those of a config its limits', async (t) => {
  const { user, painter } = await withPainter(t, { config: { tileMaxBytes: 5_000 } })
  const large = "select repeat('x', 2000) as x, st_point(0, 0, 3857) as the_geom_webmercator"
  await makeMap(user, templateOf('large', large), painter)
  const layers = ['a', 'b'].map((id) => ({ id, ...namedLayer('large') }))
  const two = await mapOf(user, { layers: [layers[0], ownLayer(large)] })
  assert.equal((await askMapTile(user, two.layergroupid, whole)).status, 200)
  const three = await mapOf(user, { layers: [layers[0], ownLayer(large), layers[1]] })
  assert.deepEqual(namesIn(three), ['a', 'own', 'b'])
  const { status, headers } = await askMapTile(user, three.layergroupid, whole)
  assert.deepEqual([status, headers.get('carto-tile-error')], [429, 'size'])
  const many = Array.from({ length: 10 }, (_, at) => ownLayer(large, `l${at}`))
  await makeMap(user, templateOf('many', '', { layergroup: { layers: many } }), painter)
  const tooMany = ['a', 'b', 'c'].map((id) => ({ id, ...namedLayer('many') }))
  assert.deepEqual(await refused(user, tooMany), [400, 'A map has at most 20 layers'])
  const long = `select /* ${'x'.repeat(60_000)} */ null::geometry as the_geom_webmercator`
  await makeMap(user, templateOf('long', long), painter)
  const tooLong = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, ...namedLayer('long') }))
  assert.deepEqual(await refused(user, tooLong), [400, 'The map config is longer than 262144 characters'])
})

test('a named map may include layers of another one, with its token, and shows its changes', async (t) => {
  const world = await withPainter(t)
  const { user, painter } = world
  const auth = { method: 'token', valid_tokens: ['open-sesame'] }
  await makeMap(user, { ...some, auth } as NamedMapTemplate, painter)
  const inner = { ...namedLayer('some', { auth_tokens: ['open-sesame'] }), id: 'places' }
  const outer = templateOf('outer', '', {
    layergroup: { layers: [ownLayer('select * from open'), inner] },
    view: { style: [circles()], popup: { places: ['name'] } },
  })
  await makeMap(user, outer)
  assert.deepEqual((await named(user, '/outer')).body.template, outer, 'read as it was sent')
  assert.ok(!(await storedTexts(world)).includes('open-sesame'), 'tokens are stored encrypted')
  const byDefaults = () => named(user, `/outer/all${whole}`, anyone)
  assert.equal((await byDefaults()).layers.places?.length, 10)
  const opened = await named(user, '/outer', { ...anyone, body: {} })
  const { layergroupid } = opened.body as unknown as LayergroupDocument
  assert.ok(!opened.bytes.includes('open-sesame'))
  assert.equal((await askMapTile(user, layergroupid, whole, anyone)).layers.places?.length, 10)
  const style = await askMaps(user, '/map/outer.json', anyone)
  assert.deepEqual(Object.keys(style.body.sources as object).slice(-2), ['own', 'places'])
  const later = { ...templateOf('some', 'select * from secret limit 2'), auth }
  assert.equal((await named(user, '/some', { method: 'PUT', body: later })).status, 200)
  assert.equal((await askMapTile(user, layergroupid, whole, anyone)).status, 400)
  assert.equal((await byDefaults()).layers.places?.length, 2)
})

test('attributes of a named layer are read as the key of its named map', async (t) => {
  const { user, painter } = await withPainter(t)
  const attributes = { id: 'cartodb_id', columns: ['name'] }
  const layers = [{ id: 'rows', options: { sql: 'select * from secret', attributes } }]
  await makeMap(user, templateOf('some', '', { layergroup: { layers } }), painter)
  const map = await mapOf(user, { layers: [namedLayer('some')] }, anyone)
  const reply = await askMapTile(user, map.layergroupid, '/rows/attributes/7', anyone)
  assert.deepEqual([reply.status, reply.body], [200, { name: "it's 7" }])
})
