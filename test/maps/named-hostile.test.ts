import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LayergroupDocument } from '../../src/contract/documents.ts'
import { askMapTile, mapTile } from '../support/maps/map-api.ts'
import { basic, setup, type TestUser } from '../support/service/setup.ts'
import { askMaps, type TileCall } from '../support/tiles/tile-api.ts'

const point = 'select 1 as cartodb_id, st_setsrid(st_makepoint(1, 1), 3857) as the_geom_webmercator'

const template = (name: string, sql: string = point, more: object = {}) => ({
  version: '0.0.1',
  name,
  layergroup: { layers: [{ type: 'cartodb', options: { sql } }] },
  ...more,
})

const named = (user: TestUser, path: string, call: TileCall = {}) =>
  askMaps(user, `/api/v1/map/named${path}`, call)

async function made(user: TestUser, sent: Readonly<{ name: string; layergroup: object }>): Promise<void> {
  const reply = await named(user, '', { body: sent })
  assert.deepEqual([reply.status, reply.body], [200, { template_id: sent.name }])
}

const open = (user: TestUser, path: string, values: unknown = {}) =>
  named(user, `/${path}`, { token: '', body: values })

/** Sends this and expects a refusal with this text. */
async function refused(user: TestUser, path: string, sent: unknown, text: RegExp): Promise<void> {
  const { status, body, bytes } = await named(user, path, { body: sent })
  assert.equal(status, 400, `${JSON.stringify(sent).slice(0, 200)}: ${status} ${bytes}`)
  assert.match(body.errors[0]!, text)
}

/** Parameters with `count` tokens. */
const tokensWith = (last: string, count: number) =>
  [...Array.from({ length: count - 1 }, (_, index) => `no-${index}`), last]
    .map((token) => `auth_token=${token}`)
    .join('&')

test('a template has at most 100 tokens of at most 1,024 characters, and a viewer sends at most 20', async (t) => {
  const { user } = await setup(t)
  const withTokens = (tokens: readonly string[]) =>
    template('t', point, { auth: { method: 'token', valid_tokens: tokens } })
  const many = Array.from({ length: 101 }, (_, index) => `token-${index}`)
  await refused(user, '', withTokens(many), /more than 100 valid_tokens$/)
  await refused(user, '', withTokens(['a', 'x'.repeat(1_025)]), /texts of 1 to 1024 characters$/)
  const longest = 'x'.repeat(1_024)
  await made(user, withTokens([...many.slice(0, 99), longest]))
  for (const [query, status] of [
    [`auth_token=${longest}`, 200],
    [`auth_token=${longest}x`, 403],
    [tokensWith('token-98', 20), 200],
    [tokensWith('token-98', 21), 403],
  ] as const)
    assert.equal((await open(user, `t?${query}`)).status, status, query.slice(-40))
})

test('an unknown auth is refused and does not create an open map', async (t) => {
  const { user } = await setup(t)
  for (const auth of [
    'token',
    '',
    false,
    0,
    ['token'],
    {},
    { valid_tokens: ['secret'] },
    { method: null, valid_tokens: ['secret'] },
    { method: 'open', valid_tokens: ['secret'] },
    { method: 'Token', valid_tokens: ['secret'] },
    { method: ['token'], valid_tokens: ['secret'] },
    { method: { toString: 1 }, valid_tokens: ['secret'] },
  ])
    await refused(user, '', template('t', point, { auth }), /auth|method/i)
  assert.deepEqual((await named(user, '')).body, { template_ids: [] })
  for (const [index, auth] of [undefined, null, { method: 'open' }].entries()) {
    await made(user, template(`t${index}`, point, { auth }))
    assert.equal((await open(user, `t${index}`)).status, 200)
  }
})

