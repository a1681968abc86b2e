import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/http/ask.ts'
import { setup } from '../support/service/setup.ts'

test('an answer has rows, time, fields and total_rows, in this order', async (t) => {
  const { user } = await setup(t)
  const { status, body, headers } = await ask(user, "select 1 as a, 'x' as b")
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  assert.deepEqual(Object.keys(body), ['rows', 'time', 'fields', 'total_rows'])
  assert.deepEqual(body.rows, [{ a: 1, b: 'x' }])
  assert.deepEqual(body.fields, {
    a: { type: 'number', pgtype: 'int4' },
    b: { type: 'string', pgtype: 'text' },
  })
  assert.equal(body.total_rows, 1)
  assert.equal(typeof body.time, 'number')
})

test('fields are present without rows too', async (t) => {
  const { user } = await setup(t)
  const { body } = await ask(user, 'select 1 as a where false')
  assert.deepEqual(body.rows, [])
  assert.deepEqual(body.fields, { a: { type: 'number', pgtype: 'int4' } })
  assert.equal(body.total_rows, 0)
})

/** SQL expression, its value in JSON, the field's type and pgtype. */
const values: readonly [sql: string, json: string, type: string, pgtype?: string][] = [
  ['1::int2', '1', 'number', 'int2'],
  ['9007199254740993::int8', '9007199254740993', 'number', 'int8'],
  ['-12345678901234567890.123456789::numeric', '-12345678901234567890.123456789', 'number', 'numeric'],
  ['0.1::float8', '0.1', 'number', 'float8'],
  ['1e300::float8', '1e+300', 'number', 'float8'],
  ['-1.5::float4', '-1.5', 'number', 'float4'],
  ["'NaN'::float8", '"NaN"', 'number', 'float8'],
  ["'-Infinity'::float8", '"-Infinity"', 'number', 'float8'],
  ["'NaN'::numeric", '"NaN"', 'number', 'numeric'],
  ['true', 'true', 'boolean', 'bool'],
  ['false', 'false', 'boolean', 'bool'],
  ['null::bool', 'null', 'boolean', 'bool'],
  ["''::text", '""', 'string', 'text'],
  ["E'\"\\\\ \\b\\t\\n\\x01 é 🎈'::varchar", JSON.stringify('"\\ \b\t\n\x01 é 🎈'), 'string', 'varchar'],
  ["'name'::name", '"name"', 'string', 'name'],
  ["'2026-01-31 10:00:00+00'::timestamptz", '"2026-01-31T10:00:00Z"', 'date', 'timestamptz'],
  ["'2026-01-31 10:00:00.123456+02'::timestamptz", '"2026-01-31T08:00:00.123456Z"', 'date', 'timestamptz'],
  ["'2026-01-31 10:00:00'::timestamp", '"2026-01-31T10:00:00Z"', 'date', 'timestamp'],
  ["'12026-01-31 10:00:00'::timestamp", '"12026-01-31T10:00:00Z"', 'date', 'timestamp'],
  ["'infinity'::timestamptz", '"infinity"', 'date', 'timestamptz'],
  ["'0044-03-15 BC'::date", '"0044-03-15 BC"', 'date', 'date'],
  ["'2026-01-31'::date", '"2026-01-31T00:00:00Z"', 'date', 'date'],
  ["'10:20:30'::time", '"10:20:30"', 'string', 'time'],
  ["'1 day 2 hours'::interval", '"1 day 02:00:00"', 'string', 'interval'],
  ['\'{"a": [1, null]}\'::jsonb', '{"a": [1, null]}', 'string', 'jsonb'],
  ['E\'{"a":\\n 1}\'::json', '{"a":  1}', 'string', 'json'],
  ["'\\xdeadbeef'::bytea", '"\\\\xdeadbeef"', 'string', 'bytea'],
  [
    "'00000000-0000-0000-0000-000000000001'::uuid",
    '"00000000-0000-0000-0000-000000000001"',
    'string',
    'uuid',
  ],
  ["'{1,NULL,3}'::int[]", '[1,null,3]', 'number[]', '_int4'],
  ["'{{1,2},{3,4}}'::int8[]", '[[1,2],[3,4]]', 'number[]', '_int8'],
  ["'[0:1]={5,6}'::int[]", '[5,6]', 'number[]', '_int4'],
  ["'{}'::text[]", '[]', 'string[]', '_text'],
  [
    "array['a b', 'q\"\\', 'NULL', null, '{,}', '']",
    '["a b","q\\"\\\\","NULL",null,"{,}",""]',
    'string[]',
    '_text',
  ],
  ['array[true, false]', '[true,false]', 'boolean[]', '_bool'],
  ["array['2026-01-31'::date]", '["2026-01-31T00:00:00Z"]', 'date[]', '_date'],
  ['array[\'{"a": "b"}\'::jsonb]', '[{"a": "b"}]', 'string[]', '_jsonb'],
  ["array['NaN'::float8]", '["NaN"]', 'number[]', '_float8'],
  ['pg_sleep(0)', '""', 'string', 'void'],
  ["'(1,2)'::point", '"(1,2)"', 'string', 'point'],
  ["'[1,5)'::int4range", '"[1,5)"', 'string', 'int4range'],
  ['row(1, 2)', '"(1,2)"', 'string', 'record'],
  [
    'ST_SetSRID(ST_MakePoint(1, 2), 4326)',
    '"0101000020E6100000000000000000F03F0000000000000040"',
    'geometry',
  ],
  [
    'ST_SetSRID(ST_MakePoint(1, 2), 4326)::geography',
    '"0101000020E6100000000000000000F03F0000000000000040"',
    'geometry',
    'geography',
  ],
]

