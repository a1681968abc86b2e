import assert from 'node:assert/strict'
import { test } from 'node:test'
import { from as copyFrom } from 'pg-copy-streams'
import { column, openSession, rows, value } from '../support/postgres/tenant-session.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

test('CDB_LatLng makes a point in EPSG:4326 from latitude and longitude', async (t) => {
  const { user } = await setup(t)
  assert.deepEqual(
    await column(
      user,
      `select ST_AsEWKT(point) from (values (CDB_LatLng(1, 2)), (CDB_LatLng(1.5, -2.5)), (CDB_LatLng(1::float8, 2)),
         (CDB_LatLng(1::numeric, 2::numeric)), (CDB_LatLng(null, 2))) as points (point)`,
    ),
    [
      'SRID=4326;POINT(2 1)',
      'SRID=4326;POINT(-2.5 1.5)',
      'SRID=4326;POINT(2 1)',
      'SRID=4326;POINT(2 1)',
      null,
    ],
  )
})

const transformed: readonly (readonly [string, string, string | null])[] = [
  ['projects longitude and latitude', 'SRID=4326;POINT(1 1)', 'POINT(111319 111325)'],
  ['projects any other SRID', 'SRID=25830;POINT(500000 4500000)', 'POINT(-333958 4960979)'],
  ['keeps web mercator unchanged', 'SRID=3857;POINT(7 8)', 'POINT(7 8)'],
  ['returns null for a point beyond the poles of web mercator', 'SRID=4326;POINT(0 90)', null],
  ['returns null for a point beyond the date line', 'SRID=4326;POINT(190 0)', null],
  ['returns null for an empty geometry', 'SRID=4326;POINT EMPTY', null],
  ['clips a line at the edge', 'SRID=4326;LINESTRING(0 0,0 90)', 'LINESTRING(0 0,0 30240972)'],
  [
    'keeps a multi geometry multi',
    'SRID=4326;MULTILINESTRING((0 0,0 90))',
    'MULTILINESTRING((0 0,0 30240972))',
  ],
  [
    'clips the parts of a collection',
    'SRID=4326;GEOMETRYCOLLECTION(POINT(0 90),POINT(0 0),LINESTRING(0 0,0 90))',
    'GEOMETRYCOLLECTION(POINT(0 0),LINESTRING(0 0,0 30240972))',
  ],
  ['returns null for a curve beyond the edge', 'SRID=4326;CIRCULARSTRING(-1 95,0 95,1 95)', null],
  ['returns null for a geometry that GEOS cannot handle', 'SRID=4326;TIN(((0 0,0 95,1 95,0 0)))', null],
]

test('CDB_TransformToWebmercator', async (t) => {
  const { user } = await setup(t)
  for (const [what, geometry, expected] of transformed) {
    await t.test(what, async () => {
      const text = `select ST_AsText(ST_SnapToGrid(CDB_TransformToWebmercator('${geometry}'), 1))`
      assert.equal(await value(user, text), expected)
    })
  }
  await t.test('repairs an invalid polygon before it clips it', async () => {
    const text = `select ST_IsValid(CDB_TransformToWebmercator('SRID=4326;POLYGON((0 0,10 95,10 0,0 95,0 0))'))`
    assert.equal(await value(user, text), true)
  })
  await t.test('answers null for null, and reports a geometry without SRID', async () => {
    assert.equal(await value(user, 'select CDB_TransformToWebmercator(null)'), null)
    await assert.rejects(value(user, `select CDB_TransformToWebmercator('POINT(1 1)')`), /SRID/)
  })
})

const outOfStep = (table: string) =>
  `select count(*)::int from ${table}
   where the_geom_webmercator is distinct from CDB_TransformToWebmercator(the_geom)`

async function prepared(user: TestUser): Promise<void> {
  await user.sql(`create table t (name text); select CDB_CartodbfyTable('t')`)
}

test('the web mercator column follows inserts and updates, also if it is written to directly', async (t) => {
  const { user } = await setup(t)
  await prepared(user)
  await user.sql(`insert into t (the_geom) select CDB_LatLng(n, n) from generate_series(1, 100) n`)
  await user.sql(
    `insert into t (the_geom, the_geom_webmercator) values (CDB_LatLng(1, 1), 'SRID=3857;POINT(0 0)')`,
  )
  await user.sql('update t set the_geom = CDB_LatLng(5, 5) where cartodb_id < 10')
  await user.sql('update t set the_geom = null where cartodb_id = 20')
  await user.sql(`update t set the_geom_webmercator = 'SRID=3857;POINT(0 0)' where cartodb_id = 30`)
  await user.sql(`insert into t (cartodb_id, the_geom) values (1, CDB_LatLng(7, 7))
                  on conflict (cartodb_id) do update set the_geom = excluded.the_geom`)
  assert.equal(await value(user, outOfStep('t')), 0)
  assert.equal(await value(user, 'select count(the_geom_webmercator)::int from t'), 89 - 1 + 1)
})

test('the web mercator column follows COPY', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepared(user)
  const session = await openSession(t, context, user)
  const stream = session.query(copyFrom('copy t (name, the_geom) from stdin csv'))
  const finished = new Promise((resolve, reject) => stream.on('finish', resolve).on('error', reject))
  for (let n = 0; n < 1000; n++) stream.write(`name ${n},SRID=4326;POINT(${n % 180} ${n % 80})\n`)
  stream.end('nowhere,\n')
  await finished
  assert.equal(await value(user, outOfStep('t')), 0)
  assert.deepEqual(
    await rows(user, 'select count(*)::int as n, count(the_geom_webmercator)::int as filled from t'),
    [{ n: 1001, filled: 1000 }],
  )
})

test('a geometry without a web mercator form is stored anyway', async (t) => {
  const { user } = await setup(t)
  await prepared(user)
  await user.sql(`insert into t (the_geom) values ('SRID=4326;POINT(0 90)'), (ST_SetSRID(ST_MakePoint('inf', 0), 4326)),
    ('SRID=4326;TIN(((0 0,0 95,1 95,0 0)))'), ('SRID=4326;CURVEPOLYGON(CIRCULARSTRING(0 80,4 84,8 80,4 99,0 80))')`)
  assert.equal(await value(user, 'select count(the_geom)::int from t'), 4)
})
