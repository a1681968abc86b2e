import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupImports } from '../../support/imports/import-api.ts'

const source = `create table source as select (i * 3)::int8 as cartodb_id, 'Ærø ' || i as name, i * 9007199254740993 as big, i / 8.0::float8 as part,
  i = 1 as first, date '2026-01-31' + i as day, timestamptz '2026-01-31 10:00:00.125+00' as at, case i when 2 then null else '' end as nothing,
  st_setsrid(st_makepoint(i + 0.1234567890123, i / 3.0), 4326)::geometry(Geometry, 4326) as the_geom from generate_series(1, 4) as i`

const exported = 'select cartodb_id, name, big, part, first, day, at, nothing, the_geom from'

for (const format of ['gpkg', 'fgb'] as const) {
  test(`a file of format=${format} imports as the same rows`, async (t) => {
    const { user, load } = await setupImports(t)
    await user.sql(source)
    const q = encodeURIComponent(`${exported} source order by cartodb_id`)
    const answer = await fetch(`${user.base}/api/v2/sql?format=${format}&api_key=${user.masterToken}&q=${q}`)
    const file = Buffer.from(await answer.arrayBuffer())
    assert.equal(answer.status, 200, file.toString())
    const done = await load(`copy.${format}`, file)
    assert.equal(done.get_error_text, null)
    const rowsOf = async (table: string) => (await user.sql(`${exported} ${table} order by cartodb_id`)).rows
    assert.deepEqual(await rowsOf('copy'), await rowsOf('source'))
  })
}

const everyType = `create table source as select i as cartodb_id, i::int2 as i2, i as i4, i * 9007199254740993 as i8, (i / 3.0)::float4 as f4,
  i / 7.0::float8 as f8, (i / 8.0)::numeric(12,4) as dec, (i / 7.0)::numeric as num, i = 1 as b, 'Ærø "' || i || E'\\t\\\\\\n' as t,
  date '2026-01-31' - i * 300000 as d, timestamp '2026-01-31 10:00:00.123456' as ts, timestamptz '2026-01-31 10:00:00.123456+02' as tz,
  time '10:00:00.5' as tm, interval '1 month 2 days' as iv, '\\x00ff'::bytea as y, gen_random_uuid() as u, '{"a": [1, null]}'::json as j,
  '{"b": 1e3}'::jsonb as jb, '10.0.0.1/24'::inet as ip, null::int4 as nothing, st_setsrid(st_makepoint(i, i / 2.0), 25832) as other,
  st_setsrid(st_makepoint(i + 0.1234567890123, i / 3.0), 4326)::geometry(Geometry, 4326) as the_geom,
  st_transform(st_setsrid(st_makepoint(i + 0.1234567890123, i / 3.0), 4326), 3857)::geometry(Geometry, 3857) as the_geom_webmercator
  from generate_series(1, 4) as i`

for (const format of ['parquet', 'arrow'] as const) {
  test(`a file of format=${format} imports as the same rows with the same types`, async (t) => {
    const { user, load } = await setupImports(t)
    await user.sql(everyType)
    const q = encodeURIComponent('select * from source order by cartodb_id')
    const answer = await fetch(`${user.base}/api/v2/sql?format=${format}&api_key=${user.masterToken}&q=${q}`)
    const file = Buffer.from(await answer.arrayBuffer())
    assert.equal(answer.status, 200, file.toString())
    const done = await load(`copy.${format}`, file)
    assert.deepEqual([done.get_error_text, done.warnings], [null, null])
    const columnsOf = async (table: string) =>
      (
        await user.sql(
          `select attname, format_type(atttypid, atttypmod) as type from pg_attribute
           where attrelid = $1::regclass and attnum > 0 and not attisdropped order by 1`,
          [table],
        )
      ).rows
    assert.deepEqual(await columnsOf('copy'), await columnsOf('source'))
    const different = await user.sql(
      `select count(*)::int as n from source s full join copy c using (cartodb_id)
       where to_jsonb(s) - 'the_geom_webmercator' is distinct from to_jsonb(c) - 'the_geom_webmercator'
         or st_asewkb(s.the_geom) <> st_asewkb(c.the_geom) or st_asewkb(s.other) <> st_asewkb(c.other)
         or st_distance(s.the_geom_webmercator, c.the_geom_webmercator) > 1e-6`,
    )
    assert.deepEqual(different.rows, [{ n: 0 }])
  })
}

test('a file of format=shp imports as the same rows, as far as a shapefile has their types', async (t) => {
  const { user, load } = await setupImports(t)
  await user.sql(source)
  const q = encodeURIComponent(
    'select cartodb_id, name, part, day, nothing, the_geom from source order by cartodb_id',
  )
  const answer = await fetch(
    `${user.base}/api/v2/sql?format=shp&filename=copy&api_key=${user.masterToken}&q=${q}`,
  )
  const file = Buffer.from(await answer.arrayBuffer())
  assert.equal(answer.status, 200, file.toString())
  const done = await load('copy.zip', file)
  assert.equal(done.get_error_text, null)
  const rowsOf = async (table: string, nothing: string) =>
    (
      await user.sql(
        `select cartodb_id::int as id, name, part, day, ${nothing} as nothing, encode(st_asbinary(the_geom), 'hex') as wkb
         from ${table} order by 1`,
      )
    ).rows
  // DBF has no empty text.
  assert.deepEqual(await rowsOf('copy', 'nothing'), await rowsOf('source', "nullif(nothing, '')"))
})
