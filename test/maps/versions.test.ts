import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { askMapTile, layerOf, mapOf, mapTile } from '../support/maps/map-api.ts'
import { eventually, setup } from '../support/service/setup.ts'
import { lockTable } from '../support/tiles/tile-api.ts'

const prepared = `create table t (name text, the_geom geometry(Point, 4326)); insert into t (name, the_geom) values ('a', st_point(1, 1, 4326)); select CDB_CartodbfyTable('t')`

test('a tile of an unchanged query is answered from memory, and each change shows at the next request', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(`${prepared}; create view v as select * from t where name <> 'hidden'`)
  const map = await mapOf(
    user,
    layerOf('select upper(name) as name, cartodb_id, the_geom_webmercator from v'),
  )
  const names = async () => {
    const { layers } = await mapTile(user, map, '/0/0/0.mvt')
    return (layers.layer0 ?? []).map(({ properties }) => properties.name)
  }
  const first = await mapTile(user, map, '/0/0/0.mvt')
  const tag = first.headers.get('etag')!
  const unlock = await lockTable(house, 't')
  assert.equal((await mapTile(user, map, '/0/0/0.mvt')).headers.get('etag'), tag)
  const known = await askMapTile(user, map.layergroupid, '/0/0/0.mvt', { headers: { 'if-none-match': tag } })
  assert.equal(known.status, 304)
  await unlock()
  await user.sql(`insert into t (name, the_geom) values ('b', st_point(2, 2, 4326))`)
  assert.deepEqual((await names()).sort(), ['A', 'B'])
  await user.sql(
    `begin; truncate t; insert into t (name, the_geom) values ('c', st_point(2, 2, 4326)); commit`,
  )
  assert.deepEqual(await names(), ['C'])
  await user.sql(`create or replace view v as select * from t where name <> 'c'`)
  assert.deepEqual(await names(), [])
  assert.notEqual(
    (await askMapTile(user, map.layergroupid, '/0/0/0.mvt', { headers: { 'if-none-match': tag } })).status,
    304,
  )
})

test('a cached tile is not served after a revoke or to another key', async (t) => {
  const { user } = await setup(t)
  await user.sql(prepared)
  const grants = [{ type: 'apis', apis: ['maps'] }, grantsOf({ t: ['select'] })[1]]
  const { token } = await keysClient(user).make('reader', grants)
  const map = await mapOf(user, layerOf('select * from t'), { token })
  const etag = (await mapTile(user, map, '/0/0/0.mvt', { token })).headers.get('etag')!
  const headers = { 'if-none-match': etag }
  assert.equal((await askMapTile(user, map.layergroupid, '/0/0/0.mvt', { token, headers })).status, 304)
  assert.equal((await askMapTile(user, map.layergroupid, '/0/0/0.mvt', { token: '', headers })).status, 403)
  const { rows } = await user.sql(
    `select grantee::regrole::text as role from pg_class, aclexplode(relacl) where oid = 't'::regclass and grantee <> relowner`,
  )
  await user.sql(`revoke select on t from ${rows[0].role}`)
  assert.equal((await askMapTile(user, map.layergroupid, '/0/0/0.mvt', { token, headers })).status, 403)
})

test('a tile whose rows may differ each time is made each time', async (t) => {
  const { user } = await setup(t)
  await user.sql(prepared)
  const map = await mapOf(user, layerOf('select *, clock_timestamp()::text as now from t'))
  const now = async () => (await mapTile(user, map, '/0/0/0.mvt')).layers.layer0![0]!.properties.now
  assert.notEqual(await now(), await now())
})

test("a tile shows the table's current columns, also if an earlier tile had others", async (t) => {
  const { user } = await setup(t)
  await user.sql(prepared)
  const map = await mapOf(user, layerOf('select * from t'))
  let zoom = 0
  const next = async () => {
    zoom += 1
    // One degree east and north.
    const [x, y] = [181 / 360, (1 - Math.asinh(Math.tan(Math.PI / 180)) / Math.PI) / 2]
    const place = [x, y].map((part) => Math.floor(part * 2 ** zoom))
    const { layers } = await mapTile(user, map, `/${zoom}/${place.join('/')}.mvt`)
    const { cartodb_id: _id, ...rest } = layers.layer0![0]!.properties
    return rest
  }
  for (const [change, shown] of [
    ['select', { name: 'a' }],
    ['alter table t rename name to title', { title: 'a' }],
    ['alter table t add size int default 3', { title: 'a', size: 3 }],
    ["alter table t alter size type text using size || ' m'", { title: 'a', size: '3 m' }],
    ['alter table t drop title', { size: '3 m' }],
    ["begin; alter table t rename size to width; update t set width = 'b'; commit", { width: 'b' }],
  ] as const) {
    await user.sql(change)
    assert.deepEqual([await next(), await next()], [shown, shown], change)
  }
})

test('a tile that waits while its table is changed shows the changed table', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(prepared)
  const layers = ['a', 'b'].map((id) => ({ id, options: { sql: 'select * from t' } }))
  const zoomed = { id: 'c', options: { sql: 'select * from t', minzoom: 9 } }
  const maps = [
    await mapOf(user, layerOf('select * from t')),
    await mapOf(user, { layers: [...layers, zoomed] }),
  ]
  for (const map of maps) await mapTile(user, map, '/1/1/0.mvt')
  const url = new URL(house.keys.adminUrl)
  url.pathname = `/${user.account.database}`
  const other = new pg.Client({ connectionString: url.href })
  await other.connect()
  await other.query('begin; alter table public.t rename name to title')
  const waiting = maps.map((map) => mapTile(user, map, '/0/0/0.mvt'))
  const isWaiting = "select from pg_locks where not granted and relation = 'public.t'::regclass"
  await eventually(async () => assert.equal((await other.query(isWaiting)).rowCount, 2))
  await other.query('commit')
  await other.end()
  for (const { layers: shown } of await Promise.all(waiting))
    for (const features of Object.values(shown)) assert.equal(features[0]!.properties.title, 'a')
})
