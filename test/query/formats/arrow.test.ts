import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Table, Type, tableFromIPC } from 'apache-arrow'
import { setup, type TestUser } from '../../support/service/setup.ts'

const ask = (user: TestUser, q: string, parameters: Record<string, string> = {}) =>
  fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, format: 'arrow', api_key: user.masterToken, ...parameters }),
  })

async function tableOf(user: TestUser, q: string, parameters?: Record<string, string>): Promise<Table> {
  const answer = await ask(user, q, parameters)
  const bytes = new Uint8Array(await answer.arrayBuffer())
  assert.equal(answer.status, 200, Buffer.from(bytes).toString())
  return tableFromIPC(bytes)
}

const typesOf = (table: Table) =>
  Object.fromEntries(table.schema.fields.map(({ name, type }) => [name, String(type)]))

test('format=arrow is an Arrow stream that keeps the types of PostgreSQL', async (t) => {
  const { user } = await setup(t)
  const q = `select 1::int2 as i2, -2::int4 as i4, 9007199254740993::int8 as i8, 1.5::float4 as f4, 0.1::float8 as f8,
    12345678901234567890.12::numeric(30,2) as d, 1.50::numeric as n, true as b, 'ü"x'::text as t, '2026-01-31'::date as day,
    '2026-01-31 10:00:00.123456'::timestamp as ts, '0044-03-15 12:00:00+00 BC'::timestamptz as tz,
    '00000000-0000-0000-0000-000000000001'::uuid as u, '{"a":1}'::jsonb as j, '\\x0102'::bytea as y, null::int4 as nothing`
  const answer = await ask(user, q)
  assert.equal(answer.headers.get('content-type'), 'application/vnd.apache.arrow.stream')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="cartodb-query.arrow"')
  const table = tableFromIPC(new Uint8Array(await answer.arrayBuffer()))
  assert.deepEqual(typesOf(table), {
    i2: 'Int16',
    i4: 'Int32',
    i8: 'Int64',
    f4: 'Float32',
    f8: 'Float64',
    d: 'Decimal[30e+2]',
    n: 'Utf8',
    b: 'Bool',
    t: 'Utf8',
    day: 'Date32<DAY>',
    ts: 'Timestamp<MICROSECOND>',
    tz: 'Timestamp<MICROSECOND, UTC>',
    u: 'Utf8',
    j: 'Utf8',
    y: 'Binary',
    nothing: 'Int32',
  })
  const row = table.get(0)!
  assert.deepEqual([row.i2, row.i4, row.i8, row.f4, row.f8], [1, -2, 9007199254740993n, 1.5, 0.1])
  const words = [...(row.d as Uint32Array)].map(BigInt)
  assert.equal(
    words.reduceRight((sum, word) => (sum << 32n) | word),
    1234567890123456789012n,
  )
  assert.deepEqual(
    [row.n, row.b, row.t, row.u, row.j],
    ['1.50', true, 'ü"x', '00000000-0000-0000-0000-000000000001', '{"a": 1}'],
  )
  const raw = (name: string) => table.getChild(name)!.data[0]!.values
  assert.equal(raw('day')[0], Date.UTC(2026, 0, 31) / 86_400_000)
  assert.equal(raw('ts')[0], BigInt(Date.UTC(2026, 0, 31, 10)) * 1000n + 123_456n)
  const { rows } = await user.sql(
    `select (extract(epoch from '0044-03-15 12:00:00+00 BC'::timestamptz) * 1000000)::int8::text as micros`,
  )
  assert.equal(raw('tz')[0], BigInt(rows[0].micros))
  assert.deepEqual([[...row.y], row.nothing], [[1, 2], null])
  assert.equal(
    table.schema.fields.find(({ name }) => name === 'j')!.metadata.get('ARROW:extension:name'),
    'arrow.json',
  )
  assert.equal(table.schema.fields.find(({ name }) => name === 'u')!.metadata.get('pg_type'), 'uuid')
})