test('every value is written as JSON by its type, and its field has the type', async (t) => {
  const { user } = await setup(t)
  const columns = values.map(([sql], place) => `${sql} as c${place}`)
  const { text, body } = await ask(user, `select ${columns.join(', ')}`)
  const expected = values.map(([, json], place) => `"c${place}":${json}`)
  const row = text.slice('{"rows":[{'.length, text.indexOf('}],"time"'))
  for (const member of expected) assert.ok(row.includes(member), `${member} in ${row}`)
  for (const [place, [, , type, pgtype]] of values.entries()) {
    assert.deepEqual(body.fields[`c${place}`], pgtype ? { type, pgtype } : { type })
  }
})

test('types created by the account have their names in fields, also in the request that creates them', async (t) => {
  const { user } = await setup(t)
  const { body } = await ask(
    user,
    `create type mood as enum ('fine', 'so so'); create domain age as int; begin;
     create type late as enum ('x');
     select 'so so'::mood as m, 7::age as a, 'x'::late as l, array['fine'::mood] as ms; commit`,
  )
  assert.deepEqual(body.rows, [{ m: 'so so', a: 7, l: 'x', ms: '{fine}' }])
  assert.deepEqual(body.fields, {
    m: { type: 'string', pgtype: 'mood' },
    a: { type: 'number', pgtype: 'int4' },
    l: { type: 'string', pgtype: 'late' },
    ms: { type: 'string[]', pgtype: '_mood' },
  })
})

test('settings that the SQL changes do not break the JSON', async (t) => {
  const { user } = await setup(t)
  const zoned = await ask(user, "set timezone = 'Asia/Kolkata'; select '2026-01-31 10:00Z'::timestamptz as t")
  assert.deepEqual(zoned.body.rows, [{ t: '2026-01-31T15:30:00+05:30' }])
  const styled = await ask(user, "set datestyle = 'German'; select '2026-01-31 10:00Z'::timestamptz as t")
  assert.deepEqual(styled.body.rows, [{ t: '31.01.2026 10:00:00 UTC' }])
  const next = await ask(user, "select '2026-01-31 10:00Z'::timestamptz as t")
  assert.deepEqual(next.body.rows, [{ t: '2026-01-31T10:00:00Z' }])
  const binary = await ask(user, 'begin; declare c binary cursor for select 1 as a; fetch c; commit')
  assert.deepEqual(binary.body.rows, [{ a: '\\x00000001' }])
  const latin = await ask(user, "set client_encoding = 'LATIN1'; select 'é' as e")
  assert.equal(latin.status, 400)
  assert.match(latin.body.error[0]!, /client_encoding/)
})

test('columns of the same name have their own types, however often such a result was seen', async (t) => {
  const { user, createUser } = await setup(t)
  const other = await createUser()
  for (const one of [user, other]) {
    const name = one === user ? 'mood' : 'taste'
    await ask(
      one,
      `create type ${name} as enum ('good'); create table own (a ${name}); insert into own values ('good')`,
    )
  }
  for (let turn = 0; turn < 2; turn += 1) {
    const fields = async (q: string, one = user) => (await ask(one, q)).body.fields
    assert.deepEqual(await fields('select 1 as a'), { a: { type: 'number', pgtype: 'int4' } })
    assert.deepEqual(await fields(`select 'x'::text as a`), { a: { type: 'string', pgtype: 'text' } })
    assert.deepEqual(await fields('select true as a'), { a: { type: 'boolean', pgtype: 'bool' } })
    assert.deepEqual(await fields('select a from own'), { a: { type: 'string', pgtype: 'mood' } })
    assert.deepEqual(await fields('select a from own', other), { a: { type: 'string', pgtype: 'taste' } })
    const { body } = await ask(user, 'select 1 as a, 2 as b, 3 as a')
    assert.deepEqual(body.rows, [{ b: 2, a: 3 }])
    assert.equal(body.warnings?.length, 1)
    const skipped = await ask(user, 'select 1 as a, 2 as b, 3 as a', { skipfields: 'b' })
    assert.deepEqual(skipped.body.rows, [{ a: 3 }])
    assert.deepEqual(Object.keys(skipped.body.fields), ['a'])
  }
})

