import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { layerOf, mapOf, mapTile } from '../support/maps/map-api.ts'
import { type Setup, setup } from '../support/service/setup.ts'
import { askTiles, tileOf } from '../support/tiles/tile-api.ts'

/** A server that is the database of the user itself, as an operator would add another one. */
async function addServer({ admin, keys, user }: Setup): Promise<void> {
  const { hostname, port, username, password } = new URL(keys.adminUrl)
  const { database, masterRole } = user.account
  await admin(
    `create schema fdw; create extension postgres_fdw schema fdw;
     create server far foreign data wrapper postgres_fdw options (host '${hostname}', port '${port}', dbname '${database}');
     grant usage on foreign server far to "${masterRole}";
     create user mapping for public server far
       options (user '${username}', password '${decodeURIComponent(password)}', password_required 'false')`,
    [],
    database,
  )
}

test('a foreign table has tiles for keys that may read it, made anew each time, as its changes are not recorded', async (t) => {
  const house = await setup(t)
  const { user } = house
  await addServer(house)
  await user.sql(`create table near as select 'a' as name, st_point(1, 1, 3857)::geometry(Point, 3857) as the_geom_webmercator;
    create foreign table far_places (name text, the_geom_webmercator geometry(Point, 3857)) server far options (schema_name 'public', table_name 'near')`)
  const { token } = await keysClient(user).make('reader', [
    { type: 'apis', apis: ['maps'] },
    grantsOf({ far_places: ['select'] })[1],
  ])
  const listed = await askTiles(user, '/', { token })
  const tiles = listed.body.tiles as unknown as { name: string; geometry_type: string }[]
  assert.deepEqual(
    tiles.map(({ name, geometry_type }) => [name, geometry_type]),
    [['far_places', 'POINT']],
  )
  const described = await askTiles(user, '/far_places', { token })
  assert.deepEqual(described.body.vector_layers, [
    { id: 'far_places', fields: { name: 'String' }, description: '' },
  ])
  const map = await mapOf(user, layerOf('select * from far_places'), { token })
  const seen = async () => {
    const tile = await tileOf(user, '/far_places/0/0/0', { token })
    const drawn = await mapTile(user, map, '/0/0/0.mvt', { token })
    return [tile.layers.far_places, drawn.layers.layer0].map((found) => found![0]!.properties.name)
  }
  assert.deepEqual(await seen(), ['a', 'a'])
  await user.sql(`update near set name = 'b'`)
  assert.deepEqual(await seen(), ['b', 'b'])
  assert.equal((await askTiles(user, '/far_places/0/0/0', { token: '' })).status, 404)
})
