import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askMapTile, layerOf, mapOf } from '../support/maps/map-api.ts'
import { makeMap, places, templateOf } from '../support/maps/named-api.ts'
import { atOtherProcess } from '../support/service/processes.ts'
import { setup } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

test('every process has all maps, and a changed or deleted named map ends in each at the next request', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(places)
  const base = await atOtherProcess(t, house)
  const config = layerOf('select * from places')
  const { layergroupid } = await mapOf(user, config)
  assert.equal((await mapOf(user, config, { base })).layergroupid, layergroupid)
  assert.equal((await askMapTile(user, layergroupid, '/0/0/0.mvt', { base })).layers.layer0!.length, 10)
  await makeMap(user, templateOf('shops', undefined))
  for (const change of [
    () => askMaps(user, '/api/v1/map/named/shops', { method: 'PUT', body: templateOf('shops', undefined) }),
    () => askMaps(user, '/api/v1/map/named/shops', { method: 'DELETE', base }),
  ]) {
    const opened = await askMaps(user, '/api/v1/map/named/shops', { token: '', body: {}, base })
    const id = String(opened.body.layergroupid)
    const tiles = async () => {
      const answers = [user.base, base].map((each) =>
        askMapTile(user, id, '/0/0/0.mvt', { token: '', base: each }),
      )
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    assert.deepEqual(await tiles(), [200, 200])
    assert.ok((await change()).status < 300)
    assert.deepEqual(await tiles(), [400, 400])
  }
  for (const each of [user.base, base])
    assert.equal((await askMaps(user, '/map/shops.json', { token: '', base: each })).status, 404)
})

test('the addresses in an answer begin with the public URL of the service', async (t) => {
  const { user } = await setup(t, { config: { publicUrl: 'https://maps.example' } })
  await user.sql(places)
  await makeMap(user, templateOf('shops', undefined))
  const account = `https://maps.example/user/${user.username}`
  const config = {
    ...layerOf('select * from places'),
    analyses: [{ id: 'a', type: 'source', params: { query: 'select * from places' } }],
    dataviews: { n: { type: 'formula', source: { id: 'a' }, options: { operation: 'count' } } },
  }
  const { layergroupid, metadata, cdn_url } = await mapOf(user, config)
  assert.deepEqual(cdn_url, { http: 'maps.example/user', https: 'maps.example/user' })
  const tiles = `${account}/api/v1/map/${layergroupid}/{z}/{x}/{y}.mvt`
  assert.deepEqual(metadata.url, { vector: { urlTemplate: tiles, subdomains: [] } })
  const path = `/user/${user.username}/api/v1/map/${layergroupid}/dataview/n`
  const url = { http: `http://maps.example${path}`, https: `https://maps.example${path}` }
  assert.deepEqual(metadata.dataviews.n, { url })
  for (const document of ['/api/v1/tiles/places', '/api/v1/map/named/shops/tiles.json', '/map/shops.json']) {
    const { status, bytes } = await askMaps(user, document)
    assert.equal(status, 200, document)
    assert.ok(bytes.includes(`${account}/api/v1/`), document)
    assert.ok(!bytes.includes('127.0.0.1'), document)
  }
})
