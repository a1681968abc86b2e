import assert from 'node:assert/strict'
import { test } from 'node:test'
import { made, places, setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'

const place = (name: string, at: string) =>
  `<Placemark><name>${name}</name><Point><coordinates>${at}</coordinates></Point></Placemark>`
const kml = `<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>
  <Folder><name>Towns</name>${place('Skagen', '10.6,57.7')}${place('Gedser', '11.9,54.6')}</Folder>
  <Folder><name>Huts</name>${place('Hut', '8.1,56')}</Folder></Document></kml>`

test('a preview shows layers, columns, types and first rows, and stores nothing', async (t) => {
  const { load, user, nothingLeft } = await setupImports(t)
  const done = await load('map.kml', kml, { preview: 'true' })
  assert.deepEqual(
    [done.get_error_text, done.state, done.success, done.tables_created_count, done.table_names],
    [null, 'complete', true, 0, []],
  )
  assert.deepEqual(
    done.preview?.map(({ layer, table, rows }) => [layer, table, rows]),
    [
      ['Towns', 'map_towns', 2],
      ['Huts', 'map_huts', 1],
    ],
  )
  const { columns, first_rows } = done.preview![0]!
  const at = (name: string) => columns.findIndex((column) => column.name === name)
  assert.deepEqual(columns[at('name')], { name: 'name', type: 'text' })
  assert.deepEqual(
    first_rows.map((row) => [row[at('name')], row[at('the_geom')]]),
    [
      ['Skagen', 'POINT(10.6 57.7)'],
      ['Gedser', 'POINT(11.9 54.6)'],
    ],
  )
  const tables = `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')`
  assert.deepEqual((await user.sql(tables)).rows, [])
  await nothingLeft()
  const imported = await load('map.kml', kml, { layer: 'Huts' })
  assert.deepEqual([imported.table_names, imported.preview], [['map_huts'], undefined])
})

test('a preview lists bad rows and warnings, and says why a file cannot be imported', async (t) => {
  const { load, post, user } = await setupImports(t)
  const rows = Array.from({ length: 8 }, (_, at) => `${at},${'x'.repeat(150)}`)
  const done = await load('t.csv', `x,s\n${rows.join('\n')}\n9\n`, { preview: 'true', on_error: 'skip' })
  assert.deepEqual(
    [done.rejected_rows, done.rejected![0]!.line, done.preview![0]!.rows, done.preview![0]!.layer],
    [1, 10, 8, null],
  )
  assert.equal(done.preview![0]!.first_rows.length, 5)
  assert.deepEqual(done.preview![0]!.first_rows[1], ['1', 'x'.repeat(100)])
  const bad = await load('t.gpkg', 'no file of this kind', { preview: 'true' })
  assert.deepEqual([bad.state, bad.error_code], ['failure', 1002])
  const url = `${user.base}/api/v1/imports?api_key=${user.masterToken}`
  const body = JSON.stringify({ sql: 'select 1', table_name: 'x', preview: true })
  const headers = { 'content-type': 'application/json' }
  assert.equal((await fetch(url, { method: 'POST', headers, body })).status, 400)
  assert.equal((await post('t.csv', 'a\n1\n', { preview: 'maybe' })).status, 400)
})

test('a preview shows encoding and reference system of the file and draws its first shapes', async (t) => {
  const { load } = await setupImports(t)
  const preview = async (name: string, content: string | Buffer) => {
    const done = await load(name, content, { preview: 'true' })
    assert.equal(done.get_error_text, null, name)
    return done.preview!
  }
  const utm = made('GPKG', 'a.gpkg', places, '-t_srs', 'EPSG:25832').get('a.gpkg')!
  const [one] = await preview('utm.gpkg', utm)
  assert.deepEqual(one!.reference_system, { srid: 25832, name: 'ETRS89 / UTM zone 32N' })
  assert.equal(one!.encoding, 'UTF-8')
  const shapes = one!.first_shapes as { type: string; coordinates: number[] }[]
  assert.deepEqual(
    shapes.map(({ type }) => type),
    ['Point', 'Point'],
  )
  const [drawn] = shapes
  assert.ok(Math.abs(drawn!.coordinates[0]!) <= 180 && Math.abs(drawn!.coordinates[1]!) <= 90)
  const files = [
    ...made('ESRI Shapefile', 'a.shp', places, '-t_srs', 'EPSG:3857', '-lco', 'ENCODING=ISO-8859-1'),
  ]
  const all = files.map(([name, content]) => ({ name, content }))
  const [told] = await preview('told.zip', zipOf(all))
  assert.deepEqual([told!.encoding, told!.reference_system?.srid], ['ISO-8859-1', 3857])
  const [assumed] = await preview('not-told.zip', zipOf(all.filter(({ name }) => !name.endsWith('.cpg'))))
  assert.equal(assumed!.encoding, 'WINDOWS-1252')
  const [towns] = await preview('towns.csv', Buffer.from('lon,lat,name\n10.4,54.9,\xc6r\xf8\n', 'latin1'))
  assert.deepEqual([towns!.encoding, towns!.reference_system?.srid], ['WINDOWS-1252', 4326])
  assert.deepEqual(towns!.first_shapes, [{ type: 'Point', coordinates: [10.4, 54.9] }])
  const [plain] = await preview('plain.csv', 'a\n1\n')
  assert.deepEqual([plain!.encoding, plain!.reference_system, plain!.first_shapes], ['UTF-8', null, []])
  const [untold] = await preview('untold.geojson', '{"type":"Point","coordinates":[1,2]}')
  assert.equal(untold!.reference_system?.srid, 4326)
})

test('the shapes of a preview are few and simplified', async (t) => {
  const { load } = await setupImports(t)
  const ring = (at: number) =>
    Array.from({ length: 5_000 }, (_, turn) => {
      const angle = (2 * Math.PI * (turn % 4_999)) / 4_999
      return [at + Math.cos(angle), Math.sin(angle)]
    })
  const features = Array.from({ length: 150 }, (_, at) => ({
    type: 'Feature',
    properties: {},
    geometry: { type: 'Polygon', coordinates: [ring(at)] },
  }))
  const file = JSON.stringify({ type: 'FeatureCollection', features })
  const done = await load('rings.geojson', file, { preview: 'true' })
  assert.equal(done.get_error_text, null)
  const { rows, first_shapes } = done.preview![0]!
  assert.equal(rows, 150)
  assert.ok(first_shapes.length > 10 && first_shapes.length <= 100, String(first_shapes.length))
  assert.ok(JSON.stringify(first_shapes).length <= 70_000)
})

test('a preview names the sheet of a workbook', async (t) => {
  const { load, user } = await setupImports(t)
  const sheet = await fetch(
    `${user.base}/api/v2/sql?format=xlsx&q=${encodeURIComponent("select 1 as a, 'x' as b")}&api_key=${user.masterToken}`,
  )
  const done = await load('book.xlsx', Buffer.from(await sheet.arrayBuffer()), { preview: 'true' })
  assert.equal(done.get_error_text, null)
  assert.deepEqual(
    done.preview?.map(({ table, rows: count, first_rows }) => [table, count, first_rows]),
    [['book', 1, [['1', 'x']]]],
  )
  assert.equal(typeof done.preview![0]!.layer, 'string')
})
