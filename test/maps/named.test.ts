import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LayergroupDocument, NamedMapTemplate } from '../../src/contract/documents.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { askMapTile, layerOf, mapOf, mapTile } from '../support/maps/map-api.ts'
import { basic, setup, type TestUser } from '../support/service/setup.ts'
import { askMaps, readTile, type TileCall } from '../support/tiles/tile-api.ts'

const places = `create table places as select n as cartodb_id, 'it''s ' || n as name, n * 1.5 as size, st_setsrid(st_makepoint(n * 1000, 0), 3857) as the_geom_webmercator
  from generate_series(1, 10) n`

const template = (name: string, sql: string, more: object = {}): NamedMapTemplate => ({
  version: '0.0.1',
  name,
  layergroup: { layers: [{ type: 'cartodb', options: { sql } }] },
  ...more,
})

const named = (user: TestUser, path: string, call: TileCall = {}) =>
  askMaps(user, `/api/v1/map/named${path}`, call)

async function keyWith(
  user: TestUser,
  name: string,
  tables: Record<string, readonly string[]>,
): Promise<string> {
  return (await keysClient(user).make(name, [{ type: 'apis', apis: ['maps'] }, grantsOf(tables)[1]])).token
}

async function made(user: TestUser, sent: NamedMapTemplate, call: TileCall = {}): Promise<void> {
  const reply = await named(user, '', { ...call, body: sent })
  assert.deepEqual([reply.status, reply.body], [200, { template_id: sent.name }])
}

async function opened(
  user: TestUser,
  name: string,
  values: object = {},
  call: TileCall = {},
): Promise<LayergroupDocument> {
  const reply = await named(user, `/${name}`, { token: '', ...call, body: values })
  assert.equal(reply.status, 200, reply.bytes.toString())
  return reply.body as unknown as LayergroupDocument
}

test('a named map is created, read, listed, replaced and deleted', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const sent = template('shops', 'select * from places', {
    view: { zoom: 3, center: { lng: 1, lat: 2 } },
    auth: { method: 'token', valid_tokens: ['a', 'b'] },
  })
  await made(user, { ...sent, api_key: user.masterToken, client: 'x' } as never, { token: '' })
  assert.deepEqual((await named(user, '')).body, { template_ids: ['shops'] })
  const read = await named(user, '/shops')
  assert.deepEqual(
    [read.body, read.headers.get('cache-control')],
    [{ template: sent, runs_as: 'Master' }, 'no-store'],
  )
  const put = (name: string, body: unknown) => named(user, `/${name}`, { method: 'PUT', body })
  const later = template('shops', 'select * from places limit 1')
  assert.deepEqual((await put('shops', later)).body, { template_id: 'shops' })
  assert.deepEqual((await named(user, '/shops')).body.template, later)
  for (const [reply, status, text] of [
    [await named(user, '', { body: sent }), 400, /^Template 'shops' of user '.*' already exists$/],
    [
      await put('shops', template('other', 'select 1')),
      400,
      /^Cannot update name of a map template \('shops' != 'other'\)$/,
    ],
    [await put('none', template('none', 'select 1')), 404, /^Template 'none' of user '.*' not found$/],
    [await named(user, '/none'), 404, /not found$/],
    [await named(user, '/none', { body: {} }), 404, /not found$/],
    [await named(user, '/none', { method: 'DELETE' }), 404, /not found$/],
    [await named(user, '', { token: '' }), 403, /^Forbidden$/],
    [await named(user, '', { token: 'wrong' }), 401, /^Unauthorized$/],
  ] as const) {
    assert.equal(reply.status, status)
    assert.match(reply.body.errors[0]!, text)
  }
  assert.equal((await named(user, '/shops', { method: 'DELETE' })).status, 204)
  assert.deepEqual((await named(user, '')).body, { template_ids: [] })
})

test('an invalid template is refused with the classic text', async (t) => {
  const { user } = await setup(t)
  const good = template('t', 'select 1')
  const holder = (placeholder: object) => ({ ...good, placeholders: { p: placeholder } })
  for (const [sent, text] of [
    [{ ...good, version: '1' }, /^Unsupported template version 1$/],
    [{ ...good, name: undefined }, /^Missing template name$/],
    [{ ...good, name: '_t' }, /^Invalid characters in template name '_t'$/],
    [{ ...good, name: 'a/b' }, /^Invalid characters/],
    [{ ...good, layergroup: undefined }, /^Missing layergroup$/],
    [{ ...good, layergroup: { layers: [] } }, /^Missing or empty layers array from layergroup config$/],
    [{ ...good, layergroup: { layers: [{}] } }, /^Missing `options` in layergroup config for layers: 0$/],
    [{ ...good, auth: { method: 'magic' } }, /^Unsupported authentication method: magic$/],
    [{ ...good, auth: { method: 'token' } }, /missing valid_tokens$/],
    [{ ...good, auth: { method: 'token', valid_tokens: [] } }, /no valid_tokens$/],
    [holder({ type: 'number' }), /^Missing default for placeholder 'p'$/],
    [holder({ default: 1 }), /^Missing type for placeholder 'p'$/],
    [holder({ type: 'sql', default: 1 }), /^Invalid placeholder type 'sql'$/],
    [holder({ type: 'number', default: 'x' }), /^Invalid number value for template parameter 'p': x$/],
    [
      { ...good, placeholders: { 'a b': { type: 'number', default: 1 } } },
      /^Invalid characters in placeholder name 'a b'$/,
    ],
  ] as const) {
    const { status, body } = await named(user, '', { body: sent })
    assert.equal(status, 400)
    assert.match(body.errors[0]!, text)
  }
})

