import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Binary, Table, Utf8, vectorFromArray } from 'apache-arrow'
import { columnFile, parquetOf, pointWkb } from '../../support/imports/column-files.ts'
import { setupImports } from '../../support/imports/import-api.ts'
import { zipOf } from '../../support/imports/zip.ts'
import type { TestUser } from '../../support/service/setup.ts'

const typesOf = async (user: TestUser, table: string) => {
  const { rows } = await user.sql(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type from pg_attribute a
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped`,
    [table],
  )
  return Object.fromEntries(rows.map(({ name, type }) => [name, type]))
}

const types = {
  ...{ i8: 'integer', u8: 'integer', i16: 'integer', u16: 'integer', i32: 'integer', u32: 'bigint' },
  ...{ i64: 'bigint', u64: 'numeric(20,0)', f32: 'real', f64: 'double precision', f16: 'real' },
  ...{
    dec: 'numeric(38,2)',
    dec256: 'numeric(60,2)',
    b: 'boolean',
    s: 'text',
    ls: 'text',
    d32: 'date',
    d64: 'date',
  },
  ...Object.fromEntries(
    ['ts_us', 'ts_utc', 'ts_ns', 'ts_s', 'ts_ms'].map((name) => [name, 'timestamp with time zone']),
  ),
  ...{
    t32: 'time without time zone',
    t64: 'time without time zone',
    bin: 'bytea',
    fsb: 'bytea',
    uid: 'uuid',
  },
  ...{ l: 'json', st: 'json', mp: 'json', fl: 'json', nest: 'json', dict: 'text', nul: 'text', sv: 'text' },
}

const first = {
  ...{ i8: '1', u8: '1', i16: '1', u16: '1', i32: '1', u32: '1', i64: '1', u64: '1' },
  ...{ f32: '0.1', f64: '0.14285714285714285', f16: '0.5', dec: '1.10', dec256: '1.10', b: 'true' },
  ...{ s: 'Málaga\t"x"\\n', ls: 'x', d32: '2020-01-31', d64: '2020-01-31', ts_us: '1970-01-01 00:00:00+00' },
  ...{ ts_utc: '2020-01-31 10:00:00.123456+00', ts_ns: '2020-01-31 10:00:00.123457+00' },
  ...{ ts_s: '1970-01-01 00:00:01+00', ts_ms: '1970-01-01 00:00:00.001+00', t32: '00:00:01' },
  ...{ t64: '00:00:00.000001', bin: '\\x00ff', fsb: '\\x31323334', l: '[1,null,3]', st: '{"a":1,"b":"x"}' },
  ...{ mp: '{"k":1}', dict: 'x', nul: null, uid: '00000000-0000-0000-0000-000000000001', fl: '[1.5,2.5]' },
  ...{ sv: 'a long string, longer than twelve', nest: '[{"a":["2020-01-01"]}]' },
}

const second = {
  ...{ i8: '-128', u8: '255', i16: '-32768', u16: '65535', i32: '-2147483648', u32: '4294967295' },
  ...{ i64: '-9223372036854775808', u64: '18446744073709551615', f32: 'Infinity', f64: 'NaN', f16: '2' },
  ...{ dec: '-12345678901234567890.12', dec256: '-1234567890123456789012345678901234567890.12', b: 'false' },
  ...{ s: 'a\nb', ls: '', d32: '0001-01-01', d64: '0001-01-01', ts_us: '0001-01-01 00:00:00+00' },
  ...{
    ts_utc: '1970-01-01 00:00:00.000001+00',
    ts_ns: '1970-01-01 00:00:00+00',
    ts_s: '1970-01-01 00:00:02+00',
  },
  ...{ ts_ms: '1969-12-31 23:59:59.998+00', t32: '00:00:02', t64: '23:59:59.999999', bin: '\\x61' },
  ...{ fsb: '\\x00010203', l: '[]', st: '{"a":null,"b":null}', mp: '{}', dict: 'y', nul: null },
  ...{ uid: '00000000-0000-0000-0000-000000000002', fl: '[0,1]', sv: 's', nest: '[]' },
}

const names = Object.keys(types)
const texts = names.map((name) => `${name}::text`).join(', ')

for (const name of [
  'pyarrow.parquet',
  'pyarrow.arrow',
  'pyarrow.arrows',
  'pyarrow-lz4.feather',
  'pyarrow-zstd.feather',
]) {
  test(`${name} becomes a table with the types and values of the file`, async (t) => {
    const { load, user, nothingLeft } = await setupImports(t)
    const done = await load(name.replace('pyarrow', 'From Python'), columnFile(name))
    assert.equal(done.get_error_text, null)
    assert.deepEqual(done.warnings, { rounded_times: ['ts_ns'] })
    assert.equal(done.progress.rows, 3)
    const table = done.table_name!
    assert.match(table, /^from_python/)
    const found = await typesOf(user, table)
    assert.deepEqual(Object.fromEntries(names.map((column) => [column, found[column]])), types)
    assert.equal(found.the_geom, 'geometry(Geometry,4326)')
    const { rows } = await user.sql(
      `select ${texts}, encode(st_asbinary(the_geom), 'hex') as wkb from ${table} order by cartodb_id`,
    )
    const place = (x: number, y: number) => Buffer.from(pointWkb(x, y)).toString('hex')
    assert.deepEqual(rows, [
      { ...first, wkb: place(-4.42, 36.72) },
      { ...second, wkb: place(1 / 7, 2 / 7) },
      { ...Object.fromEntries(names.map((column) => [column, null])), wkb: null },
    ])
    await nothingLeft()
  })
}

const places = (...wkb: (Uint8Array | null)[]) =>
  new Table({
    name: vectorFromArray(
      wkb.map((_, at) => `p${at}`),
      new Utf8(),
    ),
    geometry: vectorFromArray(wkb, new Binary()),
  })

const geoOf = (column: object) => ({
  version: '1.1.0',
  primary_column: 'geometry',
  columns: { geometry: { encoding: 'WKB', geometry_types: [], ...column } },
})

test("geometry is transformed from the reference system in the file's metadata", async (t) => {
  const { load, user } = await setupImports(t)
  const utm = { type: 'ProjectedCRS', name: 'ETRS89 / UTM zone 30N', id: { authority: 'EPSG', code: 25830 } }
  const compound = { type: 'CompoundCRS', name: 'x', components: [utm, { type: 'VerticalCRS', name: 'h' }] }
  for (const crs of [utm, compound]) {
    const file = parquetOf(places(pointWkb(373_000, 4_065_000), null), geoOf({ crs }))
    const done = await load('utm.parquet', file)
    assert.equal(done.get_error_text, null)
    const { rows } = await user.sql(
      `select round(st_x(the_geom)::numeric, 3)::text as x, round(st_y(the_geom)::numeric, 3)::text as y from ${done.table_name} order by name`,
    )
    assert.deepEqual(rows, [
      { x: '-4.422', y: '36.722' },
      { x: null, y: null },
    ])
  }
})

test('an unknown reference system is 3008, and a missing one is longitude and latitude or 3101', async (t) => {
  const { load, nothingLeft } = await setupImports(t)
  const near = places(pointWkb(-4.42, 36.72))
  const far = places(pointWkb(373_000, 4_065_000))
  const custom = { type: 'ProjectedCRS', name: 'Moon grid' }
  const cases = [
    [near, { crs: custom }, 3008, /column geometry is not known: Moon grid/],
    [near, { crs: { ...custom, id: { authority: 'IAU', code: 30100 } } }, 3008, /IAU:30100/],
    [near, { crs: { ...custom, id: { authority: 'EPSG', code: 999_998 } } }, 3008, /999998/],
    [far, { crs: null }, 3101, /reference system/],
    [near, { encoding: 'point' }, 2001, /column geometry are not WKB but point/],
  ] as const
  for (const [table, column, code, text] of cases) {
    const failed = await load('a.parquet', parquetOf(table, geoOf(column)))
    assert.equal(failed.error_code, code, JSON.stringify(failed.get_error_text))
    assert.match(failed.get_error_text!.what_about, text)
  }
  const assumed = await load('b.parquet', parquetOf(near, geoOf({ crs: null })))
  assert.deepEqual([assumed.get_error_text, assumed.warnings], [null, { srid_assumed: 4326 }])
  await nothingLeft()
})

test('Z, M and curves in the geometry of an Arrow file become flat lines', async (t) => {
  const { load, user } = await setupImports(t)
  const shapes = ['POINT ZM (1 2 3 4)', 'CIRCULARSTRING (0 0, 1 1, 2 0)', 'LINESTRING Z (0 0 5, 1 1 5)']
  const q = shapes
    .map((text, n) => `select ${n} as n, st_geomfromtext('${text}', 4326) as g`)
    .join(' union all ')
  const file = await exported(user, q, 'arrow')
  const done = await load('shapes.arrow', file)
  assert.equal(done.get_error_text, null)
  const { rows } = await user.sql(
    `select st_geometrytype(the_geom) as kind, st_ndims(the_geom) as dims from shapes order by n`,
  )
  assert.deepEqual(rows, [
    { kind: 'ST_Point', dims: 2 },
    { kind: 'ST_LineString', dims: 2 },
    { kind: 'ST_LineString', dims: 2 },
  ])
})

async function exported(user: TestUser, q: string, format: string): Promise<Buffer> {
  const answer = await fetch(
    `${user.base}/api/v2/sql?format=${format}&api_key=${user.masterToken}&q=${encodeURIComponent(q)}`,
  )
  const file = Buffer.from(await answer.arrayBuffer())
  assert.equal(answer.status, 200, file.toString())
  return file
}

test('each Parquet and Arrow file in a zip becomes a table, and so does one in .gz', async (t) => {
  const { load, user } = await setupImports(t)
  const parquet = parquetOf(places(pointWkb(1, 2)), geoOf({}))
  const arrow = columnFile('pyarrow.arrow')
  const both = await load(
    'both.zip',
    zipOf([
      { name: 'a/one.parquet', content: parquet },
      { name: 'two.feather', content: arrow },
    ]),
  )
  assert.equal(both.get_error_text, null)
  assert.deepEqual([...both.table_names].sort(), ['one', 'two'])
  const packed = await load('three.geoparquet.gz', gzipSync(parquet))
  assert.deepEqual([packed.get_error_text, packed.table_name], [null, 'three'])
  const { rows } = await user.sql('select name, st_astext(the_geom) as place from three')
  assert.deepEqual(rows, [{ name: 'p0', place: 'POINT(1 2)' }])
})

test('a Parquet file can be appended, and a row that PostgreSQL refuses left out', async (t) => {
  const { load, user } = await setupImports(t)
  await load('grows.parquet', parquetOf(places(pointWkb(1, 2)), geoOf({})))
  const broken = places(pointWkb(3, 4), new Uint8Array([1, 2, 3]), pointWkb(5, 6))
  const failed = await load('grows.parquet', parquetOf(broken, geoOf({})), { collision_strategy: 'append' })
  assert.equal(failed.state, 'failure')
  const done = await load('grows.parquet', parquetOf(broken, geoOf({})), {
    collision_strategy: 'append',
    on_error: 'skip',
  })
  assert.deepEqual([done.get_error_text, done.rejected_rows], [null, 1])
  assert.equal(done.rejected![0]!.line, 2)
  const { rows } = await user.sql('select st_x(the_geom) as x from grows order by 1')
  assert.deepEqual(rows, [{ x: 1 }, { x: 3 }, { x: 5 }])
})

test('files without rows, and columns with equal names, are imported', async (t) => {
  const { load, user } = await setupImports(t)
  const empty = await load('empty.parquet', parquetOf(places().slice(0, 0), geoOf({})))
  assert.deepEqual([empty.get_error_text, empty.warnings], [null, { empty: ['empty'] }])
  const twice = await load('twice.arrow', await exported(user, 'select 1 as a, 2 as "A", 3 as a', 'arrow'))
  assert.equal(twice.get_error_text, null)
  const { rows } = await user.sql('select a, a_1, a_1_1 from twice')
  assert.deepEqual(rows, [{ a: 1, a_1: 2, a_1_1: 3 }])
})
