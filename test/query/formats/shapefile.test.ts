import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { setup, type TestUser } from '../../support/service/setup.ts'

const run = promisify(execFile)

const ask = (user: TestUser, format: string, q: string, filename?: string) =>
  fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, format, filename, api_key: user.masterToken }),
  })

const warningsOf = (answer: Response) => JSON.parse(answer.headers.get('warnings') ?? '[]') as string[]

type Cleaner = { after: (end: () => Promise<void>) => void }

async function save(t: Cleaner, answer: Response, name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'read-back-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.equal(answer.status, 200, bytes.toString().slice(0, 500))
  await writeFile(join(folder, name), bytes)
  return join(folder, name)
}

/** Unpacks a zip with another program than ours. */
async function unzip(path: string): Promise<(name: string) => Promise<string>> {
  await run('python3', ['-m', 'zipfile', '-e', path, `${path}.d`])
  return (name) => readFile(join(`${path}.d`, name), 'utf8')
}

async function rowsOf(path: string, layer: string) {
  const limit = { maxBuffer: 64 * 1024 ** 2 }
  const { stdout } = await run('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', path, layer], limit)
  return (JSON.parse(stdout).features as { geometry: unknown; properties: object }[]).map(
    ({ geometry, properties }): Record<string, unknown> => ({ ...properties, geometry }),
  )
}

test('format=shp is a zip with a shapefile, its projection and its encoding', async (t) => {
  const { user } = await setup(t)
  const q = `select 7 as id, 'Ærø' as name, 1234567890123 as big, 0.125::float8 as part, true as yes, date '2026-01-31' as day,
    timestamptz '2026-01-31 10:00:00.123456+00' as at, st_setsrid(st_makepoint(1.5, 2), 4326) as the_geom union all
    select 8, null, null, null, null, null, null, null order by 1`
  const answer = await ask(user, 'shp', q, 'places')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="places.zip"')
  assert.equal(answer.headers.get('content-type'), 'application/zip')
  assert.deepEqual(warningsOf(answer), [])
  const path = await save(t, answer, 'places.zip')
  const { stdout } = await run('python3', ['-m', 'zipfile', '-l', path])
  const names = [...stdout.matchAll(/^(\S+\.\w+) /gm)].map(([, name]) => name)
  assert.deepEqual(names, ['places.cpg', 'places.dbf', 'places.prj', 'places.shp', 'places.shx'])
  const read = await unzip(path)
  assert.equal(await read('places.cpg'), 'UTF-8')
  assert.match(await read('places.prj'), /GCS_WGS_1984/)
  const [first, second] = await rowsOf(`/vsizip/${path}`, 'places')
  assert.deepEqual(first, {
    id: 7,
    name: 'Ærø',
    big: 1234567890123,
    part: 0.125,
    yes: 1,
    day: '2026-01-31',
    at: '2026-01-31T10:00:00.123456Z',
    geometry: { type: 'Point', coordinates: [1.5, 2] },
  })
  assert.deepEqual([second!.id, second!.name, second!.geometry], [8, null, null])
})

test('a shapefile export has a layer for each kind of geometry', async (t) => {
  const { user } = await setup(t)
  const shapes = [
    'POINT(1 2)',
    'LINESTRING(0 0,1 1)',
    'MULTILINESTRING((0 0,1 1),(2 2,3 3))',
    'POLYGON((0 0,0 1,1 1,0 0))',
    'POINT Z (1 2 3)',
  ]
  const values = shapes.map((shape, at) => `(${at}, '${shape}'::geometry)`).join(', ')
  const answer = await ask(user, 'shp', `select * from (values ${values}, (9, null)) as v (n, the_geom)`)
  const path = `/vsizip/${await save(t, answer, 'a.zip')}`
  const kinds = async (layer: string) =>
    (await rowsOf(path, layer)).map(({ n, geometry }) => [n, (geometry as { type: string } | null)?.type])
  assert.deepEqual(await kinds('rows_point'), [
    [0, 'Point'],
    [9, undefined],
  ])
  assert.deepEqual(await kinds('rows_line'), [
    [1, 'LineString'],
    [2, 'MultiLineString'],
  ])
  assert.deepEqual(await kinds('rows_polygon'), [[3, 'Polygon']])
  assert.deepEqual(await kinds('rows_pointz'), [[4, 'Point']])
})

