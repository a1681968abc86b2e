import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { made, places, setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'

const rowsOf = (table: string) =>
  `select name, pop::bigint as pop, ratio, round(st_x(the_geom)::numeric, 2)::text as x, st_srid(the_geom_webmercator) as mercator from ${table} order by pop nulls last`

const expected = [
  { name: "x'; drop table t; --\nline", pop: '2', ratio: -0.25, x: '139.70', mercator: 3857 },
  { name: 'Málaga "Ñ"\ttab', pop: '578460', ratio: 1.5, x: '-4.42', mercator: 3857 },
  { name: null, pop: null, ratio: null, x: null, mercator: null },
]

test('GeoJSON becomes a table with all its rows, types and coordinates', async (t) => {
  const { load, user, nothingLeft } = await setupImports(t)
  const done = await load('My Pläces-2.geojson', places)
  assert.equal(done.get_error_text, null)
  assert.equal(done.state, 'complete')
  assert.equal(done.success, true)
  assert.equal(done.table_name, 'my_places_2')
  assert.deepEqual(done.table_names, ['my_places_2'])
  assert.equal(done.tables_created_count, 1)
  assert.equal(done.display_name, 'My Pläces-2.geojson')
  assert.equal(done.progress.bytes_read, done.progress.bytes_total)
  assert.equal(done.progress.rows, 3)
  assert.deepEqual((await user.sql(rowsOf('my_places_2'))).rows, expected)
  const { rows } = await user.sql(
    `select column_name as name, data_type as type from information_schema.columns where table_name = 'my_places_2' order by 1`,
  )
  assert.deepEqual(Object.fromEntries(rows.map(({ name, type }) => [name, type])), {
    cartodb_id: 'integer',
    founded: 'date',
    name: 'text',
    pop: 'integer',
    ratio: 'double precision',
    seen: 'timestamp with time zone',
    the_geom: 'USER-DEFINED',
    the_geom_webmercator: 'USER-DEFINED',
  })
  await nothingLeft()
})

test('CSV becomes a table, with points from longitude and latitude', async (t) => {
  const { load, user } = await setupImports(t)
  const done = await load(
    'cities.csv',
    'name,lon,lat,code,when\nMálaga,-4.42,36.72,007,2020-01-31\nTokyo,139.7,35.7,010,\n',
  )
  assert.equal(done.get_error_text, null)
  assert.equal(done.table_name, 'cities')
  const { rows } = await user.sql(
    `select cartodb_id, name, code, "_when"::text as day, st_astext(the_geom) as place, pg_typeof(code)::text as type from cities order by 1`,
  )
  assert.deepEqual(rows, [
    {
      cartodb_id: 1,
      name: 'Málaga',
      code: '007',
      day: '2020-01-31',
      place: 'POINT(-4.42 36.72)',
      type: 'text',
    },
    { cartodb_id: 2, name: 'Tokyo', code: '010', day: null, place: 'POINT(139.7 35.7)', type: 'text' },
  ])
})

for (const [kind, driver, args] of [
  ['gpkg', 'GPKG', []],
  ['fgb', 'FlatGeobuf', []],
  ['geojsonl', 'GeoJSONSeq', []],
  ['ods', 'ODS', []],
  ['xlsx', 'XLSX', []],
] as const) {
  test(`.${kind} becomes a table`, async (t) => {
    const { load, user, nothingLeft } = await setupImports(t)
    const content = made(driver, `a.${kind}`, places, ...args).get(`a.${kind}`)!
    const done = await load(`places.${kind}`, content)
    assert.equal(done.get_error_text, null)
    assert.equal(done.table_name, 'places')
    const hasGeometry = kind !== 'ods' && kind !== 'xlsx'
    // GDAL writes no feature without a geometry into a FlatGeobuf.
    const wanted = expected
      .slice(0, kind === 'fgb' ? 2 : 3)
      .map((row) => (hasGeometry ? row : { ...row, x: null, mercator: null }))
    const { rows } = await user.sql(rowsOf('places'))
    if (hasGeometry) assert.deepEqual(rows, wanted)
    else assert.deepEqual(rows.slice(0, 2).map(clean), wanted.slice(0, 2).map(clean))
    await nothingLeft()
  })
}

/** A workbook has no tabs, and an OpenDocument sheet no empty last row. */
const clean = (row: Record<string, unknown>) => ({ ...row, name: String(row.name).replace(/\s/g, ' ') })

test('points are made from every pair of column names that the classic service knows', async (t) => {
  const { load, user } = await setupImports(t)
  const pairs = [
    ['lng', 'lat'],
    ['Longitud', 'Latitud'],
    ['decimalLongitude', 'decimalLatitude'],
    ['decimallong', 'decimallat'],
    ['longitudedecimal', 'latitudedecimal'],
    ['point_longitude', 'point_latitude'],
    ['long', 'lati'],
    ['x', 'y'],
  ]
  for (const [lon, lat] of pairs) {
    const done = await load('points.csv', `name,${lat},${lon}\nTokyo,35.5,139.5\n`)
    const { rows } = await user.sql(`select st_astext(the_geom) as place from ${done.table_name}`)
    assert.deepEqual(rows, [{ place: 'POINT(139.5 35.5)' }], `${lon}, ${lat}`)
  }
})

test('each shapefile in a zip becomes a table in longitude and latitude', async (t) => {
  const { load, user } = await setupImports(t)
  const utm = made('ESRI Shapefile', 'utm.shp', places, '-t_srs', 'EPSG:32630', '-where', 'pop > 100')
  const plain = made('ESRI Shapefile', 'plain.shp', places)
  const files = [...utm, ...plain].map(([name, content]) => ({ name: `folder/${name}`, content }))
  const extra = [
    { name: '__MACOSX/x', content: '' },
    { name: 'readme.pdf', content: '%PDF' },
  ]
  const done = await load('both.zip', zipOf([...files, ...extra]))
  assert.equal(done.get_error_text, null)
  assert.deepEqual([...done.table_names].sort(), ['plain', 'utm'])
  assert.deepEqual(done.warnings?.skipped_files, ['__MACOSX/x', 'readme.pdf'])
  assert.deepEqual((await user.sql(rowsOf('utm'))).rows, [expected[1]])
  assert.equal((await user.sql('select from plain')).rowCount, 3)
})

test('the progress of a finished import has the rows of its tables, also with line breaks in values', async (t) => {
  const { load } = await setupImports(t)
  const done = await load('lines.csv', 'n,t\n1,"a\nb\nc"\n2,x\n')
  assert.equal(done.progress.rows, 2)
  assert.equal(done.progress.bytes_read, done.progress.bytes_total)
})

test('a shapefile with polygons of one and of several parts is stored unchanged', async (t) => {
  const { load, user } = await setupImports(t)
  const ring = (from: number) => [
    [from, 0],
    [from, 1],
    [from + 1, 1],
    [from, 0],
  ]
  const shapes = [
    { type: 'Polygon', coordinates: [ring(0)] },
    { type: 'MultiPolygon', coordinates: [[ring(0)], [ring(5)]] },
  ]
  const features = shapes.map((geometry, n) => ({ type: 'Feature', properties: { n }, geometry }))
  const files = made('ESRI Shapefile', 'parts.shp', JSON.stringify({ type: 'FeatureCollection', features }))
  const done = await load('parts.zip', zipOf([...files].map(([name, content]) => ({ name, content }))))
  assert.equal(done.state, 'complete', JSON.stringify(done.get_error_text))
  const { rows } = await user.sql('select postgis.GeometryType(the_geom) as kind from parts order by n')
  assert.deepEqual(rows, [{ kind: 'POLYGON' }, { kind: 'MULTIPOLYGON' }])
})

test('a layer whose features have another type than it declares is stored unchanged', async (t) => {
  const { load, user } = await setupImports(t)
  const line = {
    type: 'LineString',
    coordinates: [
      [0, 0],
      [1, 1],
    ],
  }
  const lines = {
    type: 'MultiLineString',
    coordinates: [
      [
        [0, 0],
        [1, 1],
      ],
      [
        [5, 5],
        [6, 6],
      ],
    ],
  }
  const features = [line, lines].map((geometry, n) => ({ type: 'Feature', properties: { n }, geometry }))
  const collection = JSON.stringify({ type: 'FeatureCollection', features })
  const [gpkg] = made('GPKG', 'ways.gpkg', collection, '-nlt', 'LINESTRING').values()
  const done = await load('ways.gpkg', gpkg!)
  assert.equal(done.state, 'complete', JSON.stringify(done.get_error_text))
  assert.equal(done.progress.rows, 2)
  const { rows } = await user.sql('select postgis.GeometryType(the_geom) as kind from ways order by n')
  assert.deepEqual(rows, [{ kind: 'LINESTRING' }, { kind: 'MULTILINESTRING' }])
})

test('curves become lines, also in a layer that declares another type', async (t) => {
  const { load, user } = await setupImports(t)
  const curves = ['CIRCULARSTRING (0 0, 1 1, 2 0)', 'CURVEPOLYGON ((0 0, 1 1, 2 0, 0 0))', 'POINT (1 2)']
  const q = curves.map((wkt, n) => `select ${n} as n, st_geomfromtext('${wkt}', 4326) as the_geom`)
  const address = `${user.base}/api/v2/sql?format=gpkg&api_key=${user.masterToken}&q=`
  const answer = await fetch(address + encodeURIComponent(q.join(' union all ')))
  const gpkg = Buffer.from(await answer.arrayBuffer())
  assert.equal(answer.status, 200, gpkg.toString())
  for (const declared of ['GEOMETRY', 'POINT']) {
    const done = await load(
      `${declared}.gpkg`,
      changed(gpkg, `update gpkg_geometry_columns set geometry_type_name = '${declared}'`),
    )
    assert.equal(done.state, 'complete', JSON.stringify(done.get_error_text))
    const { rows } = await user.sql(
      `select postgis.GeometryType(the_geom) as kind from ${done.table_name} order by n`,
    )
    assert.deepEqual(rows, [{ kind: 'LINESTRING' }, { kind: 'POLYGON' }, { kind: 'POINT' }], declared)
  }
})

/** A GeoPackage changed by an SQLite statement. */
function changed(gpkg: Buffer, sql: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'cartage-gpkg-'))
  const path = join(folder, 'a.gpkg')
  const program = 'import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()'
  try {
    writeFileSync(path, gpkg)
    execFileSync('python3', ['-c', program, path, sql])
    return readFileSync(path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('numbers keep 15 digits, and a warning names the columns that had more', async (t) => {
  const { load, user } = await setupImports(t)
  const feature = (properties: object) => ({
    type: 'Feature',
    properties,
    geometry: { type: 'Point', coordinates: [1 / 7, 0.1 + 0.2] },
  })
  const features = [
    feature({ long: 0.5, short: 1.5, 'text\t': 'a\t0.142857142857143\n', Neg: -1 / 7e30 }),
    feature({ long: 1 / 7, short: 2.25 }),
  ]
  const source = JSON.stringify({ type: 'FeatureCollection', features })
  for (const [name, content] of [
    ['digits.geojson', source],
    ['digits.gpkg', made('GPKG', 'a.gpkg', source).get('a.gpkg')!],
  ] as const) {
    const done = await load(name, content)
    assert.equal(done.get_error_text, null, name)
    assert.deepEqual(done.warnings?.rounded_numbers, ['long', 'neg'], name)
    const { rows } = await user.sql(
      `select max(st_x(the_geom)) = 1 / 7.0::float8 and max(st_y(the_geom)) = 0.1::float8 + 0.2::float8 as exact from ${done.table_name}`,
    )
    assert.deepEqual(rows, [{ exact: true }], name)
  }
  const short = await load(
    'short.geojson',
    JSON.stringify({ type: 'FeatureCollection', features: [feature({ n: 1.25 })] }),
  )
  assert.equal(short.warnings, null)
})

test('a shapefile without .prj is read as longitude and latitude, or refused', async (t) => {
  const { load, user } = await setupImports(t)
  const withoutPrj = (files: Map<string, Buffer>) =>
    zipOf([...files].filter(([name]) => !name.endsWith('.prj')).map(([name, content]) => ({ name, content })))
  const done = await load('plain.zip', withoutPrj(made('ESRI Shapefile', 'plain.shp', places)))
  assert.equal(done.get_error_text, null)
  assert.equal(done.warnings?.srid_assumed, 4326)
  assert.equal(done.warnings?.empty, undefined)
  assert.deepEqual((await user.sql(rowsOf('plain'))).rows, expected)
  const far = made('ESRI Shapefile', 'far.shp', places, '-t_srs', 'EPSG:32630', '-where', 'pop > 100')
  const failed = await load('far.zip', withoutPrj(far))
  assert.equal(failed.error_code, 3101)
})

test('a shapefile with a missing file is refused', async (t) => {
  const { load } = await setupImports(t)
  const files = [...made('ESRI Shapefile', 'a.shp', places)].filter(([name]) => !name.endsWith('.dbf'))
  const failed = await load('a.zip', zipOf(files.map(([name, content]) => ({ name, content }))))
  assert.equal(failed.error_code, 1006)
  assert.match(failed.get_error_text!.what_about, /\.dbf/)
})

test('text of a shapefile that is not UTF-8 is read as Windows-1252', async (t) => {
  const { load, user } = await setupImports(t)
  const files = [...made('ESRI Shapefile', 'a.shp', places, '-lco', 'ENCODING=CP1252')]
  const zip = zipOf(
    files.filter(([name]) => !name.endsWith('.cpg')).map(([name, content]) => ({ name, content })),
  )
  const done = await load('a.zip', zip)
  assert.equal(done.get_error_text, null)
  assert.equal(done.warnings?.encoding, 'WINDOWS-1252')
  assert.equal(done.progress.rows, expected.length, 'a row that is read twice counts once')
  assert.deepEqual((await user.sql(rowsOf('a'))).rows, expected)
})

test('a single layer becomes a table named like the file, several become tables named file and layer', async (t) => {
  const { load, user } = await setupImports(t)
  const kml = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document><Folder><name>My "F'; x</name><Placemark><name>p</name>
    <Point><coordinates>1,2,3</coordinates></Point></Placemark></Folder><Folder><name>None</name></Folder></Document></kml>`
  const fromKml = await load('trip.kml', kml)
  assert.equal(fromKml.get_error_text, null)
  assert.deepEqual(fromKml.table_names, ['trip_my_f_x'])
  assert.deepEqual((await user.sql('select name, st_astext(the_geom) as at from trip_my_f_x')).rows, [
    { name: 'p', at: 'POINT(1 2)' },
  ])
  const gpx = `<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="1" lon="2"><name>w</name></wpt>
    <trk><name>t</name><trkseg><trkpt lat="1" lon="2"/><trkpt lat="2" lon="2"/></trkseg></trk></gpx>`
  const fromGpx = await load('walk.gpx', gpx)
  assert.equal(fromGpx.get_error_text, null)
  assert.deepEqual([...fromGpx.table_names].sort(), ['walk_track_points', 'walk_tracks', 'walk_waypoints'])
  const osm = `<osm version="0.6"><node id="1" lat="1" lon="2" version="1"><tag k="name" v="a b"/></node>
    <node id="2" lat="2" lon="2" version="1"/><way id="5" version="1"><nd ref="1"/><nd ref="2"/><tag k="highway" v="y"/></way></osm>`
  const fromOsm = await load('map.osm', osm)
  assert.equal(fromOsm.get_error_text, null)
  assert.deepEqual([...fromOsm.table_names].sort(), ['map_lines', 'map_points'])
})

test('KMZ, MapInfo and a file geodatabase are read', async (t) => {
  const { load, user } = await setupImports(t)
  const kmz = made('LIBKML', 'a.kmz', places).get('a.kmz')!
  const fromKmz = await load('a.kmz', kmz)
  assert.equal(fromKmz.get_error_text, null)
  assert.equal(fromKmz.table_names.length, 1)
  for (const ending of ['tab', 'mif']) {
    const files = [...made('MapInfo File', `m.${ending}`, places)].map(([name, content]) => ({
      name,
      content,
    }))
    const done = await load(`m_${ending}.zip`, zipOf(files))
    assert.equal(done.get_error_text, null)
    assert.equal((await user.sql(`select from ${done.table_name}`)).rowCount, 3)
  }
  const gdb = [...made('OpenFileGDB', 'g.gdb', places)].map(([name, content]) => ({ name, content }))
  const fromGdb = await load('g.zip', zipOf(gdb))
  assert.equal(fromGdb.get_error_text, null)
  assert.equal((await user.sql(`select from ${fromGdb.table_name}`)).rowCount, 3)
})

test('a compressed file has the kind of its name without .gz', async (t) => {
  const { load, user } = await setupImports(t)
  const done = await load('one.csv.gz', gzipSync('a,b\n1,2\n'))
  assert.equal(done.get_error_text, null)
  assert.deepEqual((await user.sql('select a, b from one')).rows, [{ a: '1', b: '2' }])
})

test('tabs, bars and semicolons separate values, also where quoted values have commas', async (t) => {
  const { load, user } = await setupImports(t)
  for (const [name, mark] of [
    ['tabs.tsv', '\t'],
    ['tabs.txt', '\t'],
    ['bars.csv', '|'],
    ['bars.txt', '|'],
    ['semicolons.csv', ';'],
  ] as const) {
    const lines = [
      ['name', 'n', 'seen'],
      [`"a${mark}b, ""c"""`, '1', '2020-01-31'],
      ['Málaga', '', ''],
    ]
    const done = await load(name, lines.map((values) => `${values.join(mark)}\n`).join(''))
    assert.deepEqual([done.get_error_text, done.warnings?.columns_as_text], [null, undefined], name)
    const { rows } = await user.sql(`select name, n, seen::text as at from ${done.table_name} order by n`)
    assert.deepEqual(
      rows,
      [
        { name: `a${mark}b, "c"`, n: '1', at: '2020-01-31' },
        { name: 'Málaga', n: null, at: null },
      ],
      name,
    )
  }
})

test('compressed GeoJSON has the rows of the plain file', async (t) => {
  const { load, user } = await setupImports(t)
  for (const name of ['zipped.geojson.gz', 'zipped.json.gz']) {
    const done = await load(name, gzipSync(places))
    assert.equal(done.get_error_text, null)
    assert.deepEqual((await user.sql(rowsOf(done.table_name!))).rows, expected, name)
  }
})

test('rows that were exported are the same when they are imported', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(
    `create table source (name text, n int, ratio float8, day date);
     select CDB_CartodbfyTable('source');
     insert into source (name, n, ratio, day, the_geom) values
       ('Málaga "Ñ", Spain', 578460, 1.5, '2020-01-31', st_setsrid(st_makepoint(-4.42, 36.72), 4326)),
       ('007', -2, -0.25, '1999-12-31', st_setsrid(st_makepoint(139.7, 35.7), 4326)),
       (e'two\\nlines; ''quoted''', 0, 1e-9, '2024-02-29', st_setsrid(st_makepoint(0, 0), 4326))`,
  )
  const read = async (table: string, hasGeometry: boolean) => {
    const at = hasGeometry ? 'st_astext(the_geom)' : 'null'
    const text = `select name, n::int as n, ratio::float8 as ratio, "day"::date::text as day, ${at} as at from ${table} order by n::int`
    return (await user.sql(text)).rows
  }
  for (const [format, ending] of [
    ['csv', 'csv'],
    ['geojson', 'geojson'],
    ['kml', 'kml'],
    ['xlsx', 'xlsx'],
  ] as const) {
    const q = 'select cartodb_id, name, n, ratio, day, the_geom from source'
    const query = new URLSearchParams({ q, format, api_key: user.masterToken })
    const answer = await fetch(`${user.base}/api/v2/sql?${query}`)
    assert.equal(answer.status, 200, format)
    const done = await load(`from_${format}.${ending}`, Buffer.from(await answer.arrayBuffer()))
    assert.equal(done.get_error_text, null, format)
    const hasGeometry = format !== 'xlsx'
    assert.deepEqual(await read(done.table_name!, hasGeometry), await read('source', hasGeometry), format)
  }
})
