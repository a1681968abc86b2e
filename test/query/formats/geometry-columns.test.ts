import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { setup, type TestUser } from '../../support/service/setup.ts'

const run = promisify(execFile)

const ask = (user: TestUser, format: string, q: string, parameters: object = {}) =>
  fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, format, api_key: user.masterToken, ...parameters }),
  })

type Feature = Readonly<{
  geometry: { coordinates: readonly number[] } | null
  properties: Record<string, unknown>
}>

/** Every format that has one geometry per row, or none, with its file extension and whether GDAL writes it. */
const formats = [
  { format: 'gpkg', extension: 'gpkg', isGdal: true, hasGeometry: true },
  { format: 'spatialite', extension: 'sqlite', isGdal: true, hasGeometry: true },
  { format: 'shp', extension: 'zip', isGdal: true, hasGeometry: true },
  { format: 'fgb', extension: 'fgb', isGdal: true, hasGeometry: true },
  { format: 'kml', extension: 'kml', isGdal: true, hasGeometry: true },
  { format: 'xlsx', extension: 'xlsx', isGdal: true, hasGeometry: false },
  { format: 'geojson', extension: 'geojson', isGdal: false, hasGeometry: true },
  { format: 'topojson', extension: 'topojson', isGdal: false, hasGeometry: true },
] as const

/** The only feature of a file, as GDAL reads it. */
async function onlyFeature(answer: Response, extension: string): Promise<Feature> {
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.equal(answer.status, 200, bytes.toString().slice(0, 500))
  const folder = await mkdtemp(join(tmpdir(), 'geometry-columns-'))
  try {
    const path = join(folder, `file.${extension}`)
    await writeFile(path, bytes)
    const source = extension === 'zip' ? `/vsizip/${path}` : path
    const { stdout } = await run('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', source])
    const { features } = JSON.parse(stdout) as { features: readonly Feature[] }
    assert.equal(features.length, 1)
    return features[0]!
  } finally {
    await rm(folder, { recursive: true })
  }
}

const warningsOf = (answer: Response) => JSON.parse(answer.headers.get('warnings') ?? '[]') as string[]

const at = (text: string, srid = 4326) => `'SRID=${srid};${text}'::geometry`
const inMercator = `st_transform(${at('POINT(1 2)')}, 3857)`
const far = 'SRID=25832;POINT(500000.1 6000000.300000001)'

/** Columns of a query: the geometry of the file, the further geometries, and what the file leaves out. */
const results = [
  { columns: [`${at('POINT(1 2)')} as geom`], others: {}, leftOut: ['geom'] },
  { columns: [`${inMercator} as "The ""shape"""`], others: {}, leftOut: ['The "shape"'] },
  { columns: [`${at('POINT(1 2)')}::geography as geog`], others: {}, leftOut: ['geog'] },
  { columns: [`${inMercator} as the_geom_webmercator`], others: {}, leftOut: ['the_geom_webmercator'] },
  {
    columns: [`${inMercator} as the_geom_webmercator`, `${at('POINT(1 2)')} as the_geom`],
    others: {},
    leftOut: ['the_geom'],
  },
  {
    columns: [`${at('POINT(1 2)')} as geom`, `'${far}'::geometry as shape`],
    others: { shape: far },
    leftOut: ['geom', 'shape'],
  },
  {
    columns: [`'${far}'::geometry as shape`, `${at('POINT(1 2)')} as the_geom`],
    others: { shape: far },
    leftOut: ['shape', 'the_geom'],
  },
  {
    columns: [`${inMercator} as the_geom_webmercator`, `${at('POINT(1 2)')} as geom`],
    others: { the_geom_webmercator: undefined },
    leftOut: ['the_geom_webmercator', 'geom'],
  },
] as const

for (const { format, extension, isGdal, hasGeometry } of formats) {
  const title = hasGeometry
    ? 'the first geometry column is the geometry, whatever its name'
    : 'geometry columns are left out'
  test(`format=${format}: ${title}, and nothing is lost silently`, async (t) => {
    const { user } = await setup(t)
    for (const { columns, others, leftOut } of results) {
      const about = columns.join(', ')
      const answer = await ask(user, format, `select 'x' as t, ${about}, 7 as n`)
      const warnings = warningsOf(answer)
      const { geometry, properties } = await onlyFeature(answer, extension)
      assert.deepEqual([properties.t, Number(properties.n)], ['x', 7], about)
      if (!hasGeometry) {
        const told = leftOut.map((name) => `${format} has no geometries: ${name} is left out`)
        assert.deepEqual([warnings, Object.keys(properties)], [told, ['t', 'n']], about)
        continue
      }
      const [x, y] = geometry?.coordinates ?? []
      assert.ok(Math.abs(x! - 1) < 1e-5 && Math.abs(y! - 2) < 1e-5, `${about}: ${x} ${y}`)
      for (const [name, text] of Object.entries(others)) {
        const field = format === 'shp' ? name.slice(0, 10) : name
        if (isGdal) assert.match(warnings.join(), new RegExp(`column ${field} is text \\(EWKT\\)`), about)
        // As PostgreSQL writes it as text in JSON.
        else assert.match(String(properties[field]), /^01010000/, about)
        if (isGdal && text !== undefined) assert.equal(properties[field], text, about)
      }
    }
  })
}

