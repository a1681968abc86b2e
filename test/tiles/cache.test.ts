import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import zlib from 'node:zlib'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { basic, eventually, setup, type TestUser } from '../support/service/setup.ts'
import { askTiles, lockTable, readTile, type TileCall, tileOf } from '../support/tiles/tile-api.ts'

const table = `create table t (name text, the_geom geometry(Point, 4326)); insert into t values ('a', st_point(1, 1, 4326));
  select CDB_CartodbfyTable('t')`

const names = (
  layers: Readonly<Record<string, readonly { properties: Readonly<Record<string, unknown>> }[]>>,
) => (layers.t ?? []).map(({ properties }) => properties.name).toSorted()

test('a tile of a prepared table is cached: 304 and 200 come without reading the table', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(table)
  const first = await tileOf(user, '/t/0/0/0')
  const etag = first.headers.get('etag')!
  assert.match(etag, /^"[\w-]+"$/)
  assert.equal(first.headers.get('cache-control'), 'private, no-cache')
  assert.equal(first.headers.get('vary'), 'Authorization, Accept-Encoding')
  const free = await lockTable(house, 't')
  assert.equal(
    (await askTiles(user, '/t/0/0/0', { headers: { 'if-none-match': `"x", ${etag}` } })).status,
    304,
  )
  assert.deepEqual(names((await tileOf(user, '/t/0/0/0')).layers), ['a'])
  await free()
})

test('waiting requests for tiles of one table share a version look-up that begins after they arrived', async (t) => {
  const house = await setup(t)
  const { admin, user } = house
  await user.sql(table)
  await tileOf(user, '/t/0/0/0')
  const lookUps = async () => {
    const { rows } = await admin(
      `select count(*)::int as n from pg_stat_activity where datname = $1 and query like '%_CDB_TileLayer%' and state = 'active'`,
      [user.account.database],
    )
    return (rows[0] as { n: number }).n
  }
  const free = await lockTable(house, 'table_changes', 'cartage')
  const first = tileOf(user, '/t/0/0/0')
  await eventually(async () => assert.equal(await lookUps(), 1))
  const others = Array.from({ length: 8 }, () => tileOf(user, '/t/0/0/0'))
  await sleep(200)
  assert.equal(await lookUps(), 1)
  await free()
  for (const reply of await Promise.all([first, ...others])) assert.deepEqual(names(reply.layers), ['a'])
})

test('the next request after a commit sees the change', async (t) => {
  const { user } = await setup(t)
  await user.sql(table)
  const tags = new Set<string>()
  const now = async () => {
    const { layers, headers } = await tileOf(user, '/t/0/0/0')
    tags.add(headers.get('etag')!)
    await tileOf(user, '/t/0/0/0')
    return names(layers)
  }
  assert.deepEqual(await now(), ['a'])
  const changes: [string, unknown[]][] = [
    [`insert into t (name, the_geom) values ('b', st_point(2, 2, 4326))`, ['a', 'b']],
    [`update t set name = 'c' where name = 'b'`, ['a', 'c']],
    [`delete from t where name = 'a'`, ['c']],
    [`truncate t`, []],
    [`begin; insert into t (name, the_geom) values ('d', st_point(2, 2, 4326)); commit`, ['d']],
    [`alter table t rename name to old; alter table t add name text default 'e'`, ['e']],
    [`alter table t disable trigger all; update t set name = 'f'; alter table t enable trigger all`, ['f']],
    [
      `create type kind as enum ('x'); alter table t alter name drop default, alter name type kind using 'x'`,
      ['x'],
    ],
    [`alter type kind rename value 'x' to 'y'`, ['y']],
    [`alter table t rename to u; create table t as select 'g' as name, the_geom from u`, ['g']],
  ]
  for (const [change, wanted] of changes) {
    await user.sql(change)
    assert.deepEqual(await now(), wanted, change)
  }
  assert.equal(tags.size, changes.length + 1)
})

test('a tile is made each time if changes of its rows cannot be detected', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${table}; create table plain as select name, the_geom from t; create view seen as select clock_timestamp()::text as name, the_geom from t;
    create table guarded as select name, the_geom from t; select CDB_CartodbfyTable('guarded');
    alter table guarded enable row level security; create policy p on guarded using (true)`)
  for (const name of ['plain', 'seen', 'guarded']) {
    const one = await tileOf(user, `/${name}/0/0/0`)
    await user.sql(`update ${name === 'seen' ? 't' : name} set name = 'z'`)
    const other = await tileOf(user, `/${name}/0/0/0`)
    assert.notEqual(one.headers.get('etag'), other.headers.get('etag'), name)
    assert.notDeepEqual(one.layers, other.layers, name)
  }
  const same = await tileOf(user, '/plain/0/0/0')
  const headers = { 'if-none-match': same.headers.get('etag')! }
  assert.equal((await askTiles(user, '/plain/0/0/0', { headers })).status, 304)
})

test('writing to, adding or detaching a partition changes the tile of the partitioned table', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (cartodb_id serial, name text, the_geom geometry(Point, 4326), part int, primary key (cartodb_id, part)) partition by list (part);
    create table one partition of t for values in (1); select CDB_CartodbfyTable('t')`)
  const now = async () => names((await tileOf(user, '/t/0/0/0')).layers)
  const row = (name: string, part: number) => `values ('${name}', st_point(1, 1, 4326), ${part})`
  await user.sql(`insert into t (name, the_geom, part) ${row('a', 1)}`)
  assert.deepEqual(await now(), ['a'])
  await user.sql(`insert into one (name, the_geom, part) ${row('b', 1)}`)
  assert.deepEqual(await now(), ['a', 'b'])
  await user.sql(`create table two (like t including all); insert into two (name, the_geom, part) ${row('c', 2)};
    update two set the_geom_webmercator = st_transform(the_geom, 3857); alter table t attach partition two for values in (2)`)
  assert.deepEqual(await now(), ['a', 'b', 'c'])
  // It has no trigger for changes.
  await user.sql(`delete from two`)
  assert.deepEqual(await now(), ['a', 'b'])
  await user.sql(`drop table one`)
  assert.deepEqual(await now(), [])
})

