import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { setup, type TestUser } from '../support/service/setup.ts'

/** Runs GDAL's own Carto driver against the service, without any imitation. */
const run = promisify(execFile)
const missing = await reasonToSkip()
const title = (text: string) => (missing ? `${text} [NOT RUN: ${missing}]` : text)

test(title('ogr2ogr writes a layer by INSERT, and reads back what it wrote'), async (t) => {
  if (missing) return t.skip(missing)
  const { user } = await setup(t)
  const gdal = await gdalFor(t, user)
  await gdal.write(places, ['-nln', 'places', '-update', '-doo', 'COPY_MODE=NO'])
  assert.deepEqual(await gdal.read('places'), placesRead)
  await assertPrepared(user, 'places', 3)
})

test(title('ogr2ogr writes a layer by COPY, and reads back what it wrote'), async (t) => {
  if (missing) return t.skip(missing)
  const { user } = await setup(t)
  const gdal = await gdalFor(t, user)
  await gdal.write(places, ['-nln', 'places'])
  assert.deepEqual(await gdal.read('places'), placesRead)
  await assertPrepared(user, 'places', 3)
})

test(title('ogr2ogr writes as a member of an organization, into its own schema'), async (t) => {
  if (missing) return t.skip(missing)
  const { createOrganization, createUser } = await setup(t)
  const { name } = await createOrganization()
  const member = await createUser({ organization: name })
  const gdal = await gdalFor(t, member)
  await gdal.write(places, ['-nln', 'places'])
  assert.deepEqual(await gdal.read('places'), placesRead)
})

test(title('ogr2ogr overwrites, appends and filters'), async (t) => {
  if (missing) return t.skip(missing)
  const { user } = await setup(t)
  const gdal = await gdalFor(t, user)
  await gdal.write(places, ['-nln', 'places'])
  await gdal.write(places, ['-nln', 'places', '-overwrite'])
  // By INSERT: with COPY the driver omits the key in all appended rows but the first.
  await gdal.write(places, ['-nln', 'places', '-append', '-doo', 'COPY_MODE=NO'])
  assert.equal((await gdal.read('places')).length, 6)
  const some = await gdal.read('places', ['-where', "name LIKE '%sure%'", '-spat', '0', '0', '5', '5'])
  assert.deepEqual(
    some.map(({ n }) => n),
    [1, 1],
  )
})

test(title('ogrinfo lists the tables, and reads a public one without a key'), async (t) => {
  if (missing) return t.skip(missing)
  const { user } = await setup(t)
  const gdal = await gdalFor(t, user)
  await gdal.write(places, ['-nln', 'places'])
  assert.match(await gdal.info([`Carto:${user.username}`]), /1: places/)
  await user.sql(`grant select on places to "${user.account.publicRole}"`)
  const read = await gdal.info(['-al', '-so', `Carto:${user.username} tables=places`], '')
  assert.match(read, /Feature Count: 3/)
})

type Place = Readonly<{
  name: string | null
  n: number | null
  f: number | null
  b: boolean | null
  at: unknown
}>

/** Without a plus sign: in INSERT mode the driver sends it unescaped, which means a blank. */
const placesRead: Place[] = [
  { name: `100% "sure" & 'safe' Ünïcode`, n: 1, f: 1.25, b: true, at: [1.5, 2.5] },
  { name: 'tab\tline\nback\\slash', n: 2, f: -2.5, b: false, at: [-3, 4] },
  { name: null, n: null, f: null, b: null, at: null },
]

const places = {
  type: 'FeatureCollection',
  features: placesRead.map(({ at, ...properties }) => ({
    type: 'Feature',
    geometry: at ? { type: 'Point', coordinates: at } : null,
    properties,
  })),
}

async function gdalFor(t: TestContext, user: TestUser) {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-gdal-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const environment = (token: string) => ({
    env: {
      ...process.env,
      CARTO_API_URL: `${user.base}/api/v2/sql`,
      CARTO_API_KEY: token,
      // Reads page by page.
      CARTO_PAGE_SIZE: '2',
    },
    timeout: 120_000,
  })
  return {
    write: async (collection: unknown, options: readonly string[]) => {
      const source = join(folder, 'source.geojson')
      await writeFile(source, JSON.stringify(collection))
      const command = ['-f', 'Carto', `Carto:${user.username}`, source, ...options]
      const { stderr } = await run('ogr2ogr', command, environment(user.masterToken))
      assert.doesNotMatch(stderr, /ERROR/)
    },
    read: async (table: string, options: readonly string[] = []): Promise<Place[]> => {
      const target = join(folder, `${table}-${Date.now()}.geojson`)
      const command = ['-f', 'GeoJSON', target, `Carto:${user.username} tables=${table}`, ...options]
      const { stderr } = await run('ogr2ogr', command, environment(user.masterToken))
      assert.doesNotMatch(stderr, /ERROR/)
      const { features } = JSON.parse(await readFile(target, 'utf8')) as { features: Feature[] }
      return features.map(({ geometry, properties: { name, n, f, b } }) => ({
        name,
        n,
        f,
        b,
        at: geometry?.coordinates ?? null,
      }))
    },
    info: async (options: readonly string[], token = user.masterToken) => {
      const { stdout } = await run('ogrinfo', [...options], environment(token))
      return stdout
    },
  }
}

type Feature = Readonly<{ geometry: { coordinates: unknown } | null; properties: Omit<Place, 'at'> }>

async function assertPrepared(user: TestUser, table: string, rows: number): Promise<void> {
  const { rows: found } = await user.sql(
    `select count(*)::int as all, count(cartodb_id)::int as ids, count(the_geom_webmercator)::int as projected from ${table}`,
  )
  assert.deepEqual(found, [{ all: rows, ids: rows, projected: rows - 1 }])
}

async function reasonToSkip(): Promise<string | undefined> {
  try {
    const { stdout } = await run('ogrinfo', ['--formats'])
    return /\bCarto\b/.test(stdout) ? undefined : 'this GDAL has no Carto driver'
  } catch {
    return 'ogr2ogr is not installed (Debian: gdal-bin)'
  }
}