/** Of each kind, with rings in both directions, parts that are empty, and shapes of more than a megabyte. */
const kinds = {
  points: ['POINT(1 2)', 'POINT(-179.9 89.123456789012345)', null],
  pointsz: ['POINT Z (1 2 3)', 'POINT Z (0 0 -5.5)'],
  pointsm: ['POINT M (1 2 3)', 'POINT M (0 0 -5.5)'],
  pointszm: ['POINT ZM (1 2 3 4)', null],
  multipoints: ['MULTIPOINT(1 2, 3 4)', 'MULTIPOINT(5 6, EMPTY, 7 8)'],
  multipointsz: ['MULTIPOINT Z (1 2 3, 4 5 6)'],
  lines: ['LINESTRING(0 0, 1 1)', 'MULTILINESTRING((0 0, 1 1), EMPTY, (2 2, 3 3, 4 5))'],
  linesz: ['LINESTRING Z (0 0 1, 1 1 9, 3 -4 5)', 'MULTILINESTRING Z ((0 0 1, 1 1 2), (2 2 3, 3 3 4))'],
  linesm: ['LINESTRING M (0 0 1, 1 1 9, 3 -4 5)'],
  lineszm: ['LINESTRING ZM (0 0 1 5, 1 1 9 6, 3 -4 5 7)'],
  polygons: [
    'POLYGON((0 0, 0 9, 9 9, 9 0, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1))',
    'POLYGON((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))',
    'MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), EMPTY, ((5 5, 5 9, 9 9, 5 5), (6 7, 7 8, 6 8, 6 7)))',
    `(select st_makepolygon(st_addpoint(line, st_startpoint(line))) from (
      select st_makeline(st_makepoint(10 * cos(i / 16000.0), sin(i / 16000.0)) order by i) as line from generate_series(1, 100000) i
    ) as ring)`,
  ],
  polygonsz: ['POLYGON Z ((0 0 1, 1 0 2, 1 1 3, 0 0 1))'],
} as const

test('the shapes of a shapefile are byte for byte those that GDAL writes', async (t) => {
  const { user } = await setup(t)
  for (const [kind, shapes] of Object.entries(kinds)) {
    const values = shapes.map((shape, at) => {
      const expression = shape?.startsWith('(') ? shape : shape === null ? 'null' : `'${shape}'`
      return `(${at}, st_setsrid(${expression}::geometry, 4326))`
    })
    const q = `select * from (values ${values.join(', ')}) as v (n, the_geom)`
    const ours = await save(t, await ask(user, 'shp', q), 'ours.zip')
    await unzip(ours)
    const gpkg = await save(t, await ask(user, 'gpkg', q), 'gdal.gpkg')
    const type = kind.replace(/s(z?m?)$/, '$1').replace('line', 'linestring')
    const folder = join(gpkg, '..')
    await run('ogr2ogr', ['-f', 'ESRI Shapefile', '-nlt', type, '-nln', 'gdal', folder, gpkg])
    for (const ending of ['shp', 'shx']) {
      const [mine, theirs] = await Promise.all([
        readFile(join(`${ours}.d`, `rows.${ending}`)),
        readFile(join(folder, `gdal.${ending}`)),
      ])
      assert.ok(
        mine.equals(theirs),
        `${kind}.${ending}: ${mine.toString('hex', 0, 400)}\n${theirs.toString('hex', 0, 400)}`,
      )
    }
  }
})

