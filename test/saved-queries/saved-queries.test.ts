import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { askQueries, refusal, rowsOf, saved } from '../support/queries/queries-api.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'

const cities = {
  sql: 'select name, people from cities where country = :country and people > :least order by people desc',
  description: 'Cities of a country',
  params: { country: { required: true }, least: { type: 'integer', default: 0 } },
}

async function makeCities(user: TestUser): Promise<void> {
  await user.sql(`create table cities (name text, country text, people int);
    insert into cities values ('Lyon', 'FR', 500), ('Paris', 'FR', 2000), ('Oslo', 'NO', 700), ('O''Hara', 'X''; drop table cities--', 1)`)
}

test('the master key saves, reads, lists, replaces and deletes a query', async (t) => {
  const { user } = await setup(t)
  await makeCities(user)
  const made = await askQueries(user, '/cities', { method: 'PUT', body: cities })
  const { created_at, updated_at, ...document } = (await made.json()) as Record<string, unknown>
  assert.equal(made.status, 201)
  const params = {
    country: { type: 'text', required: true },
    least: { type: 'integer', default: 0, required: false },
  }
  assert.deepEqual(document, { ...cities, name: 'cities', params, public: false })
  assert.equal(created_at, updated_at)
  const read = (await (await askQueries(user, '/cities')).json()) as object
  assert.deepEqual(read, { ...document, created_at, updated_at })
  // A document that was read can be sent again.
  assert.equal((await askQueries(user, '/cities', { method: 'PUT', body: read })).status, 200)
  await saved(user, 'another', { sql: 'values (1)' })
  const list = (await (await askQueries(user, '')).json()) as { queries: { name: string }[] }
  assert.deepEqual(
    list.queries.map(({ name }) => name),
    ['another', 'cities'],
  )
  assert.equal((await askQueries(user, '/another', { method: 'DELETE' })).status, 204)
  assert.equal((await askQueries(user, '/another', { method: 'DELETE' })).status, 404)
  assert.equal((await refusal(user, '/another')).code, 'query-not-found')
})

test('a chart is saved with a query, and a contradictory one is refused', async (t) => {
  const started = await setup(t)
  const { user } = started
  const { queries } = clientOf(t, started)
  const chart = { kind: 'bar', x: 'name', y: ['n'], aggregate: 'average', order: 'name' }
  const sql = "select 'a' as name, 1 as n"
  await saved(user, 'drawn', { sql, chart })
  const read = (await (await askQueries(user, '/drawn')).json()) as { chart?: unknown }
  assert.deepEqual(read.chart, chart)
  await saved(user, 'drawn', read)
  assert.deepEqual((await queries.get('drawn')).chart, chart)
  for (const [wrong, message] of [
    [{ kind: 'ring', x: 'a' }, /^chart.kind must be one of bar, stacked/],
    [{ kind: 'bar', x: 'a', colour: 'red' }, /has no member 'colour'/],
    [{ kind: 'bar', x: '' }, /^chart.x must be the name of a column/],
    [{ kind: 'line', x: 'a', y: ['n', 'n'] }, /different names/],
    [{ kind: 'line', x: 'a', y: ['n', 'm'], series: 's' }, /must be one column/],
    [{ kind: 'pie', x: 'a', y: ['n'], aggregate: 'average' }, /a pie shows count or sum/],
    [{ kind: 'histogram', x: 'a', y: ['n'] }, /a histogram counts rows/],
    ['bar', /^chart must be an object/],
  ] as const) {
    const { code, text: said } = await refusal(user, '/drawn', {
      method: 'PUT',
      body: { sql, chart: wrong },
    })
    assert.equal(code, 'query-invalid')
    assert.match(said, message)
  }
  await saved(user, 'drawn', { sql })
  assert.ok(!('chart' in (await queries.get('drawn'))))
})

