import assert from 'node:assert/strict'
import { test } from 'node:test'
import { made, setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'

type Member = Readonly<Record<string, unknown>>

const point = { type: 'Point', coordinates: [1, 2] }
const feature = (geometry: unknown, properties: unknown = {}) => ({ type: 'Feature', properties, geometry })
const collection = (features: readonly unknown[], more: Member = {}) =>
  JSON.stringify({ type: 'FeatureCollection', ...more, features })
const named = (name: unknown) => ({ crs: { type: 'name', properties: { name } } })

test('GeoJSON that GDAL would cut, drop or change is refused, and the feature is named', async (t) => {
  const { load, user } = await setupImports(t)
  const good = feature(point)
  const bad: Record<string, readonly [content: string, code: number, text: RegExp]> = {
    nul: [collection([good, feature(point, { a: 'x\0y' })]), 2001, /^Feature 2: 'a' has a NUL/],
    nul_inside: [collection([feature(point, { a: { b: ['x\0y'] } })]), 2001, /^Feature 1: 'a' has a NUL/],
    nul_name: [
      collection([feature(point, { 'a\0b': 1 })]),
      2001,
      /^Feature 1: the name of a member has a NUL/,
    ],
    half: [
      collection([feature(point, { a: 'HALF' })]).replace('HALF', '\\ud800'),
      2001,
      /half of a character/,
    ],
    texts: [collection([feature({ type: 'Point', coordinates: ['1', '2'] })]), 3007, /^Feature 1: .*numbers/],
    short: [collection([good, feature({ type: 'Point', coordinates: [1] })]), 3007, /^Feature 2: .*Point/],
    flat: [collection([feature({ type: 'LineString', coordinates: [1, 2] })]), 3007, /LineString/],
    deep: [collection([feature({ type: 'Point', coordinates: [[1, 2]] })]), 3007, /Point/],
    mixed: [collection([feature({ type: 'LineString', coordinates: [[1, 2], 3] })]), 3007, /nested/],
    none: [collection([feature({ type: 'Point', coordinates: [null, 1] })]), 3007, /numbers/],
    endless: [
      collection([feature({ type: 'Point', coordinates: [7, 1] })]).replace('[7', '[1e400'),
      3007,
      /numbers/,
    ],
    blob: [collection([feature({ type: 'Blob', coordinates: [1, 2] })]), 3007, /'Blob'/],
    inner: [
      collection([feature({ type: 'GeometryCollection', geometries: [point, { type: 'Nope' }] })]),
      3007,
      /'Nope'/,
    ],
    number: [collection([feature(5)]), 3007, /geometry is not an object/],
    list: [collection([feature([1, 2])]), 3007, /geometry is not an object/],
    properties: [collection([feature(point, 5)]), 3007, /properties are not an object/],
    other: [collection([good, { type: 'Nope' }]), 3007, /^Feature 2 is not of the type Feature/],
    null: [collection([good, null]), 3007, /^Feature 2 is not an object/],
    alone: [JSON.stringify({ type: 'Point', coordinates: ['a', 'b'] }), 3007, /numbers/],
    unknown_crs: [collection([good], named('foo')), 3008, /foo/],
    no_such_crs: [collection([good], named('urn:ogc:def:crs:EPSG::999999')), 3008, /not found/],
    linked_crs: [
      collection([good], { crs: { type: 'link', properties: { href: 'http://x/y' } } }),
      3008,
      /http:\/\/x\/y/,
    ],
    text_crs: [collection([good], { crs: 'EPSG:25830' }), 3008, /EPSG:25830/],
    own_crs: [collection([feature({ ...point, ...named('EPSG:3857') })]), 3008, /^Feature 1: .*EPSG:3857/],
    far: [collection([feature({ type: 'Point', coordinates: [500_000, 4_000_000] })]), 3101, /reference/],
  }
  for (const [name, [content, code, text]] of Object.entries(bad)) {
    const failed = await load(`${name}.geojson`, content)
    assert.equal(failed.error_code, code, `${name}: ${JSON.stringify(failed.get_error_text)}`)
    assert.match(failed.get_error_text!.what_about, text)
  }
  const { rows } = await user.sql(`select relname from pg_class where relname = any($1)`, [Object.keys(bad)])
  assert.deepEqual(rows, [])
})

test('unusual but valid GeoJSON is stored completely', async (t) => {
  const { load, user } = await setupImports(t)
  const crs = named('urn:ogc:def:crs:EPSG::25830')
  const utm = feature({ type: 'Point', coordinates: [500_000, 4_000_000] })
  const utmAt = 'POINT(-3 36)'
  const good: Record<string, readonly [content: string, expected: readonly (string | null)[]]> = {
    utm: [collection([utm], crs), [utmAt]],
    crs_last: [JSON.stringify({ type: 'FeatureCollection', features: [utm], ...crs }), [utmAt]],
    crs_84: [collection([feature(point)], named('urn:ogc:def:crs:OGC:1.3:CRS84')), ['POINT(1 2)']],
    crs_null: [collection([feature(point)], { crs: null }), ['POINT(1 2)']],
    empty: [collection([feature({ type: 'Point', coordinates: [] }), feature(null)]), [null, null]],
    alone: [JSON.stringify(point), ['POINT(1 2)']],
    one: [JSON.stringify(feature(point, { type: 'x', features: 5, geometry: [1] })), ['POINT(1 2)']],
    spaced: [`\ufeff${JSON.stringify(JSON.parse(collection([feature(point)])), null, 2)}\n`, ['POINT(1 2)']],
    high: [collection([feature({ type: 'Point', coordinates: [1, 2, 3] })]), ['POINT(1 2)']],
    pair: [collection([feature(point, { a: '😀\u2028\\' })]), ['POINT(1 2)']],
    nan: [collection([feature(point, { a: 5 })]).replace(':5', ':NaN'), ['POINT(1 2)']],
  }
  for (const [name, [content, expected]] of Object.entries(good)) {
    const done = await load(`${name}.geojson`, content)
    assert.equal(done.get_error_text, null, name)
    const { rows } = await user.sql(`select st_astext(the_geom, 0) as at from ${done.table_name} order by 1`)
    assert.deepEqual(
      rows.map(({ at }) => at),
      expected,
      name,
    )
  }
})

test('an open ring is closed with a warning', async (t) => {
  const { load, user } = await setupImports(t)
  const coordinates = [
    [
      [0, 0],
      [1, 0],
      [1, 1],
    ],
  ]
  const done = await load('ring.geojson', collection([feature({ type: 'Polygon', coordinates })]))
  assert.deepEqual([done.get_error_text, done.warnings], [null, { closed_rings: ['ring'] }])
  const { rows } = await user.sql('select st_astext(the_geom) as at from ring')
  assert.deepEqual(rows, [{ at: 'POLYGON((0 0,1 0,1 1,0 0))' }])
})

test('a line of GeoJSON Lines that is not a feature is refused with its number', async (t) => {
  const { load } = await setupImports(t)
  const line = JSON.stringify(feature(point))
  const cases: Record<string, readonly [content: string, code: number, text: RegExp]> = {
    nonsense: [`${line}\nnonsense\n${line}\n`, 3007, /^Line 2, character 1: /],
    cut: [`${line}\n${line.slice(0, 40)}`, 3007, /^Line 2, .*ends/],
    list: [`${line}\n[1]\n`, 3007, /list/],
    nul: [`${line}\n${JSON.stringify(feature(point, { a: '\0' }))}\n`, 2001, /NUL/],
    systems: [
      `${line}\n${JSON.stringify({ ...feature(point), ...named('EPSG:3857') })}\n`,
      3008,
      /different/,
    ],
  }
  for (const [name, [content, code, text]] of Object.entries(cases)) {
    const failed = await load(`${name}.geojsonl`, content)
    assert.equal(failed.error_code, code, `${name}: ${JSON.stringify(failed.get_error_text)}`)
    assert.match(failed.get_error_text!.what_about, text)
  }
})

test('curves in a CSV file become lines', async (t) => {
  const { load, user } = await setupImports(t)
  const curves = [
    'CIRCULARSTRING(0 0,1 1,2 0)',
    'SRID=4326;COMPOUNDCURVE(CIRCULARSTRING(0 0,1 1,2 0),(2 0,3 0))',
    'CURVEPOLYGON(CIRCULARSTRING(0 0,1 1,2 0,1 -1,0 0))',
    'MULTICURVE((0 0,1 1),CIRCULARSTRING(0 0,1 1,2 0))',
    'MULTISURFACE(((0 0,1 0,1 1,0 0)),CURVEPOLYGON(CIRCULARSTRING(0 0,1 1,2 0,1 -1,0 0)))',
  ]
  const done = await load('curves.csv', `id,wkt\n${curves.map((wkt, at) => `${at},"${wkt}"\n`).join('')}`)
  assert.equal(done.get_error_text, null)
  const { rows } = await user.sql(
    'select geometrytype(the_geom) as type, st_npoints(the_geom) > 6 as is_round from curves order by id',
  )
  assert.deepEqual(
    rows.map(({ type }) => type),
    ['LINESTRING', 'LINESTRING', 'POLYGON', 'MULTILINESTRING', 'MULTIPOLYGON'],
  )
  assert.ok(rows.every(({ is_round }) => is_round))
})

test('curves that PostGIS cannot read stay text', async (t) => {
  const { load, user } = await setupImports(t)
  for (const [at, wkt] of [
    'CIRCULARSTRING(0 0,1 1)',
    'COMPOUNDCURVE((0 0,1 1),(5 5,6 6))',
    'CURVEPOLYGON((0 0,1 1,2 2,3 3))',
    'MULTISURFACE((0 0,1 1))',
  ].entries()) {
    const done = await load(`bad_${at}.csv`, `id,wkt\n1,"${wkt}"\n`)
    assert.equal(done.get_error_text, null, wkt)
    assert.deepEqual((await user.sql(`select wkt, the_geom from bad_${at}`)).rows, [{ wkt, the_geom: null }])
  }
})

test('points of a CSV file outside longitude and latitude are refused; columns x and y give a warning', async (t) => {
  const { load } = await setupImports(t)
  const far = await load('far.csv', 'id,x,y\n1,2,3\n2,500000,4000000\n')
  assert.equal(far.error_code, 3101, JSON.stringify(far.get_error_text))
  const near = await load('near.csv', 'id,x,y\n1,2,3\n')
  assert.deepEqual([near.get_error_text, near.warnings], [null, { srid_assumed: 4326 }])
  const told = await load('told.csv', 'id,lon,lat\n1,2,3\n2,,\n')
  assert.deepEqual([told.get_error_text, told.warnings], [null, null])
})

test('a longitude that is NaN makes no point; text columns of an existing table make one', async (t) => {
  const { load, user } = await setupImports(t)
  const numbers = await load('n.csv', 'id,lon,lat\n1,NaN,NaN\n2,3,4\n')
  assert.equal(numbers.get_error_text, null)
  assert.deepEqual((await user.sql('select lon, st_astext(the_geom) as at from n order by id')).rows, [
    { lon: Number.NaN, at: null },
    { lon: 3, at: 'POINT(3 4)' },
  ])
  await user.sql('create table old (lon text, lat text, the_geom geometry(Geometry,4326))')
  const added = await load('old.csv', 'lon,lat\n1,2\n', { collision_strategy: 'append' })
  assert.equal(added.get_error_text, null)
  assert.deepEqual((await user.sql('select lon, st_astext(the_geom) as at from old')).rows, [
    { lon: '1', at: 'POINT(1 2)' },
  ])
})

test('more columns than a table can have are 2004 in every kind of file', async (t) => {
  const { load } = await setupImports(t)
  for (const count of [1_598, 1_700, 25_000]) {
    const columns = Array.from({ length: count }, (_, at) => [`column_${at}`, 'x'])
    const failed = await load('w.geojson', collection([feature(point, Object.fromEntries(columns))]))
    assert.equal(failed.error_code, 2004, `${count}: ${failed.get_error_text?.what_about}`)
  }
  const full = Array.from({ length: 1_599 }, (_, at) => `c${at}`)
  assert.equal((await load('w.csv', `${full.join()}\n${full.join()}\n`)).error_code, 2004)
  const wide = Array.from({ length: 1_500 }, (_, at) => `c${at}`)
  const rows = await load('r.csv', `${wide.join()}\n${wide.map(() => '1.5').join()}\n`)
  assert.equal(rows.error_code, 2004, JSON.stringify(rows.get_error_text))
})

test('columns id and ogc_fid keep their names and values, also if some features lack them', async (t) => {
  const { load, user } = await setupImports(t)
  const ids = [10, undefined, null, -4, 10]
  const features = ids.map((id, at) => ({
    type: 'Feature',
    properties: { id, ogc_fid: id, n: at },
    geometry: { type: 'Point', coordinates: [1, 2] },
  }))
  const whole = JSON.stringify({ type: 'FeatureCollection', features })
  const parts = [...made('ESRI Shapefile', 'parts.shp', whole)].map(([name, content]) => ({ name, content }))
  const files = {
    'whole.geojson': whole,
    'parts.zip': zipOf(parts),
    'lines.ndjson': features.map((feature) => `${JSON.stringify(feature)}\n`).join(''),
  }
  for (const [name, content] of Object.entries(files)) {
    const { get_error_text: text, table_name: table } = await load(name, content)
    assert.equal(text, null)
    const { rows } = await user.sql(`select cartodb_id, id, ogc_fid from ${table} order by n`)
    const told = rows.map(({ cartodb_id, id, ogc_fid }) => [cartodb_id, id, ogc_fid])
    assert.deepEqual(
      told,
      ids.map((id = null, at) => [at + 1, id, id]),
      name,
    )
  }
})

test('feature ids of GeoJSON are dropped with a warning if numbers, and kept if texts', async (t) => {
  const { load, user } = await setupImports(t)
  const file = (ids: readonly unknown[]) =>
    JSON.stringify({
      type: 'FeatureCollection',
      features: ids.map((id, n) => ({ type: 'Feature', id, properties: { n }, geometry: null })),
    })
  const numbers = await load('numbers.geojson', file([7, 8]))
  assert.deepEqual(numbers.warnings, { feature_ids: ['numbers'] })
  const texts = await load('texts.geojson', file(['a', 8]))
  assert.deepEqual(texts.warnings, null)
  const { rows } = await user.sql('select id from texts order by n')
  assert.deepEqual(rows, [{ id: 'a' }, { id: '8' }])
  const none = await load('none.geojson', file([undefined, null]))
  assert.deepEqual(none.warnings, null)
})

test('a cartodb_id too large for further rows is stored as cartodb_id_1', async (t) => {
  const { load, user } = await setupImports(t)
  for (const [at, highest] of ['9223372036854775807', '9223372036854775000'].entries()) {
    const done = await load(`k${at}.csv`, `cartodb_id,a\n1,x\n${highest},y\n`)
    assert.equal(done.get_error_text, null)
    await user.sql(`insert into k${at} (a) values ('z')`)
    assert.deepEqual(
      (await user.sql(`select cartodb_id, cartodb_id_1::text as old from k${at} order by 1`)).rows,
      [
        { cartodb_id: 1, old: '1' },
        { cartodb_id: 2, old: highest },
        { cartodb_id: 3, old: null },
      ],
    )
  }
  await load('kept.csv', 'cartodb_id,a\n7,x\n3000000000,y\n')
  await user.sql(`insert into kept (a) values ('z')`)
  assert.deepEqual((await user.sql('select cartodb_id::text as id from kept order by 1')).rows, [
    { id: '3000000000' },
    { id: '3000000001' },
    { id: '7' },
  ])
})

test('a web page under the name of a map file is reported as a web page', async (t) => {
  const { load } = await setupImports(t)
  for (const name of ['page.kml', 'page.gpx', 'page.osm', 'page.geojson', 'page.csv']) {
    const failed = await load(name, '<!DOCTYPE html>\n<html><body>Log in to see a <b>map</b></body></html>')
    assert.equal(failed.error_code, 1002, name)
    assert.match(failed.get_error_text!.what_about, /is a web page \(HTML\)\. Supported: /, name)
  }
})
