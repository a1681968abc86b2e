import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup } from '../support/service/setup.ts'
import { readTile } from '../support/tiles/tile-api.ts'

test('the client lists tables with tiles, reads TileJSON and tiles, and gives MapLibre the token as a header', async (t) => {
  const house = await setup(t)
  const { user, url } = house
  const client = clientOf(t, house)
  await user.sql(`create table places as select 'a' as name, st_point(1, 1, 4326) as the_geom`)
  assert.deepEqual(
    (await client.tiles.list()).tiles.map(({ name }) => name),
    ['places'],
  )
  const { tiles, bounds } = await client.tiles.read('places', { columns: 'name', limit: 10 })
  assert.deepEqual(bounds, [1, 1, 1, 1])
  const bytes = await client.tiles.tile('places', { z: 0, x: 0, y: 0 })
  assert.deepEqual(readTile(bytes).places![0]!.properties, { name: 'a' })
  assert.equal((await client.tiles.tile('places', { z: 4, x: 0, y: 0 })).length, 0)
  await assert.rejects(client.tiles.tile('nothing', { z: 0, x: 0, y: 0 }), { status: 404, code: 'not-found' })
  for (const address of [client.tiles.url('places'), tiles[0]!.replace('{z}/{x}/{y}', '0/0/0')]) {
    assert.ok(!address.includes(user.masterToken))
    const asked = client.tiles.transformRequest(address)
    assert.equal((await fetch(asked.url, { headers: asked.headers! })).status, 200)
  }
  assert.deepEqual(client.tiles.transformRequest(`${url}.example.com/x`), { url: `${url}.example.com/x` })
})

test('the error of a tile over a limit says what was too much and what to do, though its body is empty', async (t) => {
  const house = await setup(t, { config: { tileMaxBytes: 1_000 } })
  const client = clientOf(t, house)
  await house.user.sql(`create table t as select repeat('x', 5000) as long, st_point(1, 1, 4326) as the_geom`)
  await assert.rejects(client.tiles.tile('t', { z: 0, x: 0, y: 0 }), {
    status: 429,
    message: /^The tile is larger than 1000 bytes\. Ask for fewer columns/,
  })
})

test("`cartage tiles` prints the address of a table's TileJSON", async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql('create table places as select st_point(1, 1, 4326) as the_geom')
  const told = await cartage(connection(house), 'tiles', 'places')
  assert.deepEqual(told, { code: 0, out: `${user.base}/api/v1/tiles/places\n`, err: '' })
  const missing = await cartage(connection(house), 'tiles', 'nothing')
  assert.deepEqual([missing.code, missing.out], [1, ''])
  assert.match(missing.err, /Table 'nothing' not found/)
})
