import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup, type TestUser } from '../support/service/setup.ts'

type Json = Record<string, unknown>

test('a table is described with its rows, size and kinds of geometry', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    `create table places (n int, the_geom geometry(Geometry,4326));
     insert into places values (1, 'SRID=4326;POINT(1 2)'), (2, 'SRID=4326;LINESTRING(1 2,3 4)'), (3, null);
     analyze places; create table plain (n int); create view seen as select * from places`,
  )
  const { status, body } = await send(user, 'GET', 'tables/places')
  assert.equal(status, 200)
  const { updated_at, table_size, geometry_types, ...rest } = body
  assert.deepEqual(rest, {
    id: 'places',
    name: 'places',
    privacy: 'PRIVATE',
    schema: 'public',
    rows_counted: 3,
    row_count: 3,
    size: table_size,
    table_visualization: { id: 'places', name: 'places' },
  })
  assert.ok(Number(table_size) > 0 && !Number.isNaN(Date.parse(String(updated_at))))
  assert.deepEqual([...(geometry_types as string[])].sort(), ['ST_LineString', 'ST_Point'])
  assert.deepEqual((await send(user, 'GET', 'tables/plain')).body.geometry_types, [])
  assert.equal((await send(user, 'GET', 'tables/seen')).status, 200)
  assert.equal((await send(user, 'GET', 'tables/nothing')).status, 404)
  assert.equal((await send(user, 'GET', 'tables/places', undefined, 'default_public')).status, 404)
})

test('one request renames a table and makes it public, or does neither', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    'create table old (n int); create table taken (n int); create view seen as select * from old',
  )
  const refused = await send(user, 'PUT', 'viz/old', { name: 'taken', privacy: 'PUBLIC' })
  assert.equal(refused.status, 400)
  assert.match(JSON.stringify(refused.body), /relation \\"taken\\" already exists/)
  assert.equal((await send(user, 'GET', 'viz/old')).body.privacy, 'PRIVATE')
  const changed = await send(user, 'PUT', 'viz/old', { name: 'Año "2"', privacy: 'LINK', license: 'mit' })
  assert.deepEqual([changed.status, changed.body.name, changed.body.privacy], [200, 'ano_2_', 'PUBLIC'])
  assert.equal((await send(user, 'GET', 'viz/old')).status, 404)
  assert.equal((await send(user, 'GET', 'viz/ano_2_', undefined, 'default_public')).status, 200)
  const same = await send(user, 'PUT', 'viz/ano_2_', { name: 'ano_2_', privacy: null, tags: ['x'] })
  assert.deepEqual([same.status, same.body.privacy], [200, 'PUBLIC'])
  for (const body of [
    { privacy: 'SECRET' },
    { privacy: 5 },
    { name: 7 },
    { name: ' ' },
    { name: 'x'.repeat(300) },
  ])
    assert.equal((await send(user, 'PUT', 'viz/ano_2_', body)).status, 400, JSON.stringify(body))
  assert.equal((await send(user, 'PUT', 'viz/nothing', { privacy: 'PUBLIC' })).status, 404)
})

test('a table is deleted; if a view depends on it, the view is named and the table stays', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    `create table t (n int); create view seen as select * from t; create materialized view held as select 1 as n;
     create table "Odd name" (n int)`,
  )
  const refused = await send(user, 'DELETE', 'viz/t')
  assert.equal(refused.status, 400)
  assert.match(JSON.stringify(refused.body), /view seen depends on table t/)
  for (const name of ['seen', 't', 'held', 'Odd name']) {
    assert.equal((await send(user, 'DELETE', `viz/${encodeURIComponent(name)}`)).status, 204, name)
    assert.equal((await send(user, 'GET', `viz/${encodeURIComponent(name)}`)).status, 404, name)
    assert.equal((await send(user, 'DELETE', `viz/${encodeURIComponent(name)}`)).status, 404, name)
  }
})

test('a key changes and deletes its own tables, and no other', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table theirs (n int)')
  const token = await createKey(user)
  await send(user, 'GET', `../v2/sql?q=${encodeURIComponent('create table mine (n int)')}`, undefined, token)
  assert.equal((await send(user, 'PUT', 'viz/theirs', { privacy: 'PUBLIC' }, token)).status, 403)
  assert.equal((await send(user, 'PUT', 'viz/theirs', { name: 'x' }, token)).status, 403)
  assert.equal((await send(user, 'DELETE', 'viz/theirs', undefined, token)).status, 403)
  for (const [method, body] of [
    ['PUT', { privacy: 'PUBLIC' }],
    ['DELETE', undefined],
  ] as const)
    assert.equal((await send(user, method, 'viz/theirs', body, 'default_public')).status, 403)
  assert.equal((await send(user, 'GET', 'viz/theirs')).body.privacy, 'PRIVATE')
  const shared = await send(user, 'PUT', 'viz/mine', { privacy: 'PUBLIC', name: 'ours' }, token)
  assert.deepEqual([shared.status, shared.body.name, shared.body.privacy], [200, 'ours', 'PUBLIC'])
  assert.equal((await send(user, 'PUT', 'viz/ours', { privacy: 'PRIVATE' })).body.privacy, 'PRIVATE')
  assert.equal((await send(user, 'DELETE', 'viz/ours', undefined, token)).status, 204)
})

async function send(user: TestUser, method: string, path: string, body?: Json, token = user.masterToken) {
  const address = new URL(`${user.base}/api/v1/${path}`)
  address.searchParams.set('api_key', token)
  const response = await fetch(address, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Json }
}

async function createKey(user: TestUser): Promise<string> {
  const schemas = [{ name: 'public', permissions: ['create'] }]
  const tables = [{ schema: 'public', name: 'theirs', permissions: ['select', 'insert', 'update', 'delete'] }]
  const response = await fetch(`${user.base}/api/v3/api_keys?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'maker',
      grants: [
        { type: 'apis', apis: ['sql'] },
        { type: 'database', tables, schemas },
      ],
    }),
  })
  const body = (await response.json()) as { token: string }
  assert.equal(response.status, 201, JSON.stringify(body))
  return body.token
}
