import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { templateOf, writeMap } from '../support/maps/named-api.ts'
import { setup } from '../support/service/setup.ts'

/** QGIS itself, where its Python module is installed (Debian: python3-qgis). */
const env = { ...process.env, QT_QPA_PLATFORM: 'offscreen' }
const missing =
  spawnSync('python3', ['-c', 'import qgis.core'], { env }).status === 0
    ? undefined
    : 'python3 has no module qgis'

test(`QGIS draws vector tiles of tables and maps, and opens tables${missing ? ` [NOT RUN: ${missing}]` : ''}`, {
  timeout: 300_000,
}, async (t) => {
  if (missing) return t.skip(missing)
  const { user } = await setup(t)
  await user.sql(`create table places (name text, n int, the_geom geometry(Point, 4326)); select CDB_CartodbfyTable('places');
    insert into places (name, n, the_geom) select 'place ' || n, n, st_point(n * 10 - 55, n * 4 - 20, 4326) from generate_series(1, 10) n;
    create table areas (name text, the_geom geometry(MultiPolygon, 4326)); select CDB_CartodbfyTable('areas');
    insert into areas (name, the_geom) values ('area', 'SRID=4326;MULTIPOLYGON(((-40 -40, 40 -40, 40 40, -40 40, -40 -40)))')`)
  const layers = [{ id: 'areas', options: { sql: 'select * from areas' } }]
  const made = await writeMap(user, templateOf('shared', undefined, { layergroup: { layers } }))
  assert.equal(made.status, 200, made.bytes.toString())
  const key = `api_key=${user.masterToken}`
  const query = encodeURIComponent('select * from places')
  const seen = await inQgis(t, {
    extent: [-10_000_000, -10_000_000, 10_000_000, 10_000_000],
    open: {
      points: { tiles: `${user.base}/api/v1/tiles/places/{z}/{x}/{y}.mvt?${key}` },
      areas: { tiles: `${user.base}/api/v1/tiles/areas/{z}/{x}/{y}.mvt?${key}` },
      refused: { tiles: `${user.base}/api/v1/tiles/areas/{z}/{x}/{y}.mvt` },
      map: {
        tiles: `${user.base}/api/v1/map/named/shared/all/{z}/{x}/{y}.mvt`,
        style: `${user.base}/map/shared.json`,
      },
      file: { table: `${user.base}/api/v2/sql?q=${query}&format=fgb&${key}` },
    },
  })
  t.diagnostic(JSON.stringify(seen))
  assert.ok(seen.points!.pixels! > 10, 'points')
  assert.ok(seen.areas!.pixels! > 5_000, 'areas')
  assert.equal(seen.refused!.pixels, 0)
  assert.ok(seen.map!.pixels! > 5_000, 'map')
  assert.notEqual(seen.map!.middle, undefined)
  assert.equal(seen.map!.middle, seen.map!.beside, 'an area is drawn without a point in its middle')
  assert.deepEqual([seen.file!.features, seen.file!.fields!.includes('name')], [10, true])
})

type Seen = Readonly<{
  pixels?: number
  middle?: number
  beside?: number
  features?: number
  fields?: readonly string[]
}>
type Wanted = Readonly<{
  extent: readonly number[]
  open: Readonly<Record<string, Readonly<{ tiles: string; style?: string }> | Readonly<{ table: string }>>>
}>

async function inQgis(t: TestContext, wanted: Wanted): Promise<Readonly<Record<string, Seen>>> {
  const kept = process.env.CARTAGE_TEST_QGIS_FOLDER
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'cartage-qgis-')))
  if (!kept) t.after(() => rm(folder, { recursive: true, force: true }))
  const driver = join(import.meta.dirname, 'drivers/use-qgis.py')
  const run = promisify(execFile)('python3', [driver], { env, timeout: 240_000 })
  run.child.stdin!.end(JSON.stringify({ ...wanted, folder }))
  return JSON.parse((await run).stdout)
}
