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

/** What GDAL reads from a file. */
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
  if (!answer.headers.has('content-encoding'))
    assert.equal(bytes.length, Number(answer.headers.get('content-length')))
  await writeFile(path, bytes)
  const { stdout } = await promisify(execFile)('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', path], {
    maxBuffer: 2 ** 28,
  })
  // JSON.parse would round numbers longer than JavaScript's, so they become texts.
  return JSON.parse(stdout.replace(/: (\d{16,})(?=[,\s}])/g, ': "$1"')).features
}

/** The temporary files of this process. */
const spooled = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith(`cartage-export-${process.pid}-`))

const places = `select id, 'Ærø ' || id as name, id * 9007199254740993 as big, id / 4.0::float8 as part, id = 1 as first,
  case when id = 2 then null else timestamptz '2026-01-31 10:00:00+00' end as at,
  case when id = 3 then null else st_setsrid(st_makepoint(id + 0.123456789, id), 4326) end as the_geom
  from generate_series(1, 3) as id`

const files = { gpkg: 'gpkg', kml: 'kml', spatialite: 'sqlite', xlsx: 'xlsx' }

for (const [format, extension] of Object.entries(files)) {
  test(`GDAL reads format=${format} with every row`, async (t) => {
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

test('a file of many rows is complete in every format', async (t) => {
  const { user } = await setup(t)
  const q = `select n as cartodb_id, 'name ' || n as name, st_setsrid(st_makepoint(n % 180, n % 90), 4326) as the_geom
    from generate_series(1, 20000) n`
  for (const [format, extension] of Object.entries(files)) {
    if (format === 'xlsx') continue
    const features = await readBack(t, await ask(user, format, q), extension)
    assert.equal(features.length, 20_000, format)
  }
})

test('a query without a geometry gives a table where the format has tables, else an error', async (t) => {
  const { user } = await setup(t)
  for (const format of ['gpkg', 'spatialite', 'xlsx'] as const) {
    const features = await readBack(t, await ask(user, format, `select 7 as n, 'x' as t`), files[format])
    assert.deepEqual([format, Number(features[0]!.properties.n), features[0]!.properties.t], [format, 7, 'x'])
  }
})

test('geometries are converted to longitude and latitude from any reference system', async (t) => {
  const { user } = await setup(t)
  const q = `select 1 as n, st_transform(st_setsrid(st_makepoint(15, 50), 4326), 32633) as the_geom
    union all select 2, st_setsrid(st_makepoint(15, 50), 4326)`
  for (const format of ['gpkg', 'kml', 'spatialite'] as const) {
    const features = await readBack(t, await ask(user, format, q), files[format])
    const rounded = features.map(({ geometry }) => geometry?.coordinates.slice(0, 2).map(Math.round))
    assert.deepEqual(rounded, Array(2).fill([15, 50]), format)
  }
})

const warningsOf = (answer: Response) => JSON.parse(answer.headers.get('warnings') ?? '[]') as string[]

async function errorOf(answer: Response) {
  const { code, error } = (await answer.json()) as { code: string; error: string[] }
  return [answer.status, code, ...error]
}

test('an integer that the format cannot hold becomes text, with a warning', async (t) => {
  const { user } = await setup(t)
  for (const format of ['gpkg', 'xlsx', 'spatialite'] as const) {
    const answer = await ask(user, format, 'select 1 as i, 123456789012345678901234567890 as n')
    assert.deepEqual(warningsOf(answer), [`column n is text: ${format} has no number for all its digits`])
    const [row] = await readBack(t, answer, files[format])
    assert.equal(row!.properties.n, '123456789012345678901234567890', format)
  }
})

test('numbers that 64 bits cannot hold are rounded with a warning, and all others are kept', async (t) => {
  const { user } = await setup(t)
  const q = `select 1 as i, 0.1::numeric as kept, 1.23456789012345678901::numeric as n, 0.30000000000000004::float8 as f
    union all select 2, 2.25, 7, 1e300`
  for (const format of ['gpkg', 'spatialite'] as const) {
    const answer = await ask(user, format, q)
    assert.deepEqual(warningsOf(answer), [
      'column n: 1 value, the first in row 1, rounded to the digits of a number with 64 bits',
    ])
    const path = await save(t, answer, files[format])
    const kept = await select(path, 'select f = 0.1 + 0.2 and f <> 0.3 and kept = 0.1 as kept from rows')
    assert.equal(kept[0], '1')
  }
  const excel = await ask(user, 'xlsx', q)
  assert.deepEqual(warningsOf(excel), [
    'column n: 1 value, the first in row 1, rounded to 15 digits',
    'column f: 1 value, the first in row 1, rounded to 15 digits',
  ])
  const [placemark] = await readBack(
    t,
    await ask(user, 'kml', `select q.*, 'POINT(1 2)'::geometry as the_geom from (${q}) as q`),
    'kml',
  )
  assert.equal(placemark!.properties.n, '1.23456789012345678901')
  assert.equal(placemark!.properties.f, '0.30000000000000004')
})

test('times are cut to milliseconds with a warning where the format has no more', async (t) => {
  const { user } = await setup(t)
  const q = `select timestamptz '2026-01-31 10:00:59.999999+00' as at, timestamp '2026-01-31 10:00:00.5' as local,
    date '2026-01-31' as day, 'POINT(1 2)'::geometry as the_geom`
  for (const format of ['gpkg', 'spatialite'] as const) {
    const answer = await ask(user, format, q)
    assert.deepEqual(warningsOf(answer), ['column at: 1 value, the first in row 1, cut to milliseconds'])
    const [{ properties }] = (await readBack(t, answer, files[format])) as [Feature]
    assert.match(String(properties.at), /10:00:59\.999(Z|\+00)?$/)
    assert.match(String(properties.local), /10:00:00\.5(00)?(Z|\+00)?$/)
    assert.match(String(properties.day), /^2026[-/]01[-/]31$/)
  }
  const [{ properties }] = (await readBack(t, await ask(user, 'kml', q), 'kml')) as [Feature]
  assert.equal(properties.at, '2026-01-31T10:00:59.999999Z')
})

test('geometries keep their dimensions, curves, emptiness and every bit of their coordinates', async (t) => {
  const { user } = await setup(t)
  const shapes = [
    'POINT EMPTY',
    'POINT M (1 2 3)',
    'POINT(0.1 0.30000000000000004)',
    'CIRCULARSTRING(0 0,1 1,2 0)',
  ]
  const values = shapes.map((shape, at) => `(${at + 1}, 'SRID=4326;${shape}'::geometry)`).join(', ')
  const q = `select * from (values ${values}) as v (cartodb_id, the_geom) order by 1`
  const answer = await ask(user, 'gpkg', q)
  assert.deepEqual(warningsOf(answer), [])
  const path = await save(t, answer, 'gpkg')
  const { rows } = await user.sql(
    `select upper(encode(st_asbinary(the_geom), 'hex')) as wkb from (${q}) as q`,
  )
  const wkbs = await select(path, 'select hex(st_asbinary(the_geom)) as wkb from rows order by cartodb_id')
  assert.deepEqual(
    wkbs.slice(0, 3),
    rows.slice(0, 3).map(({ wkb }: { wkb: string }) => wkb),
  )
  const { stdout } = await promisify(execFile)('ogrinfo', ['-q', path, 'rows', '-fid', '4'])
  assert.match(stdout, /CIRCULARSTRING \(0 0,1 1,2 0\)/)
})

async function save(t: Parameters<typeof readBack>[0], answer: Response, extension: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'read-back-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, `file.${extension}`)
  await writeFile(path, Buffer.from(await answer.arrayBuffer()))
  return path
}

/** Selects the only column of a query in GDAL's SQL on a file. */
async function select(path: string, sql: string): Promise<string[]> {
  const args = ['-f', 'CSV', '/vsistdout/', path, '-dialect', 'SQLITE', '-sql', sql]
  const { stdout } = await promisify(execFile)('ogr2ogr', args)
  return stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/,$|"/g, ''))
}

test('a value that a format cannot hold is an error with row and column', async (t) => {
  const { user } = await setup(t)
  const cases = [
    ['gpkg', `select 'NaN'::float8 as n`, 'the number NaN in column n, row 1'],
    [
      'gpkg',
      `select i, case i when 2 then 'infinity' else now() end as at from generate_series(1, 3) as i`,
      'the timestamptz infinity in column at, row 2',
    ],
    ['spatialite', `select '0044-03-15 BC'::date as day`, 'the date 0044-03-15 BC in column day, row 1'],
    [
      'spatialite',
      `select 'CIRCULARSTRING(0 0,1 1,2 0)'::geometry as the_geom`,
      'a CIRCULARSTRING with curves or triangles in column the_geom, row 1',
    ],
    ['kml', `select 'POINT EMPTY'::geometry as the_geom`, 'an empty geometry in column the_geom, row 1'],
    ['kml', `select 'POINT M (1 2 3)'::geometry as the_geom`, 'a geometry with M in column the_geom, row 1'],
    ['xlsx', `select E'a\x01b' as t`, 'a control character in column t, row 1'],
    ['xlsx', `select repeat('a', 32768) as t`, 'a text of more than 32767 characters in column t, row 1'],
    ['gpkg', `select 1 as "a\nb"`, 'the column name a\nb'],
  ] as const
  for (const [format, q, what] of cases)
    assert.deepEqual(await errorOf(await ask(user, format, q)), [
      400,
      'value-unfit',
      `The format ${format} cannot hold ${what}`,
    ])
  assert.deepEqual(await spooled(), [])
})

test('texts stay unchanged: empty, NULL, like dates, with quotes and line ends', async (t) => {
  const { user } = await setup(t)
  const texts = ['', null, '2026-01-31', ' x ', 'a "b", c', 'two\nlines', '\\', '001', 'Ærø 日本']
  const values = texts.map((text, at) => `(${at}, ${text === null ? 'null' : `'${text}'`})`).join(', ')
  const q = `select n, t from (values ${values}) as v (n, t) order by n`
  for (const format of ['gpkg', 'spatialite'] as const) {
    const features = await readBack(t, await ask(user, format, q), files[format])
    assert.deepEqual(
      features.map(({ properties }) => properties.t),
      texts,
      format,
    )
  }
})

test('two columns of one name are two columns of the file, with a warning', async (t) => {
  const { user } = await setup(t)
  for (const format of ['gpkg', 'xlsx', 'spatialite'] as const) {
    const answer = await ask(user, format, `select 1 as a, 'x' as a, 2 as "A", 3 as wkt, 4 as "na""me"`)
    assert.deepEqual(warningsOf(answer), ['column a is named a_1', 'column A is named A_2'])
    const [row] = await readBack(t, answer, files[format])
    assert.deepEqual(row!.properties, { a: 1, a_1: 'x', A_2: 2, wkt: 3, 'na"me': 4 }, format)
  }
  const excel = await ask(user, 'xlsx', `select 1 as a, 'POINT(1 2)'::geometry as the_geom`)
  assert.deepEqual(warningsOf(excel), ['xlsx has no geometries: the_geom is left out'])
})

test('cartodb_id becomes the ids of a file if it is unique, and a plain column if not', async (t) => {
  const { user } = await setup(t)
  for (const format of ['gpkg', 'spatialite'] as const) {
    const ids = async (value: string) => {
      const q = `select ${value} as cartodb_id, i as fid, i as ogc_fid from generate_series(1, 2) as i`
      const path = await save(t, await ask(user, format, q), files[format])
      const { stdout } = await promisify(execFile)('ogrinfo', ['-so', path, 'rows'])
      return [
        /^FID Column = (.*)$/m.exec(stdout)?.[1],
        await select(path, `select coalesce(cartodb_id || '', 'null') as id from rows`),
      ]
    }
    const usual = format === 'gpkg' ? 'fid_1' : 'ogc_fid_1'
    assert.deepEqual(await ids('i * 10'), ['cartodb_id', ['10', '20']], format)
    assert.deepEqual(await ids('7'), [usual, ['7', '7']], format)
    assert.deepEqual(await ids('null::int'), [usual, ['null', 'null']], format)
  }
})

test('skipfields, pages and params work as in other formats, and a link gives such a file', async (t) => {
  const { user } = await setup(t)
  const q = `select n, 'secret' as hidden, st_setsrid(st_makepoint(n, 0), 4326) as the_geom
    from generate_series(1, 9) n where n > $1 order by n`
  const page = { params: [2], skipfields: 'hidden', rows_per_page: 3, page: 1 }
  for (const format of ['gpkg', 'spatialite', 'kml'] as const) {
    const features = await readBack(t, await ask(user, format, q, page), files[format])
    assert.deepEqual(
      features.map(({ properties }) => [Number(properties.n), properties.hidden]),
      [6, 7, 8].map((n) => [n, undefined]),
      format,
    )
  }
  const made = await fetch(`${user.base}/api/v4/exports?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q: places, format: 'gpkg', filename: 'shared' }),
  })
  const answer = await fetch(((await made.json()) as { url: string }).url)
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="shared.gpkg"')
  assert.equal((await readBack(t, answer, 'gpkg')).length, 3)
})

test('a process writes two files at once, and one per user; other requests wait', async (t) => {
  const { user, createUser } = await setup(t)
  const users = [user, await createUser(), await createUser()]
  const slow = `select i, pg_sleep(0.05)::text from generate_series(1, 100000) as i`
  const [first, second] = [new AbortController(), new AbortController()]
  const asked = [first, second].map((left, at) => ask(users[at]!, 'gpkg', slow, {}, left.signal))
  for (const each of asked) each.catch(() => undefined)
  await eventually(async () => assert.equal((await spooled()).length, 2))
  const third = ask(users[2]!, 'gpkg', 'select 1 as n')
  const ofFirst = ask(users[0]!, 'gpkg', 'select 2 as n')
  let ended = 0
  for (const each of [third, ofFirst])
    void each.then(
      () => ended++,
      () => undefined,
    )
  // Other formats are answered meanwhile.
  assert.equal((await ask(users[0]!, 'csv', 'select 1 as n')).status, 200)
  assert.deepEqual([ended, (await spooled()).length], [0, 2])
  second.abort()
  assert.equal((await readBack(t, await third, 'gpkg')).length, 1)
  assert.equal(ended, 1)
  first.abort()
  assert.equal((await readBack(t, await ofFirst, 'gpkg')).length, 1)
  await eventually(async () => assert.deepEqual(await spooled(), []))
})

test('an error of the query is answered as usual and leaves no file', async (t) => {
  const { user } = await setup(t)
  const late = `select n, st_makepoint(1, 2) as the_geom, 1 / (n - 90000) as x from generate_series(1, 100000) n`
  for (const format of ['gpkg', 'shp']) {
    const answer = await ask(user, format, 'select nothing from nowhere')
    assert.equal(answer.status, 400)
    assert.match(JSON.stringify(await answer.json()), /relation \\"nowhere\\" does not exist/)
    const divided = await ask(user, format, late)
    assert.equal(divided.status, 400)
    assert.match(JSON.stringify(await divided.json()), /division by zero/)
  }
  const denied = await ask({ ...user, masterToken: 'default_public' }, 'gpkg', 'create table t (a int)')
  assert.ok(denied.status >= 400)
  assert.deepEqual(await spooled(), [])
})

for (const format of ['gpkg', 'shp'])
  test(`a client that leaves ends the query and the file of format=${format}`, async (t) => {
    const { user, admin } = await setup(t)
    const leaving = new AbortController()
    const q = `select i, st_setsrid(st_makepoint(0, 0), 4326) as the_geom, pg_sleep(0.01) from generate_series(1, 100000) as i`
    const asked = ask(user, format, q, {}, leaving.signal)
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