test('a geometry is WKB with the metadata of GeoArrow', async (t) => {
  const { user } = await setup(t)
  const shapes = [
    'SRID=4326;POINT(1 2)',
    'SRID=4326;POLYGON((0 0,1 0,1 1,0 0),(0.1 0.1,0.2 0.1,0.2 0.2,0.1 0.1))',
    'SRID=4326;GEOMETRYCOLLECTION Z (POINT Z (1 2 3),MULTILINESTRING Z ((0 0 1,1 1 2),(2 2 3,3 3 4)))',
    'SRID=4326;MULTIPOINT ZM ((1 2 3 4))',
    'SRID=4326;POINT EMPTY',
  ]
  const values = shapes.map((shape) => `('${shape}'::geometry)`).join(', ')
  const table = await tableOf(user, `select the_geom from (values ${values}, (null)) as s (the_geom)`)
  const [field] = table.schema.fields
  assert.equal(field!.typeId, Type.Binary)
  assert.equal(field!.metadata.get('ARROW:extension:name'), 'geoarrow.wkb')
  assert.deepEqual(JSON.parse(field!.metadata.get('ARROW:extension:metadata')!), {
    crs: 'OGC:CRS84',
    crs_type: 'authority_code',
  })
  const { rows } = await user.sql(
    `select encode(st_asbinary(the_geom), 'hex') as wkb from (values ${values}, (null)) as s (the_geom)`,
  )
  const read = [...table.getChild('the_geom')!].map((bytes) => bytes && Buffer.from(bytes).toString('hex'))
  assert.deepEqual(
    read,
    rows.map(({ wkb }: { wkb: string | null }) => wkb),
  )
  const declared = await tableOf(user, 'select null::geometry(Point, 3857) as g')
  assert.match(declared.schema.fields[0]!.metadata.get('ARROW:extension:metadata')!, /EPSG:3857/)
})

test('a long answer comes in batches and has every value', async (t) => {
  const { user } = await setup(t)
  const q = `select i as id, i * 0.001 as x, (i / 7.0)::float8 as f, case when i % 3 = 0 then null else 'name of ' || i end as name,
    timestamptz '2026-01-31' + i * interval '1 s' as at from generate_series(-70000, 80000) as i`
  const table = await tableOf(user, q)
  assert.equal(table.numRows, 150_001)
  assert.ok(table.batches.length >= 3)
  assert.ok(table.batches.every(({ numRows }) => numRows <= 65_536))
  const { rows } = await user.sql(
    `select sum(f)::float8 as f, count(name)::int as names, md5(string_agg(x::text, ',' order by id)) as x from (${q}) as q`,
  )
  const { createHash } = await import('node:crypto')
  const xs = [...table.getChild('x')!]
  assert.equal(createHash('md5').update(xs.join(',')).digest('hex'), rows[0].x)
  const names = [...table.getChild('name')!]
  assert.equal(names.filter((name) => name !== null).length, rows[0].names)
  assert.equal(names[0], 'name of -70000')
  const floats = [...table.getChild('f')!] as number[]
  assert.ok(floats.every((value, at) => value === (at - 70_000) / 7))
})

test('skipfields, pages, params and empty results work as in other formats', async (t) => {
  const { user } = await setup(t)
  const some = 'select i, i * 2 as twice from generate_series(1, 10) as i'
  const page = await tableOf(user, some, { rows_per_page: '3', page: '1', skipfields: 'twice' })
  assert.deepEqual(
    page.toArray().map((row) => ({ ...row })),
    [{ i: 4 }, { i: 5 }, { i: 6 }],
  )
  const bound = await tableOf(user, 'select $1::int8 as n', { params: [5] as never })
  assert.equal(bound.get(0)!.n, 5n)
  const none = await tableOf(user, 'select 1 as a where false')
  assert.deepEqual([none.numRows, typesOf(none)], [0, { a: 'Int32' }])
})

test('two columns of one name are both in the file', async (t) => {
  const { user } = await setup(t)
  const table = await tableOf(user, `select 1 as a, 'x' as a, 2 as "A", 3 as a_1`)
  assert.deepEqual({ ...table.get(0)! }, { a: 1, a_1: 'x', A: 2, a_1_1: 3 })
})

test('geometries of two reference systems in one column are an error with row and column', async (t) => {
  const { user } = await setup(t)
  const q = `select 'SRID=4326;POINT(1 2)'::geometry as g union all select null union all select 'SRID=3857;POINT(1 2)'`
  const answer = await ask(user, q)
  assert.deepEqual(
    [answer.status, ((await answer.json()) as { error: string[] }).error],
    [400, ['The format arrow cannot hold SRID 3857 beside SRID 4326 in column g, row 3']],
  )
})

test('a value that Arrow cannot hold is an error with row and column', async (t) => {
  const { user } = await setup(t)
  const q = `select i, case when i = 3 then 'infinity'::date else '2026-01-01' end as since from generate_series(1, 5) as i`
  const answer = await ask(user, q)
  assert.equal(answer.status, 400)
  const body = (await answer.json()) as { error: string[]; code: string }
  assert.deepEqual(
    [body.code, body.error],
    ['value-unfit', ['The format arrow cannot hold the date infinity in column since, row 3']],
  )
  const nan = await ask(user, `select 'NaN'::numeric(5,2) as n`)
  assert.equal(((await nan.json()) as { code: string }).code, 'value-unfit')
  const two = await ask(user, 'select 1 as a; select 2 as b')
  assert.equal(two.status, 400)
})