test('a cached tile is not served to a key that may no longer read it, nor to another key', async (t) => {
  const { user } = await setup(t)
  await user.sql(table)
  const keys = keysClient(user)
  const make = async (name: string, tables: Record<string, readonly string[]>) =>
    (await keys.make(name, [{ type: 'apis', apis: ['maps'] }, grantsOf(tables)[1]])).token
  const call = (token: string, etag = ''): TileCall => ({ token, headers: { 'if-none-match': etag } })
  const [reader, other] = [await make('reader', { t: ['select'] }), await make('other', {})]
  const etag = (await tileOf(user, '/t/0/0/0', { token: reader })).headers.get('etag')!
  await tileOf(user, '/t/0/0/0', { token: reader })
  assert.equal((await askTiles(user, '/t/0/0/0', call(other, etag))).status, 404)
  const { body } = await keys.regenerate('reader')
  assert.equal((await askTiles(user, '/t/0/0/0', call(reader, etag))).status, 401)
  assert.equal((await askTiles(user, '/t/0/0/0', call(body.token, etag))).status, 304)
  const role = await roleNamed(user, 'reader')
  await user.sql(`revoke select on t from "${role}"`)
  assert.equal((await askTiles(user, '/t/0/0/0', call(body.token, etag))).status, 404)
  await user.sql(`grant select (name, the_geom_webmercator) on t to "${role}"`)
  const some = await tileOf(user, '/t/0/0/0', call(body.token, etag))
  assert.deepEqual(some.layers.t![0]!.properties, { name: 'a' })
  await keys.remove('reader')
  assert.equal((await askTiles(user, '/t/0/0/0', call(body.token))).status, 401)
  await user.sql('drop table t')
  assert.equal((await askTiles(user, '/t/0/0/0', { headers: { 'if-none-match': etag } })).status, 404)
})

async function roleNamed(user: TestUser, name: string): Promise<string> {
  const { body } = await keysClient(user).read(name)
  assert.equal(body.name, name)
  const { rows } = await user.sql(
    `select grantee from information_schema.role_table_grants where table_name = 't' and grantee like '%\\_k%' limit 1`,
  )
  return rows[0]!.grantee
}

test('a tile is compressed with zstd where Node can do that, else with the next that the client accepts', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    'create table t as select md5(n::text) as name, st_point(n / 100.0, 1, 4326) as the_geom from generate_series(1, 500) n',
  )
  const plain = await tileOf(user, '/t/0/0/0', { headers: { 'accept-encoding': 'identity' } })
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { ...basic(user.username, user.masterToken), 'accept-encoding': 'zstd, gzip;q=0.5' }
    get(`${user.base}/api/v1/tiles/t/0/0/0`, { headers }, resolve).on('error', reject)
  })
  const bytes = await buffer(answer)
  const { zstdDecompressSync: unpack } = zlib as typeof zlib & { zstdDecompressSync?: typeof zlib.gunzipSync }
  assert.equal(answer.headers['content-encoding'], unpack ? 'zstd' : 'gzip')
  assert.deepEqual(readTile((unpack ?? zlib.gunzipSync)(bytes)), plain.layers)
})

test('a long tile is compressed as the client prefers, each encoding with its own ETag', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t as select md5(n::text) as name, st_point(n / 100.0, 1, 4326) as the_geom from generate_series(1, 500) n;
    select CDB_CartodbfyTable('t')`)
  const plain = await tileOf(user, '/t/0/0/0', { headers: { 'accept-encoding': 'identity' } })
  const tags = new Set([plain.headers.get('etag')])
  for (const encoding of ['gzip', 'br', 'gzip', 'br']) {
    const reply = await tileOf(user, '/t/0/0/0', { headers: { 'accept-encoding': encoding } })
    assert.equal(reply.headers.get('content-encoding'), encoding)
    assert.ok(Number(reply.headers.get('content-length')) < plain.bytes.length)
    assert.deepEqual(reply.layers, plain.layers)
    tags.add(reply.headers.get('etag'))
    const headers = { 'accept-encoding': encoding, 'if-none-match': reply.headers.get('etag')! }
    const again = await askTiles(user, '/t/0/0/0', { headers })
    assert.deepEqual([again.status, again.headers.get('etag')], [304, reply.headers.get('etag')])
  }
  assert.equal(tags.size, 3)
  const old = await tileOf(user, '/t/0/0/0', { query: { max_age: '60' } })
  assert.equal(old.headers.get('cache-control'), 'private, max-age=60')
})
