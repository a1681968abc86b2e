import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { eventually, setup, type TestUser } from '../../support/service/setup.ts'

const ask = (user: TestUser, format: string, q: string, parameters: object = {}, signal?: AbortSignal) =>
  fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, format, api_key: user.masterToken, ...parameters }),
    ...(signal && { signal }),
  })

type Feature = {
  geometry: { type: string; coordinates: number[] } | null
  properties: Record<string, unknown>
}

/** What GDAL itself reads from a file. */
async function readBack(
  t: { after: (end: () => Promise<void>) => void },
  answer: Response,
  extension: string,
): Promise<Feature[]> {
  const folder = await mkdtemp(join(tmpdir(), 'read-back-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, `file.${extension}`)
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.equal(answer.status, 200, bytes.toString().slice(0, 500))
  assert.equal(bytes.length, Number(answer.headers.get('content-length')))
  await writeFile(path, bytes)
  const { stdout } = await promisify(execFile)('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', path], {
    maxBuffer: 2 ** 28,
  })
  // Exact, as JSON.parse is not: the numbers that are longer than those of JavaScript become texts.
  return JSON.parse(stdout.replace(/: (\d{16,})(?=[,\s}])/g, ': "$1"')).features
}

/** Those of this process. */
const spooled = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith(`cartage-export-${process.pid}-`))

const places = `select id, 'Ærø ' || id as name, id * 9007199254740993 as big, id / 4.0::float8 as part, id = 1 as first,
  case when id = 2 then null else timestamptz '2026-01-31 10:00:00+00' end as at,
  case when id = 3 then null else st_setsrid(st_makepoint(id + 0.123456789, id), 4326) end as the_geom
  from generate_series(1, 3) as id`

const files = { gpkg: 'gpkg', kml: 'kml', spatialite: 'sqlite', xlsx: 'xlsx' }

for (const [format, extension] of Object.entries(files)) {
  test(`format=${format} is a file that GDAL reads, with every row`, async (t) => {
    const { user } = await setup(t)
    const answer = await ask(user, format, places, { filename: 'places' })
    assert.equal(answer.headers.get('content-disposition'), `attachment; filename="places.${extension}"`)
    const features = await readBack(t, answer, extension)
    assert.equal(features.length, 3)
    const names = features.map(({ properties }) => properties.name ?? properties.Name)
    assert.deepEqual(names, ['Ærø 1', 'Ærø 2', 'Ærø 3'])
    const [first, second, third] = features
    if (format !== 'xlsx') {
      assert.deepEqual(first!.geometry?.coordinates.slice(0, 2), [1.123456789, 1])
      assert.equal(third!.geometry, null)
    }
    if (format !== 'kml' && format !== 'xlsx') {
      assert.equal(first!.properties.big, '9007199254740993')
      assert.equal(Boolean(first!.properties.first), true)
      assert.equal(second!.properties.at, null)
      assert.match(String(first!.properties.at), /2026[-/]01[-/]31[T ]10:00:00/)
    }
    assert.equal(Number(second!.properties.part), 0.5)
    assert.deepEqual(await spooled(), [])
  })
}

test('a query without a geometry: some formats have tables, the others say so', async (t) => {
  const { user } = await setup(t)
  for (const format of ['gpkg', 'spatialite', 'xlsx'] as const) {
    const features = await readBack(t, await ask(user, format, `select 7 as n, 'x' as t`), files[format])
    assert.deepEqual([format, Number(features[0]!.properties.n), features[0]!.properties.t], [format, 7, 'x'])
  }
  for (const format of ['kml']) {
    const answer = await ask(user, format, 'select 1 as n')
    assert.equal(answer.status, 400)
    const { error } = (await answer.json()) as { error: string[] }
    assert.deepEqual(error, [`The format ${format} needs a geometry column the_geom`])
  }
})

test('geometries are in longitude and latitude, whatever their reference system', async (t) => {
  const { user } = await setup(t)
  const q = `select 1 as n, st_transform(st_setsrid(st_makepoint(15, 50), 4326), 32633) as the_geom
    union all select 2, st_setsrid(st_makepoint(15, 50), 4326)`
  for (const format of ['gpkg', 'kml', 'spatialite'] as const) {
    const features = await readBack(t, await ask(user, format, q), files[format])
    const rounded = features.map(({ geometry }) => geometry?.coordinates.slice(0, 2).map(Math.round))
    assert.deepEqual(rounded, Array(2).fill([15, 50]), format)
  }
})

test('a whole number that the file cannot hold is an error, not another number', async (t) => {
  const { user } = await setup(t)
  for (const format of ['gpkg', 'xlsx', 'spatialite']) {
    const answer = await ask(user, format, 'select 123456789012345678901234567890 as n')
    const { code } = (await answer.json()) as { code: string }
    assert.deepEqual([answer.status, code], [400, 'conversion-failed'], format)
  }
})

test('errors of the query are those of the query, and leave no file', async (t) => {
  const { user } = await setup(t)
  const answer = await ask(user, 'gpkg', 'select nothing from nowhere')
  assert.equal(answer.status, 400)
  assert.match(JSON.stringify(await answer.json()), /relation \\"nowhere\\" does not exist/)
  const denied = await ask({ ...user, masterToken: 'default_public' }, 'gpkg', 'create table t (a int)')
  assert.ok(denied.status >= 400)
  assert.deepEqual(await spooled(), [])
})

test('a client that leaves ends the query, the converter and the file', async (t) => {
  const { user, admin } = await setup(t)
  const leaving = new AbortController()
  const q = `select i, st_setsrid(st_makepoint(0, 0), 4326) as the_geom, pg_sleep(0.01) from generate_series(1, 100000) as i`
  const asked = ask(user, 'gpkg', q, {}, leaving.signal)
  await eventually(async () => assert.equal((await spooled()).length, 1))
  leaving.abort()
  await assert.rejects(asked)
  await eventually(async () => {
    assert.deepEqual(await spooled(), [])
    const { rows } = await admin(
      `select query from pg_stat_activity where datname = $1 and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`,
      [user.account.database],
    )
    assert.deepEqual(rows, [])
  })
})
