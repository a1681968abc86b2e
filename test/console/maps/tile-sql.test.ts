import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  aboutColumnSql,
  aboutTableSql,
  percentFor,
  rowsAtSql,
  rowsInTileSql,
  type Tile,
  type TileSource,
  tileSql,
} from '../../../console/geo/tile-sql.ts'
import { setup, type TestUser } from '../../support/service/setup.ts'
import { readVectorTile } from '../support/vector-tile.ts'

const world: Tile = { z: 0, x: 0, y: 0 }
const source = (name: string, more: Partial<TileSource> = {}): TileSource => ({
  ...{ schema: 'public', name, column: 'the_geom', srid: 4326, isPoints: true, percent: 100 },
  ...more,
})

test('a tile has up to 20,000 single points, and beyond that cells that count all of them', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table dense as select st_setsrid(st_point(10 + (i % 200) * 0.01, 50 + (i / 200) * 0.01), 4326) as the_geom
    from generate_series(0, 30000) i;
    create table sparse as select the_geom from dense limit 20000`)
  const few = await read(user, source('sparse'), world)
  assert.equal(few.isMany, false)
  assert.deepEqual(few.layers, [{ name: 'points', features: 20_000, sum: 0 }])
  for (const tile of [world, { z: 4, x: 8, y: 5 }]) {
    const many = await read(user, source('dense'), tile)
    assert.equal(many.isMany, true)
    assert.equal(many.layers[0]?.name, 'cells')
    assert.equal(many.layers[0]?.sum, 30_001)
    assert.ok(many.layers[0].features <= 256 * 256)
  }
  assert.deepEqual((await read(user, source('dense'), { z: 5, x: 0, y: 0 })).layers, [])
})

test('a column with either SRID is drawn at the same positions, by its index, without the poles', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table places as select i, st_setsrid(st_point(i % 360 - 180, i % 181 - 90), 4326) as the_geom
    from generate_series(0, 50000) i where i % 181 not in (0, 180);
    alter table places add the_geom_webmercator geometry(geometry, 3857);
    update places set the_geom_webmercator = st_transform(the_geom, 3857);
    create index on places using gist (the_geom); create index on places using gist (the_geom_webmercator);
    insert into places (the_geom) values (st_setsrid(st_point(0, -90), 4326)); analyze places`)
  const other = { column: 'the_geom_webmercator', srid: 3857 } as const
  for (const tile of [
    { z: 2, x: 1, y: 1 },
    { z: 4, x: 9, y: 6 },
  ]) {
    const [one, two] = [
      await read(user, source('places'), tile),
      await read(user, source('places', other), tile),
    ]
    assert.deepEqual(one, two)
    assert.ok(one.layers[0]!.features > 0)
  }
  for (const each of [source('places'), source('places', other)]) {
    const { rows } = await user.sql(`explain ${tileSql(each, { z: 8, x: 137, y: 86 })}`)
    assert.match(JSON.stringify(rows), /Index Scan/)
  }
})

test('lines and areas are simplified to pixels, and at most 20,000 are sent', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table areas as
    select st_expand(st_setsrid(st_point(i % 100, i / 1000), 4326), 0.00001) as the_geom from generate_series(0, 25000) i;
    insert into areas select st_buffer(st_setsrid(st_point(20, 20), 4326), 5, 4096);
    insert into areas values (st_setsrid('POLYGON((-180 -90, 180 -90, 180 -60, -180 -60, -180 -90))'::geometry, 4326))`)
  const shapes = source('areas', { isPoints: false })
  const far = await read(user, shapes, world)
  assert.deepEqual(far.layers, [{ name: 'shapes', features: 2, sum: 0 }])
  assert.ok(far.bytes < 5_000, `${far.bytes} bytes of a circle with 20,000 corners`)
  await user.sql('update areas set the_geom = st_expand(the_geom, 1)')
  const near = await read(user, shapes, world)
  assert.equal(near.isMany, true)
  assert.ok(near.layers[0]!.features <= 20_000)
})

test('of ten million rows about a million are read, and the counts stand for all of them', async (t) => {
  const { user } = await setup(t)
  assert.equal(percentFor(2_000_000), 100)
  assert.equal(percentFor(10_000_000), 10)
  assert.equal(percentFor(1e12), 0.05)
  await user.sql(`create table large as select st_setsrid(st_point(random() * 90, random() * 45), 4326) as the_geom
    from generate_series(1, 400000) i; analyze large`)
  const sample = await read(user, source('large', { percent: 10 }), world)
  const estimate = sample.layers[0]!.sum
  assert.ok(estimate > 300_000 && estimate < 500_000, `${estimate} of 400,000`)
  assert.deepEqual(
    await read(user, source('large', { percent: 10 }), world),
    sample,
    'the same blocks every time',
  )
  const { rows } = await user.sql(rowsInTileSql(source('large'), { z: 3, x: 4, y: 3 }))
  const expected = rows[0]['QUERY PLAN'][0].Plan['Plan Rows']
  assert.ok(expected > 100_000 && expected < 300_000, `${expected} of 200,000`)
})

test('hostile names stay names in the SQL for table facts, tiles and rows at a position', async (t) => {
  const { user } = await setup(t)
  const name = `<b>"x"'; drop table y; --\\`
  const quoted = `"${name.replaceAll('"', '""')}"`
  await user.sql(`create table ${quoted} (${quoted} text, big numeric, ${quoted.replace('x', 'g')} geometry)`)
  await user.sql(
    `insert into ${quoted} values ('<i>', 9007199254740993.10, st_setsrid(st_point(7, 51), 4326)), (null, 2, st_setsrid(st_point(8, 52), 4326))`,
  )
  const column = name.replace('x', 'g')
  const table = { schema: 'public', name }
  const [about] = (await user.sql(aboutTableSql(table))).rows
  assert.deepEqual(about.columns, [
    { name, isGeometry: false },
    { name: 'big', isGeometry: false },
    { name: column, isGeometry: true },
  ])
  const [of] = (await user.sql(aboutColumnSql(table, column, 100))).rows
  assert.deepEqual(of, { srid: 4326, dimension: 0, box: [7, 51, 8, 52] })
  const drawn = source(name, { column })
  assert.equal((await read(user, drawn, world)).layers[0]?.features, 2)
  const { rows } = await user.sql(rowsAtSql(drawn, [name, 'big'], [6.9, 50.9, 7.1, 51.1], 10))
  assert.deepEqual(rows, [{ values: ['<i>', '9007199254740993.10'] }])
})

async function read(user: TestUser, from: TileSource, tile: Tile) {
  const { rows } = await user.sql(tileSql(from, tile))
  const bytes = Buffer.from(rows[0].tile, 'base64')
  return { isMany: rows[0].isMany as boolean, bytes: bytes.length, layers: readVectorTile(bytes) }
}