test('the values of a shapefile are those of the rows, at the edges of what a DBF holds', async (t) => {
  const { user } = await setup(t)
  const columns = {
    small: ['-32768', '32767', '0'],
    whole: ['-2147483648', '2147483647', '7'],
    big: ['-99999999999999999', '999999999999999999', '1'],
    double: ['-1.5e+15', '0.1', '123456789.125'],
    tiny: ['1e-15', '-0.000000000000001', '0'],
    huge: ['-1e21', '5e20', '1'],
    decimal: ['-12345.678901', '0', '99999.5'],
  } as const
  const types = ['int2', 'int4', 'int8', 'float8', 'float8', 'float8', 'numeric']
  const names = Object.keys(columns)
  const rows = [0, 1, 2].map((at) => Object.values(columns).map((values) => values[at]!))
  const lines = rows.map((row) => `(${row.map((value, at) => `'${value}'::${types[at]}`).join(', ')})`)
  const q = `select *, 'POINT(1 2)'::geometry as the_geom from (values ${lines.join(', ')}, (${names.map(() => 'null').join(', ')})) as v (${names.join(', ')})`
  const read = await rowsOf(`/vsizip/${await save(t, await ask(user, 'shp', q), 'a.zip')}`, 'rows')
  for (const [at, name] of names.entries())
    assert.deepEqual(
      read.map((row) => (row[name] === null ? null : Number(row[name]))),
      [...rows.map((row) => Number(row[at])), null],
      name,
    )
  const dates = `select date '0001-01-01' as early, date '9999-12-31' as late, time '10:00' as clock, false as no, ''::text as nothing,
    'POINT(1 2)'::geometry as the_geom`
  const [row] = await rowsOf(`/vsizip/${await save(t, await ask(user, 'shp', dates), 'a.zip')}`, 'rows')
  assert.deepEqual(
    [row!.early, row!.late, row!.clock, row!.no, row!.nothing],
    ['0001-01-01', '9999-12-31', '10:00:00', 0, null],
  )
})

test('a shapefile of geometries alone, and one without rows, can be read', async (t) => {
  const { user } = await setup(t)
  const alone = `select st_makepoint(n, 2) as the_geom from generate_series(1, 3) as n`
  const three = await rowsOf(`/vsizip/${await save(t, await ask(user, 'shp', alone), 'a.zip')}`, 'rows')
  assert.deepEqual(
    three.map(({ FID, geometry }) => [FID, (geometry as { coordinates: number[] }).coordinates]),
    [0, 1, 2].map((at) => [at, [at + 1, 2]]),
  )
  const none = await ask(user, 'shp', `select 1 as n, null::geometry as the_geom where false`)
  assert.deepEqual(await rowsOf(`/vsizip/${await save(t, none, 'a.zip')}`, 'rows'), [])
})

test('a shapefile of many rows has them all, in their order', async (t) => {
  const { user } = await setup(t)
  const q = `select n, repeat(chr(228), n % 100) as t, case when n % 3 > 0 then st_makepoint(n % 180, n % 90) else
    st_makeline(st_makepoint(0, 0), st_makepoint(n % 180, n % 90)) end as the_geom from generate_series(1, 50000) as n`
  const path = `/vsizip/${await save(t, await ask(user, 'shp', q), 'a.zip')}`
  const read = [...(await rowsOf(path, 'rows_point')), ...(await rowsOf(path, 'rows_line'))]
  assert.equal(read.length, 50_000)
  for (const layer of ['rows_point', 'rows_line']) {
    const numbers = (await rowsOf(path, layer)).map(({ n }) => Number(n))
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
  }
  for (const { n, t: text, geometry } of read) {
    const number = Number(n)
    assert.equal(text ?? '', 'ä'.repeat(number % 100))
    const last = [(geometry as { coordinates: number[] | number[][] }).coordinates].flat(2).slice(-2)
    assert.deepEqual(last, [number % 180, number % 90])
  }
})

test('a number that is too long for a field of a shapefile is an error with row and column', async (t) => {
  const { user } = await setup(t)
  const answer = await ask(user, 'shp', `select 10::numeric ^ 300 as n, 'POINT(1 2)'::geometry as the_geom`)
  const { error } = (await answer.json()) as { error: string[] }
  assert.deepEqual(
    [answer.status, error],
    [400, ['The format shp cannot hold a number of more than 254 digits in column n, row 1']],
  )
})