test('rendering stops before its values make it too long', async (t) => {
  const { user } = await setup(t)
  const text = { type: 'sql_literal', default: 'x' }
  const placeholders = { a: text }
  const tooLong = /^The rendered template is longer than 262144 characters$/
  const longest = 'v'.repeat(16_384)
  await made(user, template('one', `${point}, <%= a %> as a`, { placeholders }))
  assert.equal((await open(user, 'one', { a: longest })).status, 200)
  await refused(
    user,
    '/one',
    { a: `${longest}v` },
    /^The value of template parameter 'a' is longer than 16384/,
  )
  await made(user, template('columns', `${point}${', <%= a %> as a'.repeat(20)}`, { placeholders }))
  await refused(user, '/columns', { a: longest }, tooLong)
  // Also where quotes are doubled or removed.
  await refused(user, '/columns', { a: "'".repeat(8_000) }, tooLong)
  await made(user, template('comment', `${point} /* ${'<%= a %>'.repeat(20)} */`, { placeholders }))
  await refused(user, '/comment', { a: "'".repeat(16_384) }, tooLong)
  const layers = [{ options: { sql: point, metadata: { title: '<%= a %>'.repeat(20) } } }]
  await made(user, { ...template('texts', point, { placeholders }), layergroup: { layers } })
  await refused(user, '/texts', { a: longest }, tooLong)
  // The defaults alone are too long.
  const long = { a: { type: 'sql_literal', default: longest } }
  await refused(
    user,
    '',
    template('t', `${point}${', <%= a %> as a'.repeat(20)}`, { placeholders: long }),
    tooLong,
  )
})

test('a template has at most 100 placeholders and 100 levels', async (t) => {
  const { user } = await setup(t)
  const holders = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`p${index}`, { type: 'number', default: 1 }]),
    )
  await refused(user, '', template('t', point, { placeholders: holders(101) }), /at most 100 placeholders$/)
  await made(user, template('t', point, { placeholders: holders(100) }))
  const long = { ['p'.repeat(64)]: { type: 'number', default: 1 } }
  await refused(user, '', template('t', point, { placeholders: long }), /^Invalid characters in placeholder/)
  const send = async (body: string, path = '') => {
    const headers = { ...basic(user.username, user.masterToken), 'content-type': 'application/json' }
    const reply = await fetch(`${user.base}/api/v1/map/named${path}`, { method: 'POST', headers, body })
    return [reply.status, await reply.text()] as const
  }
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  for (const body of [
    nested(100_000),
    JSON.stringify(template('d', point, { view: 'V' })).replace('"V"', nested(100_000)),
    JSON.stringify(template('d', point, { view: 'V' })).replace('"V"', nested(100)),
    JSON.stringify(template('d', 'V')).replace('"V"', nested(100_000)),
    `{"version":${nested(100_000)}}`,
  ]) {
    const [status, text] = await send(body)
    assert.equal(status, 400, text.slice(0, 200))
  }
  const deep = JSON.stringify(template('d', point, { view: { other: 'V' } })).replace('"V"', nested(98))
  assert.equal((await send(deep))[0], 200)
  assert.equal((await send(`{"p0":${nested(100_000)}}`, '/t'))[0], 400)
})

test('a value with a backslash does not change how the literal on the next line is parsed', async (t) => {
  const { user } = await setup(t)
  const sql = String.raw`select 1 as cartodb_id, st_setsrid(st_makepoint(1, 1), 3857) as the_geom_webmercator, <%= a %>
    '\' || <%= b %> as x`
  const text = { type: 'sql_literal', default: 'x' }
  await made(user, template('t', sql, { placeholders: { a: text, b: text } }))
  for (const values of [
    { a: '\\', b: ' as x, current_user as y --' },
    { a: String.raw`it's \' `, b: String.raw`\'' as x, current_user as y --` },
  ]) {
    const { status, body, bytes } = await open(user, 't', values)
    assert.equal(status, 200, bytes.toString())
    const map = body as unknown as LayergroupDocument
    const tile = await mapTile(user, map, '/0/0/0.mvt', { token: '' })
    assert.deepEqual(tile.layers.layer0![0]!.properties, { cartodb_id: 1, x: `${values.a}\\${values.b}` })
  }
})