test('of columns with the same name JSON shows the last one, and skipfields hides columns', async (t) => {
  const { user } = await setup(t)
  const double = await ask(user, 'select 1 as a, 2 as b, 3 as a')
  assert.deepEqual(double.body.rows, [{ b: 2, a: 3 }])
  assert.deepEqual(Object.keys(double.body.fields), ['b', 'a'])
  assert.deepEqual(double.body.warnings, ['1 of 3 columns not shown: later ones have the same names'])
  const skipped = await ask(user, 'select 1 as a, 2 as b, 3 as c', { skipfields: 'a,c' })
  assert.deepEqual(skipped.body.rows, [{ b: 2 }])
  assert.deepEqual(Object.keys(skipped.body.fields), ['b'])
  const nothing = await ask(user, 'select 1 as a', { skipfields: 'a' })
  assert.deepEqual(nothing.body.rows, [{}])
})

test('of two columns with one name csv has both, and ndjson and geojson say in a header that one is missing', async (t) => {
  const { user } = await setup(t)
  const q = `select 1 as a, 2 as b, 3 as a, 'POINT(1 2)'::geometry as the_geom`
  const csv = await ask(user, 'select 1 as a, 2 as b, 3 as a', { format: 'csv' })
  assert.equal(csv.text, 'a,b,a\r\n1,2,3\r\n')
  assert.equal(csv.headers.get('warnings'), null)
  const skipped = await ask(user, 'select 1 as a, 2 as b, 3 as a', { format: 'csv', skipfields: 'a' })
  assert.equal(skipped.text, 'b\r\n2\r\n')
  const warning = (all: number) =>
    JSON.stringify([`1 of ${all} columns not shown: later ones have the same names`])
  const ndjson = await ask(user, 'select 1 as a, 2 as b, 3 as a', { format: 'ndjson' })
  assert.deepEqual([ndjson.text, ndjson.headers.get('warnings')], ['{"b":2,"a":3}\n', warning(3)])
  const geojson = await ask(user, q, { format: 'geojson' })
  assert.deepEqual(JSON.parse(geojson.text).features[0].properties, { b: 2, a: 3 })
  assert.equal(geojson.headers.get('warnings'), warning(3))
  const long = await ask(user, 'select i as a, i as a from generate_series(1, 100000) as i', {
    format: 'ndjson',
  })
  assert.equal(long.headers.get('warnings'), warning(2))
  const single = await ask(user, 'select 1 as a, 3 as a', { format: 'ndjson', skipfields: 'a' })
  assert.equal(single.headers.get('warnings'), null)
})

test('csv has a header, quotes where needed, and distinguishes NULL from the empty string', async (t) => {
  const { user } = await setup(t)
  const { text, headers } = await ask(
    user,
    `select 1 as a, true as "b,""c", null as n, '' as e, E'x"y\nz' as t, '2026-01-31 10:00Z'::timestamptz as d
     union all select 2, false, 'n', 'e', 'plain', null`,
    { format: 'csv' },
  )
  assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
  assert.equal(headers.get('content-disposition'), 'attachment; filename="cartodb-query.csv"')
  assert.equal(
    text,
    'a,"b,""c",n,e,t,d\r\n1,true,,"","x""y\nz",2026-01-31 10:00:00+00\r\n2,false,n,e,plain,\r\n',
  )
})

test('a filename makes any answer a download', async (t) => {
  const { user } = await setup(t)
  const json = await ask(user, 'select 1', { filename: 'numbers' })
  assert.equal(json.headers.get('content-disposition'), 'attachment; filename="numbers.json"')
  const csv = await ask(user, 'select 1', { filename: 'zähl "1"/2.csv', format: 'csv' })
  assert.equal(
    csv.headers.get('content-disposition'),
    `attachment; filename="z_hl '1'_2.csv"; filename*=UTF-8''z%C3%A4hl%20%221%22_2.csv`,
  )
  const backslash = await ask(user, 'select 1', { filename: 'a\\b.csv', format: 'csv' })
  assert.equal(
    backslash.headers.get('content-disposition'),
    `attachment; filename="a_b.csv"; filename*=UTF-8''a%5Cb.csv`,
  )
})

