import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { chooseFile } from '../support/upload-page.ts'

const run = promisify(execFile)
const missing = await run('ogr2ogr', ['--version']).then(
  () => undefined,
  () => 'GDAL is not installed',
)
const title = (text: string) => (missing ? `${text} [NOT RUN: ${missing}]` : text)

test(title('the lines shown for a zipped shapefile and a GeoPackage load them as pasted'), async (t) => {
  if (missing) return t.skip(missing)
  const { page, signInAt, user } = await openConsole(t)
  const folder = await makeFiles(t)
  await signInAt('/upload')
  for (const [file, table, kinds] of [
    ['my areas.zip', 'my_areas', 'MULTIPOLYGON'],
    ['mixed.gpkg', 'mixed', 'LINESTRING,MULTIPOLYGON,POINT,POLYGON'],
  ] as const) {
    await chooseFile(page, file, await readFile(join(folder, file)))
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

/** Pasted into a shell: the token is typed at the prompt of the first line. */
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
  // A zipped shapefile, which GDAL writes only under this name.
  await ogr2ogr('-f', 'ESRI Shapefile', 'areas.shz', 'areas.geojson')
  await rename(join(folder, 'areas.shz'), join(folder, 'my areas.zip'))
  await ogr2ogr('-f', 'GPKG', 'mixed.gpkg', 'mixed.geojson')
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