test('a drawing uses the first geometry column too', async (t) => {
  const { user } = await setup(t)
  const line = at('LINESTRING(0 0, 10 5)')
  const usual = await (await ask(user, 'svg', `select ${line} as the_geom`)).text()
  assert.match(usual, /<path d="M/)
  assert.equal(await (await ask(user, 'svg', `select 1 as n, ${line} as "Line"`)).text(), usual)
})

test('a geometry without a reference system and not in longitude and latitude gives a warning', async (t) => {
  const { user } = await setup(t)
  const q = `select st_makepoint(n * 100, 50) as geom from generate_series(1, 3) as n`
  for (const { format } of formats.filter(({ isGdal, hasGeometry }) => isGdal && hasGeometry)) {
    const told =
      'column geom: 2 values, the first in row 2, not in longitude and latitude, without a reference system'
    const turned = 'column geom: 2 values, the first in row 2, brought to longitudes from -180 to 180'
    const all = format === 'kml' ? [told, turned] : [told]
    assert.deepEqual(warningsOf(await ask(user, format, q)), all, format)
  }
})

test('KML wraps longitudes with a warning, and refuses latitudes beyond the poles', async (t) => {
  const { user } = await setup(t)
  const turned = await ask(user, 'kml', `select 7 as n, 'x' as t, ${at('POINT(190 50)')} as the_geom`)
  assert.deepEqual(warningsOf(turned), [
    'column the_geom: 1 value, the first in row 1, brought to longitudes from -180 to 180',
  ])
  assert.deepEqual((await onlyFeature(turned, 'kml')).geometry?.coordinates.slice(0, 2), [-170, 50])
  const q = `select ${at('POINT(1 2)')} as g union all select ${at('LINESTRING(1 2, 3 90.5)')}`
  const refused = await ask(user, 'kml', q)
  const { error } = (await refused.json()) as { error: string[] }
  const what = 'a latitude beyond 90 degrees in column g, row 2'
  assert.deepEqual([refused.status, error], [400, [`The format kml cannot hold ${what}`]])
})

test('further geometries as text keep every bit and NULL', async (t) => {
  const { user } = await setup(t)
  const q = `select st_makepoint(1, 2) as geom, st_makepoint(sin(i) * 10 ^ i, cos(i) / 3, exp(i)) as shape
    from generate_series(-8, 14) as i union all select st_makepoint(1, 2), null`
  const file = Buffer.from(await (await ask(user, 'gpkg', q)).arrayBuffer())
  const folder = await mkdtemp(join(tmpdir(), 'geometry-columns-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'file.gpkg'), file)
  const { stdout } = await run('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', join(folder, 'file.gpkg')])
  const texts = (JSON.parse(stdout).features as readonly Feature[]).map(({ properties }) => properties.shape)
  assert.equal(texts.length, 24)
  assert.ok(texts.includes(null))
  const { rows } = await user.sql(
    `select shape from (${q}) as sent where shape is not null and not exists (
       select from unnest($1::text[]) as read (shape) where st_asbinary(read.shape::geometry) = st_asbinary(sent.shape))`,
    [texts],
  )
  assert.deepEqual(rows, [])
})

test('an export calls no operator that a tenant created', async (t) => {
  const { user } = await setup(t)
  const types = ['float8', 'numeric', 'int4', 'int8', 'text']
  const signs = ['<', '>', '=', '<=', '>=', '<>', '||', '+', '-', '*']
  // Pairs that pg_catalog does not have: a tenant's operator with exactly these types comes first.
  const pairs = types.flatMap((left) => types.map((right) => [left, right] as const))
  const made = pairs.flatMap(([left, right]) => {
    const name = `trap_${left}_${right}`
    return [
      `create function ${name}(${left}, ${right}) returns bool language plpgsql as $$ begin raise 'trapped'; end $$`,
      ...signs.map(
        (sign) =>
          `create operator public.${sign} (leftarg = ${left}, rightarg = ${right}, function = ${name})`,
      ),
    ]
  })
  await user.sql(made.join('; '))
  await user.sql(`create table shapes (n int, geom geometry, other geometry);
    insert into shapes values (1, ${at('POINT(1 2)')}, 'POINT(7 8)'), (2, 'POINT(200 2)', ${at('POINT(1 2)')})`)
  for (const { format } of formats)
    for (const column of ['geom', 'other', 'geom as the_geom']) {
      const answer = await ask(user, format, `select n, ${column} from shapes`)
      assert.equal(answer.status, 200, `${format} ${column}: ${await answer.text()}`)
    }
})

const spatial = ['shp', 'fgb', 'kml', 'geojson', 'topojson', 'svg'] as const

test('every spatial format says which columns there are and that it needs a geometry', async (t) => {
  const { user } = await setup(t)
  const many = Array.from({ length: 22 }, (_, at) => `1 as c${at}`)
  const cases = [
    [`select 1 as n, '0101' as geom`, {}, 'only n, geom'],
    [`select 1 as n, ${at('POINT(1 2)')} as geom`, { skipfields: 'geom' }, 'only n'],
    [
      `select ${many.join(', ')}`,
      {},
      `only ${Array.from({ length: 20 }, (_, at) => `c${at}`).join(', ')} and 2 more`,
    ],
    ['select', {}, 'no column'],
  ] as const
  for (const format of spatial) {
    for (const [q, parameters, has] of cases) {
      const answer = await ask(user, format, q, parameters)
      const { error, code } = (await answer.json()) as { error: string[]; code: string }
      const told = `The format ${format} needs a geometry column, such as the_geom: the result has ${has}`
      assert.deepEqual([answer.status, code, error], [400, 'bad-request', [told]])
    }
    const wrong = await ask(user, format, `select nothing, ${at('POINT(1 2)')} as geom`)
    const { error, position } = (await wrong.json()) as { error: string[]; position?: number }
    assert.deepEqual([error, position], [['column "nothing" does not exist'], 8], format)
  }
})