test('values are bound by name with types and defaults, and never become SQL', async (t) => {
  const { user } = await setup(t)
  await makeCities(user)
  await saved(user, 'cities', cities)
  const all = [
    { name: 'Paris', people: 2000 },
    { name: 'Lyon', people: 500 },
  ]
  assert.deepEqual(await rowsOf(user, '/cities/rows?country=FR'), all)
  assert.deepEqual(await rowsOf(user, '/cities/rows?country=FR&least=1000'), all.slice(0, 1))
  assert.deepEqual(
    await rowsOf(user, '/cities/rows', { body: { country: 'FR', least: 1000 } }),
    all.slice(0, 1),
  )
  assert.deepEqual(
    await rowsOf(user, '/cities/rows?country=FR', { body: { least: '1000' } }),
    all.slice(0, 1),
  )
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.deepEqual(
    await rowsOf(user, '/cities/rows', { body: 'country=FR&least=1000', headers }),
    all.slice(0, 1),
  )
  const hostile = "X'; drop table cities--"
  assert.deepEqual(await rowsOf(user, `/cities/rows?country=${encodeURIComponent(hostile)}`), [
    { name: "O'Hara", people: 1 },
  ])
  assert.deepEqual(await rowsOf(user, '/cities/rows?country='), [])
  assert.equal((await user.sql('select count(*)::int as n from cities')).rows[0].n, 4)
})

test('each type accepts its values from a URL and from JSON, without losing a digit', async (t) => {
  const { user } = await setup(t)
  const digits = '12345678901234567890.123456789012345678'
  for (const [type, text, json, shown] of [
    ['text', 'a%20%26%20b', '"a & b"', 'a & b'],
    ['bigint', '9007199254740993', '9007199254740993', '9007199254740993'],
    ['numeric', digits, digits, digits],
    ['boolean', 'true', 'false', undefined],
    ['date', '2026-02-28', '"2026-02-28"', '2026-02-28'],
    ['uuid', '00000000-0000-0000-0000-000000000001', '"00000000-0000-0000-0000-000000000001"', undefined],
    ['json', '%7B%22a%22:[1,null]%7D', '{"a":[1,null]}', '{"a": [1, null]}'],
    ['json', '%22text%22', '"text"', '"text"'],
    ['text[]', '[%22a,b%22,%22c%22]', '["a,b","c"]', '{"a,b",c}'],
    ['integer[]', '[1,2]', '[1,2]', '{1,2}'],
    ['geometry', 'POINT(1%202)', '"POINT(1 2)"', undefined],
  ] as const) {
    await saved(user, 'typed', { sql: 'select (:v)::text as v', params: { v: { type } } })
    const [byText] = (await rowsOf(user, `/typed/rows?v=${text}`)) as { v: string }[]
    const headers = { 'content-type': 'application/json' }
    const [byJson] = (await rowsOf(user, '/typed/rows', { body: `{"v":${json}}`, headers })) as {
      v: string
    }[]
    if (shown !== undefined) assert.deepEqual([byText!.v, byJson!.v], [shown, shown], type)
    const [none] = (await rowsOf(user, '/typed/rows')) as { v: null }[]
    assert.equal(none!.v, null)
  }
})