test('anyone can open an open map, which runs with the rights of the key that created it', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${places}; create table secret as select * from places`)
  const token = await keyWith(user, 'painter', { places: ['select'] })
  await made(user, template('shops', 'select * from places'), { token })
  await made(user, template('secrets', 'select * from secret'), { token })
  const map = await opened(user, 'shops')
  assert.match(map.layergroupid, new RegExp(`^${user.username}@[0-9a-f]{8}@[0-9a-f]{32}:\\d+$`))
  assert.equal((await mapTile(user, map, '/0/0/0.mvt', { token: '' })).layers.layer0!.length, 10)
  const refused = await named(user, '/secrets', { token: '', body: {} })
  assert.deepEqual([refused.status, refused.body.errors], [403, ['permission denied for table secret']])
  // The same holds after the master key has changed it, and if the master key opens it.
  await named(user, '/shops', { method: 'PUT', body: template('shops', 'select * from secret') })
  for (const viewer of ['', user.masterToken])
    assert.equal((await named(user, '/shops', { token: viewer, body: {} })).status, 403)
  assert.equal((await named(user, '/shops')).body.runs_as, 'painter')
  const other = await keyWith(user, 'other', { secret: ['select'] })
  assert.deepEqual((await named(user, '', { token: other })).body, { template_ids: [] })
  for (const method of ['GET', 'DELETE'])
    assert.equal((await named(user, '/shops', { token: other, method })).status, 404)
  const replaced = await named(user, '/shops', {
    token: other,
    method: 'PUT',
    body: template('shops', 'select 1'),
  })
  assert.equal(replaced.status, 404)
  // A key that is sent must be valid, and changes nothing.
  assert.equal((await named(user, '/shops', { token: 'wrong', body: {} })).status, 401)
  assert.equal((await named(user, '/shops', { headers: basic('x', other), body: {} })).status, 403)
  await keysClient(user).remove('painter')
  assert.equal((await named(user, '/shops', { token: '', body: {} })).status, 404)
})

test("one of a map's tokens opens the map and its tiles", async (t) => {
  const { user, admin, service } = await setup(t)
  await user.sql(places)
  const auth = { method: 'token', valid_tokens: ['first-token', 'second-token'] }
  await made(user, template('shops', 'select * from places', { auth }))
  for (const query of [{}, { auth_token: 'x' }, { auth_token: '' }, { api_key: user.masterToken }] as Record<
    string,
    string
  >[]) {
    const reply = await named(user, '/shops', { token: '', query, body: {} })
    assert.deepEqual([reply.status, reply.body.errors], [403, ['Unauthorized template instantiation']])
  }
  const map = await opened(user, 'shops', {}, { query: { auth_token: 'second-token' } })
  assert.match(map.metadata.tilejson.vector!.tiles[0]!, /\?auth_token=second-token$/)
  const ask = (search: string) => askMapTile(user, map.layergroupid, `/0/0/0.mvt${search}`, { token: '' })
  for (const [search, status] of [
    ['', 403],
    ['?auth_token=third', 403],
    ['?auth_token=first-token', 200],
    ['?auth_token=x&auth_token=second-token', 200],
    ['?auth_token[]=x&auth_token[]=second-token', 200],
  ] as const)
    assert.equal((await ask(search)).status, status, search)
  const { rows } = await service.services.databases.control.query('select * from cartage.map_templates')
  assert.ok(!JSON.stringify(rows).includes('second-token'))
  assert.ok(admin)
})

test('PUT and DELETE end the maps that were opened before', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const sent = template('shops', 'select * from places')
  await made(user, sent)
  const ask = async ({ layergroupid }: LayergroupDocument) => {
    const { status, body } = await askMapTile(user, layergroupid, '/0/0/0.mvt', { token: '' })
    return status === 200 ? 200 : `${status} ${body.errors[0]!.slice(0, 40)}`
  }
  const first = await opened(user, 'shops')
  assert.equal(await ask(first), 200)
  await named(user, '/shops', { method: 'PUT', body: sent })
  assert.equal(await ask(first), '400 Invalid or nonexistent map configuration')
  const second = await opened(user, 'shops')
  assert.equal(await ask(second), 200)
  await named(user, '/shops', { method: 'DELETE' })
  assert.equal(await ask(second), '400 Invalid or nonexistent map configuration')
  await made(user, sent)
  assert.equal(await ask(second), '400 Invalid or nonexistent map configuration')
})

test("the id of a key's map is not accepted as that of a template, nor the other way round", async (t) => {
  const { user, createUser } = await setup(t)
  await user.sql(`${places}; create table secret as select * from places`)
  const token = await keyWith(user, 'painter', { places: ['select'] })
  await made(user, template('shops', 'select * from places'))
  const { layergroupid } = await opened(user, 'shops')
  const [name, revision, id] = layergroupid.split(':')[0]!.split('@')
  const own = await mapOf(user, layerOf('select * from secret'))
  const other = await createUser()
  for (const [who, tried, status] of [
    [user, `${name}@${revision}@${own.layergroupid}`, 400],
    [user, id!, 400],
    [user, `${other.username}@${revision}@${id}`, 403],
    [other, layergroupid, 403],
    [user, `${name}@ffffffff@${id}`, 400],
    [user, `${name}@@${id}`, 400],
  ] as const)
    assert.equal(
      (await askMapTile(who, tried, '/0/0/0.mvt', { token: who === user ? token : '' })).status,
      status,
      tried,
    )
})

test('values are inserted by their context and never become SQL', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const sql = `select cartodb_id, <%= text %> as bare, '<%= text %>' as quoted, E'<%= text %>' as escaped, $x$<%= text %>$x$ as dollar, 1 as "<%= column %>",
    <%= number %> + 1 as sum, '''<%= text %>''' as nested, the_geom_webmercator from places where <%= other %> > <%= number %> /* <%= text %> */`
  await made(
    user,
    template('t', sql, {
      placeholders: {
        text: { type: 'sql_literal', default: 'plain' },
        column: { type: 'sql_ident', default: 'one' },
        other: { type: 'sql_ident', default: 'cartodb_id' },
        number: { type: 'number', default: 9 },
        color: { type: 'css_color', default: 'red' },
      },
    }),
  )
  const shown = async (values: object) => {
    const map = await opened(user, 't', values)
    return (await mapTile(user, map, '/0/0/0.mvt', { token: '' })).layers.layer0![0]!.properties
  }
  const plain = { bare: 'plain', quoted: 'plain', escaped: 'plain', dollar: 'plain', nested: "'plain'" }
  assert.deepEqual(await shown({ unknown: 1 }), { cartodb_id: 10, ...plain, one: 1, sum: 10 })
  const nasty = `it's \\' */ $x$ "; drop table places; --`
  const { nested, dollar, ...rest } = await shown({
    text: nasty,
    column: 'a"b',
    number: '8.5',
    other: 'size',
  })
  assert.deepEqual(rest, { cartodb_id: 6, bare: nasty, quoted: nasty, escaped: nasty, 'a"b': 1, sum: 9.5 })
  assert.ok(!`${dollar}`.includes('$') && !`${nested}`.slice(1, -1).includes("'"))
  for (const [values, text] of [
    [{ number: '1; drop table places' }, /^Invalid number value/],
    [{ number: {} }, /^Invalid number value/],
    [{ color: 'red;}' }, /^Invalid css_color value/],
    [{ other: 'cartodb_id > 0 or "x' }, /does not exist/],
  ] as const) {
    const { status, body } = await named(user, '/t', { token: '', body: values })
    assert.equal(status, 400)
    assert.match(body.errors[0]!, text)
  }
  const byGet = await named(user, '/t/jsonp', {
    token: '',
    query: { callback: 'f', config: JSON.stringify({ number: 5 }) },
  })
  assert.match(byGet.bytes.toString(), /^\/\*\*\/f\(\{"layergroupid"/)
  const tile = await named(user, '/t/0/0/0/0.mvt', { token: '' })
  assert.equal(tile.layers.layer0!.length, 1)
})

test('the client manages and opens named maps', async (t) => {
  const house = await setup(t)
  await house.user.sql(places)
  const client = clientOf(t, house)
  await client.maps.create(
    template('shops', 'select * from places', { auth: { method: 'token', valid_tokens: ['a'] } }),
  )
  assert.deepEqual(await client.maps.list(), ['shops'])
  assert.equal((await client.maps.read('shops')).runs_as, 'Master')
  await client.maps.replace(template('shops', 'select * from places'))
  const { layergroupid } = await client.maps.open('shops', {}, { auth_token: 'a' })
  const place = { z: 0, x: 0, y: 0 }
  for (const bytes of [
    await client.maps.tile(layergroupid, place),
    await client.maps.tile(layergroupid, place, { layer: '0' }),
    await client.maps.namedTile('shops', place),
  ])
    assert.equal(readTile(bytes).layer0!.length, 10)
  await client.maps.delete('shops')
  await assert.rejects(client.maps.read('shops'), { status: 404 })
})
