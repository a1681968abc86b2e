import assert from 'node:assert/strict'
import { mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { beginCartage, cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { columnFile } from '../support/imports/column-files.ts'
import { made, places, setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'
import { eventually } from '../support/service/setup.ts'

const kml = (...folders: string[]) =>
  `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${folders
    .map((name) => `<Folder><name>${name}</name><Placemark><name>${name} 1</name></Placemark></Folder>`)
    .join('')}</Document></kml>`

async function setupFiles(t: TestContext, files: Record<string, string | Buffer>) {
  const house = await setupImports(t, { importUrls: true })
  const folder = await mkdtemp(join(tmpdir(), 'import-kinds-'))
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  return { ...house, me: connection(house), at: (name: string) => join(folder, name) }
}

test('import creates tables from other kinds of files through the service, and says what was assumed', async (t) => {
  const shp = [...made('ESRI Shapefile', 'roads.shp', places)].filter(([name]) => !name.endsWith('.prj'))
  const { me, at, user } = await setupFiles(t, {
    'towns.gpkg': made('GPKG', 'towns.gpkg', places).get('towns.gpkg')!,
    'roads.zip': zipOf([
      ...shp.map(([name, content]) => ({ name, content })),
      { name: 'readme.pdf', content: '%PDF' },
    ]),
    'bad.gpkg': 'no database',
    'types.parquet': columnFile('pyarrow.parquet'),
  })
  const towns = await cartage(me, 'import', at('towns.gpkg'), 'cities')
  assert.equal(towns.code, 0, towns.err)
  assert.match(towns.err, /^cities: 3 rows in [\d.]+ m?s \(import [0-9a-f-]{36}\)\n$/)
  assert.equal((await user.sql('select from cities')).rowCount, 3)
  const roads = await cartage(me, 'import', at('roads.zip'), '--json')
  assert.match(roads.err, /names no reference system: its coordinates were taken as EPSG:4326\./)
  assert.match(roads.err, /Skipped in the archive: readme\.pdf\./)
  const { tables, rows } = JSON.parse(roads.out) as { tables: string[]; rows: number }
  assert.deepEqual([tables, rows], [['roads'], 3])
  const types = await cartage(me, 'import', at('types.parquet'))
  assert.match(types.err, /^types: 3 rows in .*\n {2}Nanoseconds were rounded to microseconds: ts_ns\.\n$/)
  assert.equal((await user.sql('select from types where f64 = 1 / 7.0::float8')).rowCount, 1)
  const again = await cartage(me, 'import', at('towns.gpkg'), 'cities')
  assert.match(again.err, /^cities_1: .*\n {2}The name was taken, so the table is called cities_1\.\n$/)
  const bad = await cartage(me, 'import', at('bad.gpkg'))
  assert.equal(bad.code, 1)
  assert.match(bad.err, /^error: .*bad\.gpkg is not a file that can be imported\. Supported: .* \(1002\)\n$/)
})

test('--layer imports some layers of a file, --append adds to a table, --skip-bad-rows leaves rows out', async (t) => {
  const features = ['1', 'two', '3'].map((n) => ({ type: 'Feature', properties: { n }, geometry: null }))
  const { me, at, user } = await setupFiles(t, {
    'trip.kml': kml('Stops', 'Sights, old', 'Rest'),
    'more.ndjson': features.map((feature) => `${JSON.stringify(feature)}\n`).join(''),
  })
  const trip = await cartage(me, 'import', at('trip.kml'), '--layer', 'Stops', '--layer', 'Sights, old')
  assert.equal(trip.code, 0, trip.err)
  assert.match(trip.err, /^trip_stops, trip_sights_old: 2 rows in /)
  const missing = await cartage(me, 'import', at('trip.kml'), '--layer', 'Nothing')
  assert.match(missing.err, /There is no layer 'Nothing' in the file/)
  await user.sql('create table numbers (n integer, the_geom geometry(Geometry,4326))')
  const more = await cartage(me, 'import', at('more.ndjson'), 'numbers', '--append', '--skip-bad-rows')
  assert.equal(more.code, 0, more.err)
  assert.match(
    more.err,
    /^1 row left out:\n {2}row 2, n: invalid input syntax for type integer: "two"\nnumbers: 2 rows in /,
  )
  assert.deepEqual((await user.sql('select n from numbers order by 1')).rows, [{ n: 1 }, { n: 3 }])
  for (const wrong of [['--points', 'a,b'], ['--dry-run'], ['--kind', 'csv']])
    assert.equal((await cartage(me, 'import', at('trip.kml'), ...wrong)).code, 2, wrong.join(' '))
})

test('--upsert with --on-conflict nothing keeps the stored rows, with every kind of file', async (t) => {
  const pairs = [
    { k: 1, name: 'ONE' },
    { k: 3, name: 'three' },
    { k: 3, name: 'again' },
  ]
  const features = pairs.map((properties) => ({ type: 'Feature', properties, geometry: null }))
  const { me, at, user } = await setupFiles(t, {
    'more.csv': `name,k\n${pairs.map(({ k, name }) => `${name},${k}\n`).join('')}`,
    'more.ndjson': features.map((feature) => `${JSON.stringify(feature)}\n`).join(''),
  })
  const merge = ['--upsert', 'k', '--on-conflict', 'nothing']
  for (const file of ['more.csv', 'more.ndjson']) {
    await user.sql(`drop table if exists places;
      create table places (k int unique, name text, the_geom geometry(Geometry,4326));
      insert into places values (1, 'one'), (2, 'two')`)
    const merged = await cartage(me, 'import', at(file), 'places', ...merge, '--json')
    assert.equal(merged.code, 0, merged.err)
    assert.match(merged.err, /\n {2}1 row added, 2 rows not stored because the key is there\n/)
    const { inserted_rows, updated_rows } = JSON.parse(merged.out)
    assert.deepEqual([inserted_rows, updated_rows], [1, 0], file)
    const stored = (await user.sql('select k, name from places order by k')).rows
    assert.deepEqual(
      stored.map(({ k, name }) => [k, name]),
      [
        [1, 'one'],
        [2, 'two'],
        [3, 'three'],
      ],
      file,
    )
    for (const wrong of [
      ['--on-conflict', 'nothing'],
      ['--upsert', 'k', '--on-conflict', 'replace'],
    ])
      assert.equal((await cartage(me, 'import', at(file), 'places', ...wrong)).code, 2, wrong.join(' '))
  }
})

test('GeoJSON that is too large for the command line is read by the service', async (t) => {
  const { me, at, user } = await setupFiles(t, {})
  const feature = (n: number) =>
    JSON.stringify({ type: 'Feature', properties: { n }, geometry: { type: 'Point', coordinates: [n, 2] } })
  const blanks = Buffer.alloc(1024 * 1024, ' \n')
  t.after(() => rm(at(''), { recursive: true, force: true }))
  const file = await open(at('large.geojson'), 'w')
  await file.write(`{"type":"FeatureCollection","features":[\n${feature(1)},\n`)
  for (let count = 0; count < 257; count += 1) await file.write(blanks)
  await file.write(`${feature(3)}]}\n`)
  await file.close()
  const done = await cartage(me, 'import', at('large.geojson'))
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /more than 256 MB of GeoJSON: the service reads it\n(.*\n)*large: 2 rows in /)
  const { rows } = await user.sql('select n, ST_AsText(the_geom) as g from large order by n')
  assert.deepEqual(
    rows,
    [1, 3].map((n) => ({ n, g: `POINT(${n} 2)` })),
  )
  await rename(at('large.geojson'), at('large.txt'))
  const misnamed = await cartage(me, 'import', at('large.txt'))
  assert.equal(misnamed.code, 2)
  assert.match(misnamed.err, /let its name end in \.geojson/)
})

test('import reads standard input and a URL', async (t) => {
  const { me, user, service } = await setupFiles(t, {})
  const csv = 'a,b\n1,"two\nlines"\n2,x\n'
  const piped = await beginCartage(me, ['import', '-', 'piped'], csv).ended
  assert.equal(piped.code, 0, piped.err)
  assert.match(piped.err, /^piped: 2 rows in /)
  assert.deepEqual((await user.sql('select a, b from piped order by a')).rows[0], { a: '1', b: 'two\nlines' })
  const drawn = await beginCartage(me, ['import', '-', 'drawn', '--kind', 'kml'], kml('A')).ended
  assert.match(drawn.err, /^drawn_a: 1 row in /)
  const server = createServer((_, response) => response.end(csv))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/far.csv`
  const refused = await cartage(me, 'import', address)
  assert.match(refused.err, /^error: .* is not an address on the public internet, port 80 or 443 \(1100\)\n$/)
  const { imports } = service.services
  const { network } = imports
  imports.network = { ...network, mayConnect: () => true }
  t.after(() => {
    imports.network = network
  })
  assert.match((await cartage(me, 'import', address)).err, /^far: 2 rows in /)
})

test('a terminal shows the progress of an import, and Ctrl-C cancels it', async (t) => {
  const features = Array.from({ length: 150_000 }, (_, n) => ({
    type: 'Feature',
    properties: { n, text: `feature ${n}` },
    geometry: { type: 'Point', coordinates: [n % 180, n % 90] },
  }))
  const content = features.map((feature) => `${JSON.stringify(feature)}\n`).join('')
  const { me, at, user, nothingLeft } = await setupFiles(t, { 'many.geojsonl': content })
  const terminal = inTerminal(t, me, shellLine('import', at('many.geojsonl')))
  await eventually(() => assert.match(terminal.shown(), /storing: [\d,]+ rows, \d+ %/), 30_000)
  terminal.type('\x03')
  assert.equal(await terminal.ended, 130)
  assert.deepEqual((await user.sql(`select from pg_class where relname = 'many'`)).rows, [])
  await nothingLeft()
})

test('--rejects saves the rows that the service left out, to repair and import again', async (t) => {
  const features = ['1', 'two, "2"', '3'].map((n) => ({
    type: 'Feature',
    properties: { n, s: 'a\tb\\' },
    geometry: { type: 'Point', coordinates: [1, 2] },
  }))
  const { me, at, user } = await setupFiles(t, {
    'f.ndjson': features.map((feature) => `${JSON.stringify(feature)}\n`).join(''),
    'both.zip': zipOf([
      { name: 'one.csv', content: 'a,b\n1,2\n3\n' },
      { name: 'two.csv', content: 'c;d\n4\n5;6\n' },
    ]),
  })
  await user.sql('create table f (n integer, s text, the_geom geometry(Geometry,4326))')
  const done = await cartage(
    me,
    ...['import', at('f.ndjson'), 'f', '--append', '--skip-bad-rows', '--rejects', at('bad.csv')],
  )
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /1 row of f saved in .*bad\.csv: repair them there and import the file/)
  const saved = await readFile(at('bad.csv'), 'utf8')
  assert.match(saved, /^the_geom,n,s\n[0-9A-F]+,"two, ""2""",a\tb\\\n$/)
  await writeFile(at('bad.csv'), saved.replace('"two, ""2"""', '2'))
  const mended = await cartage(me, 'import', at('bad.csv'), 'f', '--append')
  assert.equal(mended.code, 0, mended.err)
  const { rows } = await user.sql('select n, s, ST_AsText(the_geom) as g from f order by n')
  assert.deepEqual(
    rows,
    [1, 2, 3].map((n) => ({ n, s: 'a\tb\\', g: 'POINT(1 2)' })),
  )
  const both = await cartage(me, 'import', at('both.zip'), '--skip-bad-rows', '--rejects', at('b.csv'))
  assert.equal(both.code, 0, both.err)
  assert.equal(await readFile(at('b-1.csv'), 'utf8'), 'a,b\n3\n')
  assert.equal(await readFile(at('b-2.csv'), 'utf8'), 'c;d\n4\n')
})