test('a missing, unknown or repeated value, or one of another type, is refused and named', async (t) => {
  const { user } = await setup(t)
  await makeCities(user)
  await saved(user, 'cities', cities)
  await saved(user, 'ids', { sql: 'select :ids as ids', params: { ids: { type: 'integer[]' } } })
  const headers = { 'content-type': 'application/json' }
  for (const [path, asked, status, text] of [
    ['/cities/rows', {}, 400, /^The parameter 'country' of the query is missing$/],
    ['/cities/rows?country=FR&town=Lyon', {}, 400, /^The query has no parameter 'town'$/],
    ['/cities/rows?country=FR&country=NO', {}, 400, /country is given more than once/],
    ['/cities/rows?country=FR', { body: { country: 'NO' } }, 400, /country is given more than once/],
    ['/cities/rows', { body: '{"country":"FR","country":"NO"}', headers }, 400, /given more than once/],
    ['/cities/rows?country=FR&least=many', {}, 400, /invalid input syntax for type integer: "many"/],
    ['/cities/rows?country=FR&least=3000000000', {}, 400, /out of range for type integer/],
    [
      '/cities/rows',
      { body: { country: ['FR'] } },
      400,
      /^The parameter 'country' must be a value of the type text$/,
    ],
    ['/cities/rows', { body: { country: { a: 1 } } }, 400, /must be a value of the type text$/],
    ['/cities/rows', { body: [1] }, 400, /must be an object/],
    ['/cities/rows?country=%FF', {}, 400, /'country' is not valid UTF-8/],
    ['/cities/rows?country=%00', {}, 400, /NUL/],
    ['/cities/rows', { body: { country: 'a\0' } }, 400, /NUL/],
    ['/cities/rows?country=FR&format=nonsense', {}, 400, /format/],
    ['/cities/rows?country=FR&__proto__=1', {}, 400, /no parameter '__proto__'/],
    ['/ids/rows?ids=1', {}, 400, /'ids' must be an array of JSON with values of the type integer$/],
    ['/ids/rows?ids=%5B1', {}, 400, /'ids' must be an array of JSON/],
    ['/ids/rows?ids=%5B%22a%22%5D', {}, 400, /invalid input syntax for type integer/],
  ] as const) {
    const answer = await refusal(user, path, asked as object)
    assert.equal(answer.status, status, path)
    assert.match(answer.text, text)
  }
  assert.equal((await refusal(user, '/cities/rows?country=FR&least=many')).context, 'parameter :least')
})

test('the rows are available in every format of the SQL endpoint, in pages, and as a download', async (t) => {
  const { user } = await setup(t)
  await makeCities(user)
  await saved(user, 'cities', cities)
  const text = async (query: string) => (await askQueries(user, `/cities/rows?country=FR${query}`)).text()
  assert.equal(await text('&format=csv'), 'name,people\r\nParis,2000\r\nLyon,500\r\n')
  assert.equal(await text('&format=ndjson&skipfields=people'), '{"name":"Paris"}\n{"name":"Lyon"}\n')
  const paged = (await (
    await askQueries(user, '/cities/rows?country=FR&rows_per_page=1&page=1&order_by=name&total=exact')
  ).json()) as {
    rows: unknown
    total: number
  }
  assert.deepEqual([paged.rows, paged.total], [[{ name: 'Paris', people: 2000 }], 2])
  const file = await askQueries(user, '/cities/rows?country=FR&format=csv&filename=towns')
  assert.equal(file.headers.get('content-disposition'), 'attachment; filename="towns.csv"')
  await saved(user, 'points', {
    sql: 'select st_setsrid(st_makepoint(:x, 2), 4326) as the_geom',
    params: { x: { type: 'double' } },
  })
  const features = (await (await askQueries(user, '/points/rows?x=1.5&format=geojson')).json()) as {
    features: { geometry: object }[]
  }
  assert.deepEqual(features.features[0]!.geometry, { type: 'Point', coordinates: [1.5, 2] })
  for (const format of ['arrow', 'parquet', 'svg', 'topojson']) {
    const answer = await askQueries(user, `/points/rows?x=1.5&format=${format}`)
    assert.equal(answer.status, 200, format)
    assert.ok((await answer.arrayBuffer()).byteLength > 0)
  }
})