test('ndjson is one object per line', async (t) => {
  const { user } = await setup(t)
  const { text, headers } = await ask(
    user,
    `select n, E'{"a":\n1}'::json as j from generate_series(1, 2) n`,
    {
      format: 'ndjson',
    },
  )
  assert.equal(headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  assert.equal(text, '{"n":1,"j":{"a": 1}}\n{"n":2,"j":{"a": 1}}\n')
})

test('a statement without rows is answered in every format, with an empty body outside JSON', async (t) => {
  const { user } = await setup(t)
  for (const format of ['json', 'ndjson', 'csv']) {
    const url = `${user.base}/api/v2/sql?${new URLSearchParams({ q: 'set work_mem = 1000', format, api_key: user.masterToken })}`
    const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) })
    assert.equal(answer.status, 200)
    const body = await answer.text()
    assert.equal(answer.headers.get('content-length'), String(body.length))
    if (format !== 'json') assert.equal(body, '')
  }
})

test('an answer of any length and with any characters arrives byte by byte', async (t) => {
  const { user } = await setup(t)
  const some = 'é€😀ÿ\u0080'
  for (const times of [1, 100, 5_000, 50_000]) {
    const text = some.repeat(times)
    const { rows } = (await ask(user, `select repeat('${some}', ${times}) as t`)).body
    assert.equal(rows[0]!.t, text)
  }
})

test('geojson stays valid JSON with coordinates that are not numbers and with empty points in a multipoint', async (t) => {
  const { user } = await setup(t)
  const cases: readonly (readonly [shape: string, geometry: unknown])[] = [
    ["ST_MakePoint('NaN', 1)", null],
    ["ST_MakePoint(1, '-Infinity')", null],
    ["ST_MakeLine(ST_MakePoint(0, 0), ST_MakePoint('Infinity', 1))", null],
    ["'MULTIPOINT(EMPTY, 1 1)'::geometry", { type: 'MultiPoint', coordinates: [[1, 1]] }],
    ["'MULTIPOINT(1 1, EMPTY, EMPTY)'::geometry", { type: 'MultiPoint', coordinates: [[1, 1]] }],
    ["'MULTIPOINT(EMPTY, EMPTY)'::geometry", { type: 'MultiPoint', coordinates: [] }],
    ["'POINT EMPTY'::geometry", { type: 'Point', coordinates: [] }],
    ["'POLYGON EMPTY'::geometry", { type: 'Polygon', coordinates: [] }],
    [
      "'LINESTRING(0 0, 1 1)'::geometry",
      {
        type: 'LineString',
        coordinates: [
          [0, 0],
          [1, 1],
        ],
      },
    ],
    [
      "'GEOMETRYCOLLECTION(POINT EMPTY, POINT(1 2))'::geometry",
      {
        type: 'GeometryCollection',
        geometries: [
          { type: 'Point', coordinates: [] },
          { type: 'Point', coordinates: [1, 2] },
        ],
      },
    ],
  ]
  const rows = cases.map(([shape], n) => `select ${n} as n, ${shape} as the_geom`)
  const { text } = await ask(user, `${rows.join(' union all ')} order by n`, { format: 'geojson' })
  const { features } = JSON.parse(text) as { features: { geometry: unknown }[] }
  assert.deepEqual(
    features.map(({ geometry }) => geometry),
    cases.map(([, geometry]) => geometry),
  )
})

test('geojson is a FeatureCollection of the_geom, with the other columns as properties', async (t) => {
  const { user } = await setup(t)
  const sql = `select n, ST_SetSRID(ST_MakePoint(n, 1.123456789), 4326) as the_geom, 'x' as the_geom_webmercator
    from generate_series(1, 2) n union all select 3, null, 'y' order by 1; -- the end`
  const { body, headers } = await ask(user, sql, { format: 'geojson' })
  const feature = (n: number, y: number) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [n, y] },
    properties: { n },
  })
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  assert.deepEqual(body, {
    type: 'FeatureCollection',
    features: [
      feature(1, 1.123457),
      feature(2, 1.123457),
      { type: 'Feature', geometry: null, properties: { n: 3 } },
    ],
  })
  const rounded = await ask(user, sql, { format: 'geojson', dp: '2', rows_per_page: '1', page: '1' })
  assert.deepEqual(rounded.body, { type: 'FeatureCollection', features: [feature(2, 1.12)] })
  const without = await ask(user, 'select 1 as a', { format: 'geojson' })
  assert.equal(without.status, 400)
  assert.match(without.body.error[0]!, /needs a geometry column, such as the_geom: the result has only a$/)
  const several = await ask(user, 'select 1; select 2', { format: 'geojson' })
  assert.equal(several.status, 400)
})
