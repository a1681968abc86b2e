import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { type FileMetaData, parquetMetadata, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { eventually, setup, type TestUser } from '../../support/service/setup.ts'

const ask = (user: TestUser, q: string, parameters: object = {}, signal?: AbortSignal) =>
  fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, format: 'parquet', api_key: user.masterToken, ...parameters }),
    ...(signal && { signal }),
  })

type Read = Readonly<{ rows: Record<string, unknown>[]; metadata: FileMetaData; geo: Geo | undefined }>
type Geo = { version: string; primary_column: string; columns: Record<string, Record<string, unknown>> }

/** Reads the file with a library of another vendor than the writer. Geometries stay bytes. */
async function read(user: TestUser, q: string, parameters?: object): Promise<Read> {
  const answer = await ask(user, q, parameters)
  const file = await answer.arrayBuffer()
  assert.equal(answer.status, 200, Buffer.from(file).toString())
  const metadata = parquetMetadata(file, { geoparquet: false })
  const text = metadata.key_value_metadata?.find(({ key }) => key === 'geo')?.value
  const rows = await parquetReadObjects({ file, compressors, metadata, utf8: false })
  return { rows, metadata, geo: text === undefined ? undefined : JSON.parse(text) }
}

test('format=parquet keeps the types and values of PostgreSQL', async (t) => {
  const { user } = await setup(t)
  const q = `select 1::int2 as i2, -2::int4 as i4, 9007199254740993::int8 as i8, 1.5::float4 as f4, 0.30000000000000004::float8 as f8,
    12.34::numeric(10,2) as d, 1.50::numeric as n, true as b, 'ü"x'::text as t, '2026-01-31'::date as day,
    '2026-01-31 10:00:00.123456+00'::timestamptz as tz, '{"a":1}'::jsonb as j, '\\x0102'::bytea as y, null::int4 as nothing`
  const answer = await ask(user, q)
  assert.equal(answer.headers.get('content-type'), 'application/vnd.apache.parquet')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="cartodb-query.parquet"')
  await answer.arrayBuffer()
  const { rows, metadata, geo } = await read(user, q)
  const [row] = rows
  assert.equal(rows.length, 1)
  const text = (value: unknown) => Buffer.from(value as Uint8Array).toString()
  assert.deepEqual(
    [row!.i2, row!.i4, row!.i8, row!.f4, row!.f8, row!.d, row!.b],
    [1, -2, 9007199254740993n, 1.5, 0.30000000000000004, 12.34, true],
  )
  assert.deepEqual([row!.n, row!.t, row!.j], ['1.50', 'ü"x', '{"a": 1}'])
  assert.equal(text(row!.y), '\u0001\u0002')
  assert.equal(row!.nothing, null)
  assert.equal((row!.day as Date).toISOString(), '2026-01-31T00:00:00.000Z')
  const typeOf = (name: string) => metadata.schema.find((element) => element.name === name)!.logical_type
  assert.deepEqual(typeOf('tz'), { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' })
  assert.deepEqual(
    [typeOf('d'), typeOf('t')],
    [{ type: 'DECIMAL', scale: 2, precision: 10 }, { type: 'STRING' }],
  )
  assert.equal(geo, undefined)
})

test('a geometry is WKB with the metadata of GeoParquet 1.1: types, extent, reference system', async (t) => {
  const { user } = await setup(t)
  const shapes = ['POINT(1 2)', 'POLYGON((-5 0,1 0,1 7.25,-5 0))', 'MULTIPOINT((3 -4))', 'POINT EMPTY']
  const values = shapes.map((shape) => `('SRID=4326;${shape}'::geometry)`).join(', ')
  const q = `select the_geom, st_transform(the_geom, 3857) as "größe" from (values ${values}, (null)) as s (the_geom)`
  const { rows, geo } = await read(user, q)
  const { rows: expected } = await user.sql(
    `select encode(st_asbinary(the_geom), 'hex') as wkb from (${q}) as q`,
  )
  assert.deepEqual(
    rows.map(({ the_geom: wkb }) => wkb && Buffer.from(wkb as Uint8Array).toString('hex')),
    expected.map(({ wkb }: { wkb: string | null }) => wkb),
  )
  assert.deepEqual([geo!.version, geo!.primary_column], ['1.1.0', 'the_geom'])
  const { crs, ...column } = geo!.columns.the_geom!
  assert.deepEqual(column, {
    encoding: 'WKB',
    geometry_types: ['MultiPoint', 'Point', 'Polygon'],
    bbox: [-5, -4, 3, 7.25],
  })
  assert.deepEqual((crs as { id: unknown }).id, { authority: 'OGC', code: 'CRS84' })
  assert.deepEqual((geo!.columns.größe!.crs as { id: unknown }).id, { authority: 'EPSG', code: 3857 })
  const solid = await read(user, `select 'POINT Z (1 2 3)'::geometry as g where true`)
  assert.deepEqual(solid.geo!.columns.g, {
    encoding: 'WKB',
    geometry_types: ['Point Z'],
    crs: null,
    bbox: [1, 2, 3, 1, 2, 3],
  })
})

test('a long answer has row groups of 64 Ki rows and every value', async (t) => {
  const { user } = await setup(t)
  const q = `select i as id, (i / 7.0)::float8 as f, case when i % 3 = 0 then null else 'name of ' || i end as name,
    st_setsrid(st_makepoint(i / 1000.0, 1), 4326) as the_geom from generate_series(1, 150000) as i`
  const { rows, metadata, geo } = await read(user, q)
  assert.deepEqual(
    metadata.row_groups.map((group) => Number(group.num_rows)),
    [65_536, 65_536, 18_928],
  )
  assert.equal(rows.length, 150_000)
  assert.ok(rows.every(({ id, f }, at) => id === at + 1 && f === (at + 1) / 7))
  assert.ok(rows.every(({ name }, at) => name === ((at + 1) % 3 === 0 ? null : `name of ${at + 1}`)))
  assert.deepEqual(geo!.columns.the_geom!.bbox, [0.001, 1, 150, 1])
})

test('pages, skipfields, params and empty results work as in other formats', async (t) => {
  const { user } = await setup(t)
  const some = 'select i, i * 2 as twice from generate_series(1, 10) as i'
  const page = await read(user, some, { rows_per_page: 3, page: 1, skipfields: 'twice' })
  assert.deepEqual(page.rows, [{ i: 4 }, { i: 5 }, { i: 6 }])
  assert.deepEqual((await read(user, 'select $1::int8 as n', { params: [5] })).rows, [{ n: 5n }])
  const none = await read(user, 'select 1 as a, null::geometry as the_geom where false')
  assert.equal(none.rows.length, 0)
  assert.deepEqual(Object.keys(none.geo!.columns), ['the_geom'])
})

test('a value that Parquet cannot hold is an error with row and column, and so is a failed query', async (t) => {
  const { user } = await setup(t)
  const errorOf = async (q: string) => {
    const answer = await ask(user, q)
    return [answer.status, ...((await answer.json()) as { error: string[] }).error]
  }
  const unfit = (what: string) => [400, `The format parquet cannot hold ${what}`]
  assert.deepEqual(
    await errorOf(`select 'infinity'::date as day`),
    unfit('the date infinity in column day, row 1'),
  )
  const q = (shape: string) => `select 'POINT(1 2)'::geometry as g union all select '${shape}'`
  assert.deepEqual(await errorOf(q('POINT M (1 2 3)')), unfit('a geometry with M in column g, row 2'))
  assert.deepEqual(
    await errorOf(q('CIRCULARSTRING(0 0,1 1,2 0)')),
    unfit('a geometry with curves or triangles in column g, row 2'),
  )
  assert.deepEqual(await errorOf('select 1 / 0'), [400, 'division by zero'])
  await eventually(async () => assert.equal(await programs(), 0))
})

test('a client that disconnects ends the query and the writing program', async (t) => {
  const { user, admin } = await setup(t)
  const leaving = new AbortController()
  const q = 'select i, pg_sleep(0.01) from generate_series(1, 100000) as i'
  const asked = ask(user, q, {}, leaving.signal)
  await eventually(async () => assert.equal(await programs(), 1))
  leaving.abort()
  await assert.rejects(asked)
  await eventually(async () => {
    assert.equal(await programs(), 0)
    const { rows } = await admin(
      `select query from pg_stat_activity where datname = $1 and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`,
      [user.account.database],
    )
    assert.deepEqual(rows, [])
  })
})

/** Counts the children of this process that write Parquet. */
async function programs(): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      return stat.split(') ')[1]?.split(' ')[1] === String(process.pid) && command.includes('write-parquet')
    }),
  )
  return found.filter(Boolean).length
}