test('a query runs as the key of the request; without a key only a public query runs, as the public role', async (t) => {
  const { user } = await setup(t)
  await makeCities(user)
  await user.sql('create table secrets (n int)')
  const keys = keysClient(user)
  const reader = await keys.make('reader', grantsOf({ cities: ['select'] }))
  const withoutSql = await keys.make('maps', [
    { type: 'apis', apis: ['maps'] },
    { type: 'database', tables: [{ schema: 'public', name: 'cities', permissions: ['select'] }] },
  ])
  await saved(user, 'who', {
    sql: 'select current_user::text as role, (select count(*)::int from cities) as n',
  })
  await saved(user, 'secret', { sql: 'select * from secrets', public: true })
  const [{ role, n }] = (await rowsOf(user, '/who/rows', { token: reader.token })) as [
    { role: string; n: number },
  ]
  assert.notEqual(role, user.account.masterRole)
  assert.equal(n, 4)
  assert.equal((await refusal(user, '/secret/rows', { token: reader.token })).status, 403)
  assert.equal((await refusal(user, '/who/rows', { token: withoutSql.token })).code, 'api-forbidden')
  // A private query looks missing.
  const unknown = await refusal(user, '/nothing/rows', { token: '' })
  assert.deepEqual(await refusal(user, '/who/rows', { token: '' }), {
    ...unknown,
    text: unknown.text.replace('nothing', 'who'),
  })
  assert.equal(unknown.status, 404)
  assert.equal((await refusal(user, '/who/rows', { token: 'default_public' })).status, 404)
  assert.equal((await refusal(user, '/secret/rows', { token: '' })).status, 403)
  await user.sql(`grant select on secrets to "${user.account.publicRole}"`)
  assert.deepEqual(await rowsOf(user, '/secret/rows', { token: '' }), [])
})

test("only the account's master key manages queries and sees their SQL", async (t) => {
  const { user, createUser } = await setup(t)
  const other = await createUser()
  await saved(user, 'mine', { sql: 'select 42 as hidden_answer', public: true })
  const reader = await keysClient(user).make('reader', grantsOf({}))
  for (const [token, status] of [
    [reader.token, 403],
    ['', 403],
    [other.masterToken, 401],
    ['nonsense', 401],
  ] as const) {
    for (const [path, asked] of [
      ['', {}],
      ['/mine', {}],
      ['/mine', { method: 'DELETE' }],
      ['/mine', { method: 'PUT', body: { sql: 'select 1' } }],
    ] as const) {
      const answer = await askQueries(user, path, { ...asked, token })
      assert.equal(answer.status, status, `${path} ${token}`)
      assert.ok(!(await answer.text()).includes('hidden_answer'))
    }
  }
  for (const token of [reader.token, '']) {
    const openapi = await (await askQueries(user, '/openapi.json', { token })).text()
    assert.ok(openapi.includes('/mine/rows') && !openapi.includes('hidden_answer'))
  }
  assert.equal((await askQueries(user, '/mine/rows', { token: other.masterToken })).status, 401)
  assert.equal((await refusal(other, '/mine')).status, 404)
})

const deep = `select ${'('.repeat(20_000)}1${')'.repeat(20_000)}`

const wrongDefinitions = [
  [{}, /sql must be one SELECT/],
  [{ sql: ' ' }, /sql must be one SELECT/],
  [{ sql: 'select 1; select 2' }, /not 2 statements/],
  [{ sql: 'delete from cities' }, /writes nothing/],
  [{ sql: 'with gone as (delete from cities returning *) select * from gone' }, /not even in a WITH/],
  [{ sql: 'select * into copy from cities' }, /writes nothing/],
  [
    { sql: 'select * from (with gone as (delete from cities returning *) select * from gone) g' },
    /top level/,
  ],
  [{ sql: 'drop table cities' }, /sql must be one SELECT/],
  [{ sql: 'copy cities to stdout' }, /sql must be one SELECT/],
  [{ sql: 'explain analyze select 1' }, /sql must be one SELECT/],
  [{ sql: 'select $1' }, /Write \$1 as a parameter with a name/],
  [{ sql: 'select :"x y"' }, /The name of a parameter must have/],
  [{ sql: 'select :format' }, /cannot be called format/],
  [{ sql: 'select :api_key' }, /cannot be called api_key/],
  [{ sql: 'select * from :t', params: { t: {} } }, /sql must be one SELECT: syntax error/],
  [{ sql: deep }, /complex|deep/],
  [{ sql: `select 1 -- ${'x'.repeat(300_000)}` }, /at most 65536 characters/],
  [{ sql: "select 'open" }, /unterminated/],
  [{ sql: 'select nothing from nowhere' }, /relation "nowhere" does not exist/],
  [{ sql: 'select people + :n from cities' }, /operator does not exist: integer \+ text/],
  [{ sql: 'select 1', params: { n: {} } }, /The SQL has no parameter :n/],
  [{ sql: 'select :n', params: { n: 'text' } }, /params.n must be an object/],
  [{ sql: 'select :n', params: { n: { type: 'regclass' } } }, /params.n.type must be one of text, /],
  [
    { sql: 'select :n', params: { n: { type: 'integer', default: 'x' } } },
    /invalid input syntax for type integer/,
  ],
  [
    { sql: 'select :n', params: { n: { type: 'integer', default: [1] } } },
    /default must be a value of the type integer/,
  ],
  [
    { sql: 'select :n', params: { n: { type: 'bigint', default: 1e300 } } },
    /invalid input syntax for type bigint/,
  ],
  [{ sql: 'select :n', params: { n: { default: 'x', required: true } } }, /so it has no default/],
  [{ sql: 'select :n', params: { n: { wanted: true } } }, /params.n has no member 'wanted'/],
  [{ sql: 'select :n', params: [] }, /params must be an object/],
  [{ sql: 'select 1', public: 'yes' }, /public must be true or false/],
  [{ sql: 'select 1', description: 'x'.repeat(4_001) }, /at most 4000 characters/],
  [{ sql: 'select 1', nonsense: 1 }, /no member 'nonsense'/],
  [[], /must be an object/],
] as const

