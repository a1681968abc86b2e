import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupImports } from '../../support/imports/import-api.ts'

const source = `create table source as select (i * 3)::int8 as cartodb_id, 'Ærø ' || i as name, i * 9007199254740993 as big, i / 8.0::float8 as part,
  i = 1 as first, date '2026-01-31' + i as day, timestamptz '2026-01-31 10:00:00.125+00' as at, case i when 2 then null else '' end as nothing,
  st_setsrid(st_makepoint(i + 0.1234567890123, i / 3.0), 4326)::geometry(Geometry, 4326) as the_geom from generate_series(1, 4) as i`

const exported = 'select cartodb_id, name, big, part, first, day, at, nothing, the_geom from'

for (const format of ['gpkg', 'fgb'] as const) {
  test(`a file of format=${format} becomes the same rows again`, async (t) => {
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