test('columns.txt of a shapefile lists short names and what was changed', async (t) => {
  const { user } = await setup(t)
  const q = `select 1 as population_2020, 2 as population_2021, repeat('ä', 200) as description, 'x ' as blank, 1e-20::float8 as tiny,
    123456789012345678::numeric as whole, 9223372036854775807 as big, 'POINT(1 2)'::geometry as the_geom`
  const answer = await ask(user, 'shp', q)
  const expected = [
    'column population_2020 is named population',
    'column population_2021 is named populati_1',
    'column description is named descriptio',
    'column descriptio: 1 value, the first in row 1, cut to 254 bytes',
    'column blank: 1 value, the first in row 1, lost: shp has no empty texts or spaces at the end',
    'column tiny: values rounded to 15 digits behind the point',
    'column whole is text: shp has no number for all its digits',
    'column big is text: shp has no number for all its digits',
  ]
  assert.deepEqual(warningsOf(answer), expected)
  const path = await save(t, answer, 'a.zip')
  const lines = (await (await unzip(path))('columns.txt')).trimEnd().split('\n')
  const names = ['population\tpopulation_2020', 'populati_1\tpopulation_2021', 'descriptio\tdescription', '']
  assert.deepEqual(lines, [...names, ...expected])
  const [row] = await rowsOf(`/vsizip/${path}`, 'rows')
  assert.deepEqual(
    [row!.population, row!.populati_1, row!.descriptio, row!.whole, row!.big],
    [1, 2, 'ä'.repeat(127), '123456789012345678', '9223372036854775807'],
  )
})

test('what a shapefile or FlatGeobuf cannot hold is an error with row and column', async (t) => {
  const { user } = await setup(t)
  const shape = (text: string) => `select 1 as n, '${text}'::geometry as the_geom`
  const unfit = (format: string, what: string) => [400, `The format ${format} cannot hold ${what}`]
  const cases = [
    ['shp', shape('POINT EMPTY'), 'an empty geometry in column the_geom, row 1'],
    ['shp', shape('GEOMETRYCOLLECTION(POINT(1 2))'), 'a GEOMETRYCOLLECTION in column the_geom, row 1'],
    [
      'shp',
      shape('CIRCULARSTRING(0 0,1 1,2 0)'),
      'a CIRCULARSTRING with curves or triangles in column the_geom, row 1',
    ],
    ['fgb', `${shape('POINT(1 2)')} union all select 2, null order by 1`, 'NULL in column the_geom, row 2'],
    ['fgb', shape('POINT EMPTY'), 'an empty geometry in column the_geom, row 1'],
    [
      'fgb',
      `${shape('POINT(1 2)')} union all ${shape('POINT Z (1 2 3)')}`,
      'geometries with and without Z or M: those of rows 1 and 2',
    ],
  ] as const
  for (const [format, q, what] of cases) {
    const answer = await ask(user, format, q)
    const { error } = (await answer.json()) as { error: string[] }
    assert.deepEqual([answer.status, ...error], unfit(format, what))
  }
})

test('format=fgb is a FlatGeobuf that keeps Z, curves and texts', async (t) => {
  const { user } = await setup(t)
  const q = `select 1 as n, '' as nothing, 9007199254740993 as big, 'POINT Z (1 2 3)'::geometry as the_geom union all
    select 2, null, null, 'CIRCULARSTRING Z (0 0 1,1 1 1,2 0 1)' order by 1`
  const answer = await ask(user, 'fgb', q, 'places')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="places.fgb"')
  const { stdout } = await run('ogrinfo', ['-q', '-al', await save(t, answer, 'places.fgb')])
  for (const part of ['POINT Z (1 2 3)', 'CIRCULARSTRING Z (0 0 1,1 1 1,2 0 1)', '9007199254740993'])
    assert.ok(stdout.includes(part), stdout)
  const none = await ask(user, 'fgb', 'select 1 as n, null::geometry as the_geom where false')
  const { stdout: empty } = await run('ogrinfo', ['-so', '-al', await save(t, none, 'none.fgb')])
  assert.match(empty, /Feature Count: 0/)
})