test('a definition that cannot run is refused, and nothing is saved', async (t) => {
  const { user } = await setup(t)
  await makeCities(user)
  for (const [definition, text] of wrongDefinitions) {
    const answer = await refusal(user, '/x', { method: 'PUT', body: definition })
    assert.equal(answer.status, 400, JSON.stringify(definition).slice(0, 100))
    assert.match(answer.text, text)
  }
  const many = Array.from({ length: 101 }, (_, index) => `:p${index}`).join(', ')
  assert.match(
    (await refusal(user, '/x', { method: 'PUT', body: { sql: `select ${many}` } })).text,
    /at most 100 parameters/,
  )
  assert.equal(
    (await askQueries(user, '/x', { method: 'PUT', body: { sql: 'x'.repeat(600_000) } })).status,
    413,
  )
  const list = (await (await askQueries(user, '')).json()) as { queries: unknown[] }
  assert.deepEqual(list.queries, [])
  assert.equal((await user.sql('select count(*)::int as n from cities')).rows[0].n, 4)
})

test('a name has letters, digits, dots, hyphens, underscores, and slashes between folders; openapi.json is reserved', async (t) => {
  const { user } = await setup(t)
  const put = (name: string) =>
    askQueries(user, `/${encodeURIComponent(name)}`, { method: 'PUT', body: { sql: 'select 1' } })
  for (const name of [
    'a',
    'A.b-c_9',
    '9',
    'constructor',
    '__proto__',
    'x'.repeat(128),
    'reports/2026/a.b',
    'a/rows',
  ]) {
    assert.equal((await put(name)).status, 201, name)
    assert.equal((await askQueries(user, `/${encodeURIComponent(name)}/rows`)).status, 200, name)
  }
  for (const name of [
    'a b',
    "a'b",
    'a/',
    '/a',
    'a//b',
    'a/../b',
    '.a',
    '-a',
    'é',
    'a\nb',
    'x'.repeat(129),
    '%',
    'a\u202eb',
  ])
    assert.equal((await put(name)).status, 400, name)
  assert.notEqual((await put('openapi.json')).status, 201)
  assert.equal((await put('a\0b')).status, 400)
})

