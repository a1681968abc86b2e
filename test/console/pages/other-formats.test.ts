import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { columnFile } from '../../support/imports/column-files.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { chooseFile, tables } from '../support/upload-page.ts'

const run = promisify(execFile)
const missing = await run('ogr2ogr', ['--version']).then(
  () => undefined,
  () => 'GDAL is not installed',
)
/** A service with a worker, and a folder for its files. */
function importing(t: TestContext) {
  const importDir = mkdtempSync(join(tmpdir(), 'cartage-imports-'))
  t.after(() => rm(importDir, { recursive: true, force: true }))
  return { setup: { worker: true, config: { importDir } } }
}

const title = (text: string) => (missing ? `${text} [NOT RUN: ${missing}]` : text)

test(
  title('a zipped shapefile, a GeoPackage, Parquet and Arrow become tables, with their warnings and links'),
  async (t) => {
    if (missing) return t.skip(missing)
    const { page, signInAt, user } = await openConsole(t, importing(t))
    const folder = await makeFiles(t)
    await signInAt('/upload')
    for (const [file, table, rows] of [
      ['my areas.zip', 'areas', 2],
      ['mixed.gpkg', 'mixed', 5],
      ['pyarrow.parquet', 'pyarrow', 3],
      ['stream.arrows', 'stream', 3],
    ] as const) {
      await chooseFile(page, file, await readFile(join(folder, file)))
      await assertAccessibleEverywhere(page)
      await page.getByRole('button', { name: 'Import', exact: true }).click()
      await page.getByText(`${file}: ${rows} rows in 1 table.`).waitFor()
      await assertAccessibleEverywhere(page)
      const link = page.getByRole('link', { name: `Open ${table}` })
      assert.match((await link.getAttribute('href'))!, new RegExp(`/console/tables/public/${table}/map$`))
      assert.equal((await user.sql(`select from ${table}`)).rowCount, rows)
      await page.getByRole('button', { name: 'Choose another file' }).click()
    }
    await chooseFile(page, 'mixed.gpkg', await readFile(join(folder, 'mixed.gpkg')))
    await page.getByLabel('If the table exists').selectOption('Replace its rows')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('mixed.gpkg: 5 rows in 1 table.').waitFor()
    await page.getByRole('button', { name: 'Choose another file' }).click()
    await chooseFile(page, 'mixed.gpkg', await readFile(join(folder, 'mixed.gpkg')))
    await page.getByLabel('Table name').fill('mixed')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('The name was taken, so the table is called mixed_1.').waitFor()
  },
)

test(
  title('several files at once are imported one after the other, and a broken one says why'),
  async (t) => {
    if (missing) return t.skip(missing)
    const { page, signInAt, user } = await openConsole(t, importing(t))
    const folder = await makeFiles(t)
    await signInAt('/upload')
    const files = [
      { name: 'good.csv', mimeType: '', buffer: Buffer.from('a,b\n1,x\n') },
      { name: 'broken.zip', mimeType: '', buffer: Buffer.from('PK\u0003\u0004 and no more') },
      { name: 'mixed.gpkg', mimeType: '', buffer: await readFile(join(folder, 'mixed.gpkg')) },
    ]
    await page.getByLabel('File', { exact: true }).setInputFiles(files)
    await page.getByRole('button', { name: 'Import 3 files' }).click()
    await page.getByText('good.csv: 1 row in 1 table.').waitFor()
    await page.getByRole('alert').getByText('broken.zip was not imported.').waitFor()
    await page.getByText('mixed.gpkg: 5 rows in 1 table.').waitFor()
    await assertAccessibleEverywhere(page)
    assert.deepEqual(await tables(user), ['good', 'mixed'])
  },
)