test('tile addresses have the token that opened the map', async (t) => {
  const { user } = await setup(t)
  await made(user, template('t', point, { auth: { method: 'token', valid_tokens: ['good'] } }))
  await made(user, template('open'))
  for (const [path, end] of [
    ['t?auth_token=bad&auth_token=good', /\?auth_token=good$/],
    ['t?auth_token=bad&auth_token[]=worse&auth_token[]=good', /\?auth_token=good$/],
    ['open?auth_token=bad', /\.mvt$/],
  ] as const) {
    const { body } = await open(user, path)
    const { layergroupid, metadata } = body as unknown as LayergroupDocument
    const address = metadata.tilejson.vector!.tiles[0]!
    assert.match(address, end)
    const { search } = new URL(address)
    const tile = await askMapTile(user, layergroupid, `/0/0/0.mvt${search}`, { token: '' })
    assert.equal(tile.status, 200)
  }
})

test('the token of a viewer is not accepted as a request id', async (t) => {
  const { user } = await setup(t)
  await made(user, template('t', point, { auth: { method: 'token', valid_tokens: ['viewer'] } }))
  const idOf = async (id: string, query: string) => {
    const reply = await named(user, `/t?${query}`, { token: '', headers: { 'x-request-id': id }, body: {} })
    assert.equal(reply.status, 200)
    return reply.headers.get('x-request-id')
  }
  assert.equal(await idOf('mine', 'auth_token=viewer'), 'mine')
  for (const query of [
    'auth_token=viewer',
    'auth_token=x&auth_token=viewer',
    'auth_token[]=viewer',
    'auth_token%5B%5D=viewer',
    'x=?&auth_token=viewer',
  ])
    assert.notEqual(await idOf('viewer', query), 'viewer', query)
})

test('a tile with the default values works even if the template has members named like credentials', async (t) => {
  const { user } = await setup(t)
  const sent = template('t')
  const who = { client: 'x', api_key: 'y', map_key: 'z' }
  await made(user, { ...sent, layergroup: { ...sent.layergroup, ...who } })
  for (const _ of [1, 2]) {
    const tile = await named(user, '/t/0/0/0/0.mvt', { token: '' })
    assert.equal(tile.status, 200, tile.bytes.toString())
  }
})

test('members and values of a wrong type are refused', async (t) => {
  const { user } = await setup(t)
  const wrong: readonly unknown[] = [
    { toString: 1, valueOf: 1 },
    { toString: null },
    [{ toString: 1 }],
    true,
    -1,
    {},
    [],
  ]
  const good = template('t')
  const holder = (placeholder: unknown) => ({ ...good, placeholders: { p: placeholder } })
  for (const value of [...wrong, null])
    for (const sent of [
      { ...good, version: value },
      { ...good, name: value },
      { ...good, layergroup: value },
      { ...good, layergroup: { layers: value } },
      { ...good, layergroup: { layers: [value] } },
      { ...good, layergroup: { layers: [{ options: value === null ? 1 : [value] }] } },
      { ...good, auth: { method: value } },
      { ...good, auth: { method: 'token', valid_tokens: value } },
      { ...good, auth: { method: 'token', valid_tokens: [value] } },
      holder(value),
      holder({ type: value, default: 1 }),
      holder({ type: 'css_color', default: value }),
    ])
      await refused(user, '', sent, /./)
  for (const placeholders of [[], ['p'], 'p', 1, true])
    await refused(user, '', { ...good, placeholders }, /^placeholders must be an object$/)
  await made(user, holder({ type: 'css_color', default: 'red' }))
  for (const value of [...wrong, null])
    await refused(user, '/t', { p: value }, /^Invalid css_color value for template parameter 'p'/)
  // A number that is slow to refuse.
  await made(user, { ...holder({ type: 'number', default: 1 }), name: 'n' })
  await refused(user, '/n', { p: `${'1'.repeat(16_000)}x` }, /^Invalid number value/)
  for (const values of wrong.filter((value) => !('p' in Object(value))))
    assert.equal((await open(user, 't', values)).status, 200, JSON.stringify(values))
  for (const config of ['[', '1', '"x"', '{"p":{"toString":1}}']) {
    const { status } = await named(user, '/t/jsonp', { token: '', query: { config } })
    assert.ok([200, 400].includes(status), `${config} ${status}`)
  }
})
