import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf } from '../support/keys/keys-client.ts'
import { callerOf, paused, startWithReplica, toReplica } from '../support/postgres/replica-world.ts'
import { eventually } from '../support/service/setup.ts'

test('COPY TO STDOUT with read_from replica comes from a replica, or complete from the primary', async (t) => {
  const { user, standby } = await startWithReplica(t)
  await user.sql('create table t as select generate_series(1, 3) as n')
  const copy = (query: string, headers = toReplica) =>
    user.get(`/api/v2/sql/copyto?q=${encodeURIComponent(`copy (${query}) to stdout`)}`, headers)
  await eventually(async () => {
    const { status, text, age } = await copy('select n, pg_is_in_recovery() from t')
    assert.deepEqual([status, text, age !== null], [200, '1\tt\n2\tt\n3\tt\n', true])
  })
  assert.equal((await copy('select 1', { 'x-read-from': 'primary' })).age, null)
  await paused(t, standby, async () => {
    await user.sql('create table late as select 7 as n')
    const { status, text, age } = await copy('select n from late')
    assert.deepEqual({ status, text, age }, { status: 200, text: '7\n', age: null })
  })
})

test('a key with read_from replica reads from a replica, unless the request says otherwise', async (t) => {
  const { user } = await startWithReplica(t)
  const made = await user.key('v4/keys', 'POST', { name: 'k', grants: grantsOf(), read_from: 'replica' })
  assert.equal(made.read_from, 'replica')
  const reader = callerOf(user.service, user.username, made.token)
  const place = 'select pg_is_in_recovery() as replica'
  await eventually(async () => assert.deepEqual((await reader.sql(place)).rows, [{ replica: true }]))
  assert.deepEqual((await reader.sql(place, { 'x-read-from': 'primary' })).rows, [{ replica: false }])
  assert.equal((await user.key('v4/keys/k', 'PATCH', { read_from: 'primary' })).read_from, 'primary')
  assert.deepEqual((await reader.sql(place)).rows, [{ replica: false }])
  assert.equal((await user.key('v4/keys/Master', 'PATCH', { read_from: 'replica' })).read_from, 'replica')
  await eventually(async () => assert.deepEqual((await user.sql(place)).rows, [{ replica: true }]))
  assert.equal((await user.key('v4/keys/k', 'GET')).read_from, 'primary')
  assert.ok(!('read_from' in (await user.key('v3/api_keys/k', 'GET'))))
  await assert.rejects(
    user.key('v4/keys/k', 'PATCH', { read_from: 'moon' }),
    /read_from must be primary or replica/,
  )
})

test('a tile of a table with read_from replica comes from a replica, and never outdated from the cache', async (t) => {
  const { user, standby } = await startWithReplica(t)
  await user.sql(`create table places (the_geom geometry(point, 4326)); select cdb_cartodbfytable('places')`)
  await user.sql(`insert into places (the_geom) values (cdb_latlng(10, 10))`)
  const tile = (headers?: Record<string, string>) => user.get('/api/v1/tiles/places/0/0/0.mvt', headers)
  await eventually(async () => {
    const { status, age, text } = await tile(toReplica)
    assert.deepEqual([status, age !== null], [200, true], text)
  })
  const before = await tile()
  assert.deepEqual([before.status, before.age], [200, null])
  await paused(t, standby, async () => {
    await user.sql(`insert into places (the_geom) values (cdb_latlng(-40, 80))`)
    const old = await tile(toReplica)
    assert.deepEqual([old.text, old.age !== null], [before.text, true])
    const now = await tile()
    assert.notEqual(now.text, before.text)
    assert.equal((await tile(toReplica)).text, before.text)
    assert.equal((await tile()).text, now.text)
  })
  const { text } = await tile()
  await eventually(async () => {
    const caught = await tile(toReplica)
    assert.deepEqual([caught.text, caught.age !== null], [text, true])
  })
})
