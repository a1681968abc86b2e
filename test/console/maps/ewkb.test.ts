import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEwkb, toLonLat } from '../../../console/geo/ewkb.ts'
import { setup } from '../../support/service/setup.ts'

const shapes = [
  'POINT(1 2)',
  'POINT Z (1 2 3)',
  'POINT ZM (1 2 3 4)',
  'LINESTRING M (0 0 5, 1 1 6)',
  'POLYGON((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 1))',
  'MULTIPOINT(1 2, 3 4)',
  'MULTILINESTRING((0 0, 1 1), (2 2, 3 3))',
  'MULTIPOLYGON(((0 0, 9 0, 9 9, 0 0)), ((20 20, 29 20, 29 29, 20 20)))',
  'GEOMETRYCOLLECTION(POINT(1 2), LINESTRING(0 0, 1 1))',
]

test('reading EWKB gives the GeoJSON of PostGIS, in both byte orders', async (t) => {
  const { user } = await setup(t)
  for (const order of ['NDR', 'XDR']) {
    const { rows } = await user.sql(
      `select encode(st_asewkb(st_geomfromtext(wkt, 4326), '${order}'), 'hex') as hex,
         st_asgeojson(st_force2d(st_geomfromtext(wkt, 4326)))::json as expected from unnest($1::text[]) wkt`,
      [shapes],
    )
    for (const { hex, expected } of rows) assert.deepEqual(readEwkb(hex), { srid: 4326, geometry: expected })
  }
})

test('Web Mercator becomes degrees; other SRIDs, curves, empty geometries and other text are not drawn', async (t) => {
  const { user } = await setup(t)
  const { rows } = await user.sql(
    `select st_transform(st_setsrid(st_point(13.4, 52.5), 4326), 3857)::text as mercator,
       st_setsrid(st_point(1, 2), 25832)::text as other, 'CIRCULARSTRING(0 0, 1 1, 2 0)'::geometry::text as curve,
       'POINT EMPTY'::geometry::text as nothing, 'MULTIPOLYGON EMPTY'::geometry::text as none`,
  )
  const [{ mercator, other, curve, nothing, none }] = rows
  const { coordinates } = toLonLat(readEwkb(mercator)!) as { coordinates: [number, number] }
  assert.ok(
    Math.abs(coordinates[0] - 13.4) < 1e-9 && Math.abs(coordinates[1] - 52.5) < 1e-9,
    String(coordinates),
  )
  assert.equal(toLonLat(readEwkb(other)!), undefined)
  for (const text of [curve, nothing, none, '', '01', 'hello', '0101000000'])
    assert.equal(readEwkb(text), undefined)
})
