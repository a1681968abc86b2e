import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askMapTile, layerOf, mapOf } from '../support/maps/map-api.ts'
import { basic, setup } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

test('static images are 404 with an explanation, at any address', async (t) => {
  const { user } = await setup(t)
  for (const path of [
    'center/abc/1/2/3/400/300.png',
    'bbox/abc/1,2,3,4/400/300.jpg',
    'named/x/400/300.png',
    '1/2/3.png',
  ]) {
    const { status, bytes } = await askMaps(user, `/api/v1/map/static/${path}`)
    assert.equal(status, 404, path)
    assert.match(bytes.toString(), /Static images: this server makes vector tiles/)
  }
})

test('a callback gives a script only where JSONP is documented', async (t) => {
  const { user } = await setup(t)
  const query = { callback: 'f' }
  for (const path of [
    '/api/v1/map/unknown/0/0/0.mvt',
    '/api/v1/map/unknown/dataview/x',
    '/api/v1/map/named/none',
  ]) {
    const { status, headers } = await askMaps(user, path, { query })
    assert.ok(status === 400 || status === 404, `${path} ${status}`)
    assert.match(String(headers.get('content-type')), /^application\/json/, path)
  }
  const { status, bytes } = await askMaps(user, '/api/v1/map', { query })
  assert.deepEqual([status, bytes.toString().slice(0, 6)], [200, '/**/f('])
})

test('a tile outside the zooms of a layer is 403 for a key that may not read it', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table hidden as select st_point(0, 0, 3857) as the_geom_webmercator')
  const { layergroupid } = await mapOf(user, layerOf('select * from hidden', { minzoom: 5 }))
  const own = await askMapTile(user, layergroupid, '/0/0/0.mvt')
  assert.equal(own.status, 204)
  const response = await fetch(`${user.base}/api/v1/map/${layergroupid}/0/0/0.mvt`)
  assert.equal(response.status, 403)
})

test('the layers of a tile share its size limit, and none is made once it is used up', async (t) => {
  const { user } = await setup(t, { config: { tileMaxBytes: 5_000 } })
  await user.sql('create table zeros as select 0 as zero, st_point(0, 0, 3857) as the_geom_webmercator')
  const large = {
    options: { sql: `select repeat('x', 2000) as x, st_point(0, 0, 3857) as the_geom_webmercator` },
  }
  const two = await mapOf(user, { layers: [large, large] })
  assert.equal((await askMapTile(user, two.layergroupid, '/0/0/0.mvt')).status, 200)
  // If this layer is made, its error shows it.
  const failing = { options: { sql: 'select 1 / zero as x, the_geom_webmercator from zeros' } }
  for (const [layers, answer] of [
    [
      [large, large, large],
      [429, 'size'],
    ],
    [
      [large, large, large, failing],
      [429, 'size'],
    ],
    [
      [large, large, failing, large],
      [400, null],
    ],
  ] as const) {
    const { layergroupid } = await mapOf(user, { layers })
    const { status, headers } = await askMapTile(user, layergroupid, '/0/0/0.mvt')
    assert.deepEqual([status, headers.get('carto-tile-error')], answer)
  }
})

test('templates that are added concurrently do not exceed their limit', async (t) => {
  const { user, service } = await setup(t)
  const named = `${user.base}/api/v1/map/named`
  const add = (name: string) =>
    fetch(named, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...basic(user.username, user.masterToken) },
      body: JSON.stringify({
        version: '0.0.1',
        name,
        layergroup: { layers: [{ options: { sql: 'select null::geometry as the_geom_webmercator' } }] },
      }),
    }).then(({ status }) => status)
  assert.equal(await add('first'), 200)
  const { control } = service.services.databases
  await control.query(
    `insert into cartage.map_templates (user_id, name, key_id, template, sealed_tokens, revision)
     select user_id, 'm' || n, key_id, template, sealed_tokens, lpad(to_hex(n), 8, '0') || substr(revision, 9)
     from cartage.map_templates, generate_series(1, 1020) n where name = 'first' and user_id = (
       select user_id from cartage.map_templates where name = 'first' order by updated_at desc limit 1)`,
  )
  // Long enough that all would count the same templates without waiting for each other.
  await control.query(`create function cartage.wait_a_little() returns trigger language plpgsql as 'begin perform pg_sleep(0.3); return new; end';
    create trigger wait_a_little before insert on cartage.map_templates for each row when (new.name like 'late%') execute function cartage.wait_a_little()`)
  t.after(() => control.query('drop function cartage.wait_a_little cascade'))
  const statuses = await Promise.all(Array.from({ length: 12 }, (_, at) => add(`late${at}`)))
  assert.equal(statuses.filter((status) => status === 200).length, 3, `${statuses}`)
  assert.equal(statuses.filter((status) => status === 409).length, 9, `${statuses}`)
})
