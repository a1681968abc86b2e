import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { askForMap, askMapTile, layerOf, mapOf, mapTile } from '../support/maps/map-api.ts'
import { setup } from '../support/service/setup.ts'

const point = 'select 1 as n, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator'

test('the SQL of a layer must be a single SELECT that writes nothing', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table victims as select 1 as n')
  const attacks = [
    `${point}) as t; drop table victims; select * from (${point}`,
    `${point}; drop table victims`,
    `${point}; commit; drop table victims`,
    `with gone as (delete from victims returning *) ${point}`,
    `select * from (with gone as (delete from victims returning *) select * from gone) g, (${point}) p`,
    `${point} into stolen`,
    'delete from victims',
    'drop table victims',
    `copy victims to program 'id'`,
    'do $$ begin delete from victims; end $$',
    'set role postgres',
    'begin',
    '',
    '-- nothing',
    `${point} /* open`,
    `${point} \u0027`,
    `${point}\u037e drop table victims`,
  ]
  for (const sql of attacks) {
    const reply = await askForMap(user, layerOf(sql))
    assert.equal(reply.status, 400, sql)
  }
  for (const sql_wrap of ['<%= sql %>; drop table victims', 'drop table victims', 7])
    assert.equal((await askForMap(user, layerOf(point, { sql_wrap }))).status, 400)
  assert.deepEqual((await user.sql('select n from victims')).rows, [{ n: 1 }])
  const wrapped = await mapOf(
    user,
    layerOf(`${point};`, { sql_wrap: 'select n + 1 as n, the_geom_webmercator from (<%= sql %>) as w' }),
  )
  assert.equal((await mapTile(user, wrapped, '/0/0/0.mvt')).layers.layer0![0]!.properties.n, 2)
})

test('a layer can neither write nor change its settings nor keep a lock', async (t) => {
  const { user, admin } = await setup(t, { config: { tileTimeoutMs: 1_000 } })
  await user.sql(`create table victims as select 1 as n;
    create function kill_victims() returns int language plpgsql as $$ begin delete from victims; return 1; end $$;
    create function kill_later() returns int language plpgsql as $$ begin
      perform set_config('transaction_read_only', 'off', false); delete from victims; return 1; end $$`)
  for (const sql of [
    `select kill_victims() as n, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator`,
    `select kill_later() as n, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator`,
    `select set_config('transaction_read_only', 'off', false) as n, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator`,
    `${point} from victims for update`,
    `select nextval('s') as n, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator`,
  ]) {
    const made = await askForMap(user, layerOf(sql))
    if (made.status === 200) {
      const tile = await askMapTile(user, made.body.layergroupid, '/0/0/0.mvt')
      assert.ok(tile.status >= 400, sql)
    }
  }
  assert.deepEqual((await user.sql('select n from victims')).rows, [{ n: 1 }])
  const locking = await mapOf(
    user,
    layerOf(
      `select pg_advisory_lock(4711)::text as n, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator`,
    ),
  )
  await mapTile(user, locking, '/0/0/0.mvt')
  const { rows } = await admin(`select from pg_locks where locktype = 'advisory' and objid = 4711`)
  assert.equal(rows.length, 0)
  const patient = await mapOf(
    user,
    layerOf(
      `select set_config('statement_timeout', '0', false), pg_sleep(60), st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator`,
    ),
  )
  const late = await askMapTile(user, patient.layergroupid, '/0/0/0.mvt')
  assert.deepEqual([late.status, late.headers.get('carto-tile-error')], [429, 'timeout'])
})

test('the layergroupid of another key shows nothing the caller may not read, also right after a revoke', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table places as ${point}`)
  const grants = [{ type: 'apis', apis: ['maps'] }, grantsOf({ places: ['select'] })[1]]
  const { token } = await keysClient(user).make('reader', grants)
  const { layergroupid } = await mapOf(user, layerOf('select * from places'), { token })
  assert.equal((await askMapTile(user, layergroupid, '/0/0/0.mvt', { token })).status, 200)
  assert.equal((await askMapTile(user, layergroupid, '/0/0/0.mvt', { token: '' })).status, 403)
  const { rows } = await user.sql(
    `select grantee::regrole::text as role from pg_class, aclexplode(relacl) where oid = 'places'::regclass and grantee <> relowner`,
  )
  assert.equal(rows.length, 1)
  await user.sql(`revoke select on places from ${rows[0].role}`)
  assert.equal((await askMapTile(user, layergroupid, '/0/0/0.mvt', { token })).status, 403)
  await keysClient(user).remove('reader')
  assert.equal((await askMapTile(user, layergroupid, '/0/0/0.mvt', { token })).status, 401)
})

test('coordinates beyond the world and a shape of a million vertices do no harm', async (t) => {
  const { user } = await setup(t)
  const map = await mapOf(user, layerOf(point))
  assert.equal((await askMapTile(user, map.layergroupid, '/31/0/0.mvt')).status, 400)
  assert.equal((await askMapTile(user, map.layergroupid, `/0/1${'0'.repeat(30)}/0.mvt`)).status, 200)
  assert.equal((await askMapTile(user, map.layergroupid, `/0/1${'0'.repeat(40)}/0.mvt`)).status, 400)
  const huge = `select st_setsrid(st_makeline(array(select st_makepoint(n, n % 7) from generate_series(1, 1000000) n)), 3857) as the_geom_webmercator`
  const reply = await askMapTile(user, (await mapOf(user, layerOf(huge))).layergroupid, '/0/0/0.mvt')
  assert.ok([200, 204, 429].includes(reply.status))
})