test('an account has at most 1,000 queries, and they are deleted with it', async (t) => {
  const { user, createUser, service } = await setup(t)
  const { control } = service.services.databases
  const other = await createUser()
  await saved(user, 'first', { sql: 'select 1' })
  await control.query(
    `insert into cartage.saved_queries (user_id, name, sql, description, params, is_public)
     select $1, 'q' || n, 'select 1', '', '{}', false from generate_series(1, 999) n`,
    [user.account.userId],
  )
  assert.equal(
    (await refusal(user, '/more', { method: 'PUT', body: { sql: 'select 1' } })).code,
    'too-many-queries',
  )
  await saved(user, 'first', { sql: 'select 2' })
  await saved(other, 'more', { sql: 'select 1' })
  await deleteUser(service.services.installation, user.username)
  assert.equal((await askQueries(user, '/first/rows')).status, 404)
  const left = await control.query(
    'select count(*)::int as n from cartage.saved_queries where user_id = $1',
    [user.account.userId],
  )
  assert.equal(left.rows[0].n, 0)
})

test('a client that disconnects ends the statement, and a statement over its time limit is 429', async (t) => {
  const { user, admin } = await setup(t, { config: { queryTimeoutMs: 2_000 } })
  await saved(user, 'slow', {
    sql: "select pg_sleep(:s), 'leaving client'",
    params: { s: { type: 'double' } },
  })
  const running = async () =>
    (
      await admin(
        "select count(*)::int as n from pg_stat_activity where state = 'active' and query like '%leaving client%' and pid <> pg_backend_pid()",
      )
    ).rows[0].n
  const leaving = new AbortController()
  const asked = fetch(`${user.base}/api/v4/queries/slow/rows?s=60&api_key=${user.masterToken}`, {
    signal: leaving.signal,
  })
  asked.catch(() => undefined)
  await eventually(async () => assert.equal(await running(), 1))
  leaving.abort()
  await eventually(async () => assert.equal(await running(), 0), 1_500)
  assert.equal((await refusal(user, '/slow/rows?s=60')).status, 429)
})

test('the OpenAPI description of the queries is valid and names their parameters', async (t) => {
  const { user } = await setup(t)
  await makeCities(user)
  await saved(user, 'cities', cities)
  await saved(user, 'tags', {
    sql: 'select :t as t',
    params: { t: { type: 'text[]', default: ['a'] } },
    public: true,
  })
  await saved(user, 'reports%2Ftags', { sql: 'select 1' })
  const document = (await (await askQueries(user, '/openapi.json')).json()) as {
    paths: Record<string, { get: { parameters: { name: string; required?: boolean }[] } }>
  }
  const verdict = await new Validator().validate(structuredClone(document))
  assert.ok(verdict.valid, JSON.stringify(verdict.errors))
  assert.ok('/api/v4/queries/reports%2Ftags/rows' in document.paths)
  const { parameters } = document.paths['/api/v4/queries/cities/rows']!.get
  assert.deepEqual(
    parameters.slice(0, 2).map(({ name, required }) => [name, required]),
    [
      ['country', true],
      ['least', false],
    ],
  )
  const forAll = (await (await askQueries(user, '/openapi.json', { token: '' })).json()) as typeof document
  assert.deepEqual(Object.keys(forAll.paths), ['/api/v4/queries/tags/rows'])
})

test('the client saves, lists, reads, runs and deletes queries', async (t) => {
  const house = await setup(t)
  const { user } = house
  await makeCities(user)
  const { queries } = clientOf(t, house)
  await queries.save('reports/cities', cities as Parameters<typeof queries.save>[1])
  assert.deepEqual(
    (await queries.list()).map(({ name }) => name),
    ['reports/cities'],
  )
  assert.equal((await queries.get('reports/cities')).sql, cities.sql)
  const { rows } = await queries.run<{ name: string }>('reports/cities', { country: 'FR', least: 1000n })
  assert.deepEqual(rows, [{ name: 'Paris', people: 2000 }])
  const bytes: Uint8Array[] = []
  for await (const part of await queries.run('reports/cities', { country: 'NO' }).as('csv')) bytes.push(part)
  assert.equal(Buffer.concat(bytes).toString(), 'name,people\r\nOslo,700\r\n')
  assert.ok(JSON.stringify(await queries.describe()).includes('/reports%2Fcities/rows'))
  await queries.delete('reports/cities')
  await assert.rejects(queries.run('reports/cities', { country: 'FR' }), {
    status: 404,
    code: 'query-not-found',
  })
})
