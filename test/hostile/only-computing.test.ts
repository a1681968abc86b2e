import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keysClient } from '../support/keys/keys-client.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const sql = async ({ base }: TestUser, q: string, token?: string) => {
  const response = await fetch(`${base}/api/v2/sql`, {
    method: 'POST',
    body: new URLSearchParams({ q, ...(token && { api_key: token }) }),
  })
  const body = (await response.json()) as { error?: string[] }
  return { status: response.status, error: body.error?.[0] ?? '' }
}

async function creator(user: TestUser): Promise<string> {
  const { body } = await keysClient(user).create('creator', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', tables: [], schemas: [{ name: 'public', permissions: ['create'] }] },
  ])
  return (body as { token: string }).token
}

test('an expression of a key calls no PostGIS function that runs its arguments as SQL or changes tables', async (t) => {
  const { user } = await setup(t)
  const key = await creator(user)
  await user.sql('create table secret (a int)')
  assert.equal((await sql(user, 'create table t0 as select st_makepoint(0,0) as the_geom', key)).status, 200)
  for (const text of [
    `create view trap as select st_findextent('public', 't0', 'the_geom') as e`,
    `create table trap (a text default addgeometrycolumn('public','secret','pwned',4326,'POINT',2,true))`,
    `create view trap as select find_srid('public', 't0', 'the_geom') as e`,
    `create view trap as select CDB_QueryTablesText('select 1') as e`,
  ]) {
    const { status, error } = await sql(user, text, key)
    assert.deepEqual(
      [status, /data, not code|permission denied/.test(error)],
      [403, true],
      `${text}: ${error}`,
    )
  }
  const harmless = `create view map as select st_asgeojson(st_transform(st_setsrid(the_geom, 4326), 3857)) as g,
    st_extent(the_geom) over () as e, CDB_LatLng(1, 2) as p from t0`
  assert.deepEqual(await sql(user, harmless, key), { status: 200, error: '' })
})

test('a key cannot take a name of PostGIS or the service and so change its meaning for others', async (t) => {
  const { user } = await setup(t)
  const key = await creator(user)
  for (const name of ['geometry', 'geography', 'spatial_ref_sys', 'box3d', 'cdb_tablemetadata']) {
    const { status, error } = await sql(user, `create table ${name} (a int)`, key)
    assert.deepEqual([status, /belongs to/.test(error)], [403, true], `${name}: ${error}`)
  }
  await sql(
    user,
    'create table fine (a int, b int, constraint mine unique (b)); create index ai on fine (a)',
    key,
  )
  for (const text of [
    'alter table fine rename to geometry',
    'alter index fine rename to geometry',
    'create index spatial_ref_sys on fine (a)',
    'alter index ai rename to spatial_ref_sys',
    'alter table fine add constraint geometry_columns unique (a)',
    'alter table fine rename constraint mine to geometry_columns',
  ]) {
    const { status, error } = await sql(user, text, key)
    assert.deepEqual([status, /belongs to/.test(error)], [403, true], `${text}: ${error}`)
  }
})

test('callers without a key take no advisory locks, lock nothing by GRANT, and read no statistics of private tables', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table pts as select st_setsrid(st_makepoint(1, 2), 4326) as the_geom`)
  for (const text of [
    'select pg_advisory_lock(1)',
    'select pg_advisory_xact_lock_shared(1, 2)',
    'grant usage on schema public to public',
    `select _postgis_stats('pts', 'the_geom')`,
    `select st_estimatedextent('public', 'pts', 'the_geom')`,
    `select pg_logical_emit_message(false, 'x', 'y')`,
  ]) {
    assert.equal((await sql(user, text)).status, 403, text)
  }
  assert.equal((await sql(user, 'select pg_advisory_xact_lock(1)', user.masterToken)).status, 200)
})

test('no advisory lock function of PostgreSQL is open to callers without a key or to keys', async (t) => {
  const { user, admin } = await setup(t)
  const { rows } = await admin(
    `select oid::regprocedure::text as name, has_function_privilege($1, oid, 'execute') as open
     from pg_proc where proname ~ 'advisory(_xact)?_lock'`,
    [user.account.publicRole],
    user.account.database,
  )
  assert.ok(rows.length >= 16, String(rows.length))
  assert.deepEqual(
    rows.filter(({ open }) => open),
    [],
  )
})

test('master cannot create an extension in a schema of the service', async (t) => {
  const { user } = await setup(t)
  for (const schema of ['cartage', 'cartodb', 'postgis', 'pg_catalog']) {
    const { status } = await sql(user, `create extension hstore schema ${schema}`, user.masterToken)
    assert.equal(status, 403, schema)
  }
  assert.equal((await sql(user, 'create extension hstore schema public', user.masterToken)).status, 200)
})

test('a key that locks the public role in a transaction locks out no callers without a key', async (t) => {
  const { user } = await setup(t)
  const { body } = await keysClient(user).create('none', [{ type: 'apis', apis: ['sql'] }])
  const role = `"${user.account.publicRole}"`
  const holding = sql(
    user,
    `set role ${role}; alter role ${role} set local_preload_libraries = 'nope'; commit;
     begin; alter role ${role} set work_mem = '5MB'; alter role ${role} password 'y'; select pg_sleep(20)`,
    (body as { token: string }).token,
  )
  const answers = []
  for (let turn = 0; turn < 4; turn++) answers.push((await sql(user, 'select 1')).status)
  assert.deepEqual(answers, [200, 200, 200, 200])
  await holding
})
