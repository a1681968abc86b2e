import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, post } from '../support/http/ask.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

test('params are sent as JSON text in query, form and multipart, and as an array in a JSON body', async (t) => {
  const { user } = await setup(t)
  const q = 'select $1::int + 1 as n, $2 as text'
  const params = [41, "it's"]
  const fields = { q, params: JSON.stringify(params), api_key: user.masterToken }
  const multipart = new FormData()
  for (const [name, value] of Object.entries(fields)) multipart.set(name, value)
  const replies = [
    await ask(user, q, { params: fields.params }),
    await post(user, { body: new URLSearchParams(fields) }),
    await post(user, { body: multipart }),
    await bind(user, q, params),
  ]
  for (const { status, body } of replies) {
    assert.equal(status, 200)
    assert.deepEqual(body.rows, [{ n: 42, text: "it's" }])
    assert.deepEqual(body.fields, {
      n: { type: 'number', pgtype: 'int4' },
      text: { type: 'string', pgtype: 'text' },
    })
    assert.equal(body.total_rows, 1)
  }
})

test('PostgreSQL converts every kind of value by its type', async (t) => {
  const { user } = await setup(t)
  const cases: [sql: string, params: string, value: unknown][] = [
    ['$1::bigint::text', '[9007199254740993]', '9007199254740993'],
    ['$1::numeric::text', '[ 1.50 ]', '1.50'],
    [
      '$1::numeric::text',
      '[123456789012345678901234567890.12345678901234567890]',
      '123456789012345678901234567890.12345678901234567890',
    ],
    ['$1::float8', '[1e3]', 1000],
    ['$1 and true', '[true]', true],
    ['$1::text is null', '[null]', true],
    ['$1', '["x"]', 'x'],
    ['$1', '[5]', '5'],
    ['$1', '["$1; drop table t; --\'"]', "$1; drop table t; --'"],
    ['2 = any($1)', '[[1, 2]]', true],
    ["'b' = any($1)", '[["a", "b"]]', true],
    [
      '$1::text[]',
      '[["a b", "c,\\"d\\\\", null, "NULL", "{}", ""]]',
      ['a b', 'c,"d\\', null, 'NULL', '{}', ''],
    ],
    [
      '$1::int[]',
      '[[[1, 2], [3, 4]]]',
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ['cardinality($1::int[])', '[[]]', 0],
    ['$1::jsonb', '[[1, {"a": [2]}]]', [1, { a: [2] }]],
    ['$1::json', '[{"a": 1, "b": [true, null]}]', { a: 1, b: [true, null] }],
    ["($1::jsonb -> 'n')::text", '[{"n": 9007199254740993}]', '9007199254740993'],
    ['($1::jsonb[])[2]', '[[{"a": 1}, {"b": "\\"}{"}]]', { b: '"}{' }],
    ['jsonb_build_array($1::int, $2::text, $1)', '[1, "ö😀"]', [1, 'ö😀', 1]],
    ['$1::date', '["2026-01-31"]', '2026-01-31T00:00:00Z'],
    ['length($1::bytea)', '["\\\\x0001"]', 2],
  ]
  for (const [sql, params, value] of cases) {
    const { status, text, body } = await post(user, {
      headers: { 'content-type': 'application/json' },
      body: `{"params": ${params}, "q": ${JSON.stringify(`select ${sql} as v`)}, "api_key": "${user.masterToken}"}`,
    })
    assert.equal(status, 200, `${sql} ${params}: ${text}`)
    assert.deepEqual(body.rows, [{ v: value }], `${sql} ${params}`)
  }
})

test('arrays of other than built-in types are written as those types read them', async (t) => {
  const { user } = await setup(t)
  await ask(
    user,
    `create domain doc as jsonb; create domain small_doc as doc check (length(value::text) < 100);
     create domain docs as small_doc[]; create domain whole as int[]; create domain shape as geometry;
     create type mood as enum ('sad', 'so, so'); create type pair as (a int, b text)`,
  )
  const point = { type: 'Point', coordinates: [1, 2] }
  const cases: [sql: string, value: unknown, answer: unknown][] = [
    ['array(select st_astext(unnest($1::geometry[])))', ['POINT(1 2)', point], ['POINT(1 2)', 'POINT(1 2)']],
    ['array(select st_astext(unnest($1::geography[])))', ['POINT(1 2)', null], ['POINT(1 2)', null]],
    ['array(select st_astext(unnest($1::shape[])))', ['POINT(1 2)', point], ['POINT(1 2)', 'POINT(1 2)']],
    ['($1::box[])[2]::text', ['(1,1),(0,0)', '(3,3),(2,2)'], '(3,3),(2,2)'],
    ['$1::doc', [1, { a: [2] }], [1, { a: [2] }]],
    ['$1::small_doc', [[1], []], [[1], []]],
    ['($1::small_doc[])[2]', [1, [{ b: '"' }]], [{ b: '"' }]],
    ['($1::docs)[1]', [[1, 2], 3], [1, 2]],
    ['cardinality($1::whole)', [1, 2, 3], 3],
    ["$1::mood[] = array['so, so', 'sad']::mood[]", ['so, so', 'sad'], true],
    ['(($1::pair[])[1]).b', ['(1,"x,y")'], 'x,y'],
  ]
  // The second time the types are cached.
  for (const [sql, value, answer] of [...cases, ...cases]) {
    const { status, text, body } = await bind(user, `select ${sql} as v`, [value])
    assert.equal(status, 200, `${sql}: ${text}`)
    const { v } = body.rows[0]!
    assert.deepEqual(typeof v === 'string' && v.startsWith('[') ? JSON.parse(v) : v, answer, sql)
  }
  const wrong = await bind(user, 'select $1::geometry[]', [['POINT(1 2)', 'nowhere']])
  assert.deepEqual([wrong.status, wrong.body.context], [400, 'parameter $1'])
})

test('params work with every format, with pages, order and skipfields', async (t) => {
  const { user } = await setup(t)
  const q =
    'select n, $2 || n as name, postgis.ST_Point(n, $1) as the_geom from generate_series(1, $1) n; -- end'
  const options = { order_by: 'n', sort_order: 'desc', rows_per_page: 2, page: 1, skipfields: 'name' }
  const params = [5, 'n']
  const json = await bind(user, q, params, options)
  assert.deepEqual(
    json.body.rows.map(({ n, name }) => [n, name]),
    [
      [3, undefined],
      [2, undefined],
    ],
  )
  assert.match((await bind(user, q, params, { ...options, format: 'csv' })).text, /^n,the_geom\r\n3,01/)
  assert.match((await bind(user, q, params, { ...options, format: 'ndjson' })).text, /^\{"n":3,.*\}\n\{"n":2/)
  const geojson = (await bind(user, q, params, { ...options, format: 'geojson' })).body as unknown as Features
  assert.deepEqual(geojson.features[0]?.geometry.coordinates, [3, 5])
})

type Features = Readonly<{ features: { geometry: { coordinates: number[] } }[] }>

test('a write with params runs once and reports its rows', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table t (n int, text text)')
  const many = await bind(user, 'insert into t select * from unnest($1::int[], $2::text[]) returning n', [
    [1, 2],
    ['a', null],
  ])
  assert.deepEqual([many.body.rows, many.body.total_rows], [[{ n: 1 }, { n: 2 }], 2])
  const page = { rows_per_page: 1 }
  assert.equal((await bind(user, 'update t set text = $1 where n = $2', ['x', 2], page)).body.total_rows, 1)
  assert.equal((await bind(user, 'delete from t where text = $1', ['x'])).body.total_rows, 1)
  const none = await bind(user, 'select count(*) as n from t', [])
  assert.deepEqual(none.body.rows, [{ n: 1 }])
})

test('an error has its position in the text as without params, or names the parameter', async (t) => {
  const { user } = await setup(t)
  const wrong = await bind(user, 'select 1 where 1 = $1 and 2 = $2', [1, 'two'])
  assert.equal(wrong.status, 400)
  assert.deepEqual(wrong.body, {
    error: ['invalid input syntax for type integer: "two"'],
    code: 'database',
    sqlstate: '22P02',
    context: 'parameter $2',
  })
  const broken = await bind(user, 'select $1::json', ['{"a":\n oops'])
  assert.equal((broken.body as { context?: string }).context, 'JSON data, line 2:  oops\nparameter $1')
  const placed = await bind(user, 'select nothing from t where n = $1', [1])
  assert.deepEqual([placed.status, placed.body.position], [400, 21])
  const paged = await bind(user, 'select $1::int as n, nothing', [1], { rows_per_page: 2 })
  assert.deepEqual([paged.status, paged.body.position], [400, 22])
  const several = await bind(user, 'select $1::int; select 2', [1])
  assert.equal(several.status, 400)
  assert.deepEqual(several.body.error, ['cannot insert multiple commands into a prepared statement'])
  const late = await bind(user, 'select 1 / $1::int as n', [0])
  assert.deepEqual([late.status, late.body.error], [400, ['division by zero']])
})

test('too few, too many and unreadable params are refused with their position', async (t) => {
  const { user } = await setup(t)
  const refused: [q: string, params: string, text: string][] = [
    ['select $1::int, $2::int', '[1]', 'The statement has 2 parameters, params has 1 value: $2 has no value'],
    [
      'select $1::int',
      '[1, 2, 3]',
      'The statement has 1 parameter, params has 3 values: $2 is not in the statement',
    ],
    [
      "select '$1'",
      '["x"]',
      'The statement has 0 parameters, params has 1 value: $1 is not in the statement',
    ],
    ['select $3', '["a", "b"]', 'The statement has 3 parameters, params has 2 values: $3 has no value'],
    [
      "select $2::int, '$9' /* $9 */ -- $9\n from (select $q$ $9 $q$) as a$9",
      '[1]',
      'The statement has 2 parameters, params has 1 value: $2 has no value',
    ],
    ['select $1, $2', '["a", "b\\u0000"]', 'The parameter $2 contains a NUL character'],
    ['select $1::text[]', '[["\\u0000"]]', 'The parameter $1 contains a NUL character'],
    ['select $1::int[]', '[[[[[[[[1]]]]]]]]', 'The parameter $1 is an array of more than 6 dimensions'],
    ['select 1', '{"a": 1}', 'params must be a JSON array, such as [1, "two", null]'],
    ['select 1', '[1', 'params must be a JSON array, such as [1, "two", null]'],
    ['select 1', '"[1]"', 'params must be a JSON array, such as [1, "two", null]'],
    ['select 1', `[${'1,'.repeat(65_535)}1]`, 'params has more than 65535 values'],
  ]
  for (const [q, params, text] of refused) {
    const { status, body } = await post(user, {
      body: new URLSearchParams({ q, params, api_key: user.masterToken }),
    })
    assert.deepEqual([status, body.error], [400, [text]], params.slice(0, 50))
    assert.equal((body as { code?: string }).code, 'params-invalid')
  }
  const twice = await post(user, { body: new URLSearchParams({ params: '[]' }) }, '?q=select+1&params=[]')
  assert.deepEqual([twice.status, twice.body.error], [400, ['The parameter params is given more than once']])
  const most = `[${Array(65_535).fill('1').join(',')}]`
  const fits = await post(user, {
    body: new URLSearchParams({ q: 'select $65535::int as n', params: most, api_key: user.masterToken }),
  })
  assert.equal(fits.status, 400)
  assert.match(fits.body.error[0]!, /could not determine data type of parameter \$1/)
})

/** Sends them as JSON. */
function bind(user: TestUser, q: string, params: readonly unknown[], options: object = {}) {
  return post(user, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, params, api_key: user.masterToken, ...options }),
  })
}