test(
  title('a file with layers is shown before it is imported, and only the chosen layers are'),
  async (t) => {
    if (missing) return t.skip(missing)
    const { page, signInAt, user } = await openConsole(t, importing(t))
    await signInAt('/upload')
    await chooseFile(page, 'map.kml', Buffer.from(kml))
    const panel = page.getByRole('region', { name: 'In the file' })
    await panel.getByText('2 rows, ').waitFor()
    await panel.getByRole('cell', { name: 'Skagen' }).waitFor()
    await panel.getByText('Text in UTF-8 · coordinates in WGS 84 (EPSG:4326)').first().waitFor()
    await panel.locator('figure .map canvas').waitFor()
    assert.equal((await panel.locator('figure .map').boundingBox())!.height, 180)
    await panel.getByText('All shapes').waitFor()
    await panel.getByText('First rows of Huts, east').click()
    await panel.getByRole('cell', { name: 'POINT(8.1 56)' }).waitFor()
    assert.deepEqual(await tables(user), [])
    await assertAccessibleEverywhere(page)
    for (const layer of ['Towns', 'Huts, east']) await panel.getByRole('checkbox', { name: layer }).uncheck()
    await page.getByText('Choose at least one layer.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled(), true)
    await panel.getByRole('checkbox', { name: 'Huts, east' }).check()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('map.kml: 1 row in 1 table.').waitFor()
    assert.deepEqual(await tables(user), ['map_huts_east'])
  },
)

test(title('rows that cannot be stored are shown, and can be left out and downloaded'), async (t) => {
  if (missing) return t.skip(missing)
  const { page, signInAt, user } = await openConsole(t, importing(t))
  await user.sql(`create table map_towns (name text check (name <> 'Gedser'))`)
  await signInAt('/upload')
  await chooseFile(page, 'map.kml', Buffer.from(kml))
  await page.getByText('First rows of Towns').waitFor()
  await page.getByRole('checkbox', { name: 'Huts, east' }).uncheck()
  await page.getByLabel('If the table exists').selectOption('Replace its rows')
  await page.getByLabel('Leave out bad rows').check()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByText('map.kml: 1 row in 1 table.').waitFor()
  await page.getByText('1 row was left out.').waitFor()
  await page.getByRole('cell', { name: /violates check constraint/ }).waitFor()
  await assertAccessibleEverywhere(page)
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download map_towns-rejected.csv' }).click()
  const text = await readFile((await (await download).path())!, 'utf8')
  assert.match(text, /^the_geom,(.*,)?name\b.*\n.*,Gedser,/)
  assert.equal((await user.sql('select from map_towns')).rowCount, 1)
})

test(title('rows whose key is stored are kept or updated, from a file of every kind'), async (t) => {
  if (missing) return t.skip(missing)
  const { page, signInAt, user } = await openConsole(t, importing(t))
  await user.sql(`create table places (k int primary key, name text, the_geom geometry(Geometry,4326));
    insert into places values (1, 'one')`)
  const names = async () =>
    (await user.sql('select name from places order by k')).rows.map(({ name }) => name)
  const feature = (k: number, name: string) =>
    `${JSON.stringify({ type: 'Feature', properties: { k, name }, geometry: null })}\n`
  await signInAt('/upload')
  await chooseFile(page, 'more.ndjson', Buffer.from(feature(1, 'ONE') + feature(2, 'two')))
  await page.getByLabel('Table name').fill('places')
  await page.getByLabel('If the table exists').selectOption('Keep rows with the same key as they are')
  await page.getByLabel('Key columns').fill('k')
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByText('1 row added, 1 row not stored because the key is there.').waitFor()
  assert.deepEqual(await names(), ['one', 'two'])

  for (const [choice, told, stored] of [
    ['Keep rows with the same key as they are', '0 rows added, 1 row not stored', ['one', 'two']],
    ['Update rows with the same key', '0 rows added, 1 row updated', ['one', 'TWO']],
  ] as const) {
    await page.getByRole('button', { name: 'Choose another file' }).click()
    await chooseFile(page, 'again.csv', Buffer.from('k,name\n2,TWO\n'))
    await page.getByLabel('Load into').selectOption({ label: 'Append to places' })
    await page.getByLabel('If the key exists').selectOption(choice)
    await page.getByText('Name the key columns, separated by commas.').waitFor()
    await page.getByLabel('Key columns').fill('nr')
    await page.getByText('The file has no key column nr.').waitFor()
    await page.getByLabel('Key columns').fill('k')
    await assertAccessibleEverywhere(page)
    await page.getByRole('button', { name: 'Merge into places' }).click()
    await page.getByText(`places: ${told}`).waitFor()
    assert.deepEqual(await names(), stored)
  }
})

const placemark = (name: string, at: string) =>
  `<Placemark><name>${name}</name><Point><coordinates>${at}</coordinates></Point></Placemark>`
const kml = `<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>
  <Folder><name>Towns</name>${placemark('Skagen', '10.6,57.7')}${placemark('Gedser', '11.9,54.6')}</Folder>
  <Folder><name>Huts, east</name>${placemark('Hut', '8.1,56')}</Folder></Document></kml>`

test(title('an import that waits can be cancelled'), async (t) => {
  if (missing) return t.skip(missing)
  const { setup } = importing(t)
  const { page, signInAt, user } = await openConsole(t, { setup: { ...setup, worker: false } })
  const folder = await makeFiles(t)
  await signInAt('/upload')
  await chooseFile(page, 'mixed.gpkg', await readFile(join(folder, 'mixed.gpkg')))
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByText('Waiting for a worker').waitFor()
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByText('mixed.gpkg: cancelled. No table was created.').waitFor()
  assert.deepEqual(await tables(user), [])
})

test(title('where the service has no GDAL, the lines shown load the files as pasted'), async (t) => {
  if (missing) return t.skip(missing)
  const { page, signInAt, user } = await openConsole(t)
  // The answer of a service without GDAL.
  const text =
    'Imports of .gpkg files are not possible, as GDAL is not installed: they are disabled on this server'
  const body = { errors: { imports: text }, error: [text], code: 'imports-disabled' }
  await page.route('**/api/v1/imports?**', (route) => route.fulfill({ status: 400, json: body }))
  const folder = await makeFiles(t)
  await signInAt('/upload')
  for (const [file, table, kinds] of [
    ['my areas.zip', 'my_areas', 'MULTIPOLYGON'],
    ['mixed.gpkg', 'mixed', 'LINESTRING,MULTIPOLYGON,POINT,POLYGON'],
  ] as const) {
    await chooseFile(page, file, await readFile(join(folder, file)))
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    const set = await page.getByRole('region', { name: 'Set CARTAGE_API_KEY' }).innerText()
    const load = await page.getByRole('region', { name: 'Load it with ogr2ogr' }).innerText()
    await inTerminal(`${set}\n${load}`, user.masterToken, folder)
    const { rows } = await user.sql(
      `select count(*)::int as n, string_agg(distinct geometrytype(the_geom), ',' order by geometrytype(the_geom)) as kinds,
         bool_and(the_geom_webmercator is not null) as prepared, min(name) as name from ${table} where the_geom is not null`,
    )
    const n = table === 'mixed' ? 4 : 2
    assert.deepEqual(rows, [{ n, kinds, prepared: true, name: "it's 1 ü" }])
    if (table === 'mixed') await assertSaysWhereTheTokenIs(page)
    await page.getByRole('button', { name: 'Choose another file' }).click()
  }
})

async function assertSaysWhereTheTokenIs(page: Page): Promise<void> {
  const link = page.getByRole('link', { name: 'Copy the token' })
  assert.match((await link.getAttribute('href'))!, /\/console\/keys$/)
  await assertAccessibleEverywhere(page)
}

/** Pastes it into a shell: the token is typed at the prompt of the first line. */
async function inTerminal(text: string, token: string, cwd: string): Promise<void> {
  const shell = promisify(execFile)('bash', ['-e', '-c', text], { cwd, timeout: 120_000 })
  shell.child.stdin!.end(`${token}\n`)
  await shell
}

async function makeFiles(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-formats-'))
  t.after(() => rm(folder, { recursive: true }))
  const write = (name: string, geometries: readonly unknown[]) =>
    writeFile(join(folder, name), JSON.stringify(collectionOf(geometries)))
  await write('areas.geojson', [area, areas])
  await write('mixed.geojson', [{ type: 'Point', coordinates: [1, 2] }, area, areas, line, null])
  const ogr2ogr = (...args: string[]) => run('ogr2ogr', args, { cwd: folder })
  // A zipped shapefile: GDAL writes it only under this name.
  await ogr2ogr('-f', 'ESRI Shapefile', 'areas.shz', 'areas.geojson')
  await rename(join(folder, 'areas.shz'), join(folder, 'my areas.zip'))
  await ogr2ogr('-f', 'GPKG', 'mixed.gpkg', 'mixed.geojson')
  await writeFile(join(folder, 'pyarrow.parquet'), columnFile('pyarrow.parquet'))
  await writeFile(join(folder, 'stream.arrows'), columnFile('pyarrow.arrows'))
  return folder
}

const ring = (from: number) => [
  [from, 0],
  [from + 1, 0],
  [from + 1, 1],
  [from, 0],
]
const area = { type: 'Polygon', coordinates: [ring(0)] }
const areas = { type: 'MultiPolygon', coordinates: [[ring(0)], [ring(5)]] }
const line = {
  type: 'LineString',
  coordinates: [
    [0, 0],
    [1, 1],
  ],
}

const collectionOf = (geometries: readonly unknown[]) => ({
  type: 'FeatureCollection',
  features: geometries.map((geometry, at) => ({
    type: 'Feature',
    properties: { name: `it's ${at + 1} ü` },
    geometry,
  })),
})
