import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ask, post, type Reply } from '../../support/http/ask.ts'
import { cases } from '../../support/search/cases.ts'
import { eventually, type SetupOptions, setup, type TestUser } from '../../support/service/setup.ts'

/** So that every request gets the connection of the one before. */
const oneConnection: SetupOptions = { config: { connectionsPerRole: 1 } }

test('after any statement with params the next request finds a clean connection', async (t) => {
  const { user } = await setup(t, oneConnection)
  await ask(user, 'create table t (n int)')
  const first = (await ask(user, look)).body.rows[0]!
  const acts: [status: number, q: string, params: readonly unknown[]][] = [
    [200, 'select $1::int as n', [1]],
    [400, 'select $1 frm x y', [1]],
    [400, 'select $1::int', [1, 2]],
    [400, 'select $1::int', ['x']],
    [400, 'select 1 / $1::int', [0]],
    [400, 'select $1::int; select 1', [1]],
    [200, '-- nothing', []],
    [400, '-- nothing', [1]],
    [400, 'begin', []],
    [400, 'start transaction', []],
    [200, 'commit', []],
    [400, 'rollback to savepoint none', []],
    [200, 'prepare p as select $1::int', []],
    [400, 'prepare p as select $1::int', [1]],
    [400, 'execute p($1)', [1]],
    [200, 'declare c cursor with hold for select 1', []],
    [200, "select set_config('search_path', $1, false)", ['pg_catalog']],
    [200, 'create temp table mine (n int)', []],
    [200, 'listen news', []],
    [200, 'do $$ begin perform 1; end $$', []],
    [400, 'do $$ begin perform $1; end $$', [1]],
    [400, "do $$ begin raise exception 'no'; end $$", []],
    [400, 'copy t from stdin', []],
    [400, 'copy (select $1::int) to stdout', [1]],
    // Too long for the parser, so PostgreSQL itself begins the COPY.
    [400, `copy t from stdin /* ${'x'.repeat(300_000)} */`, []],
    [400, `copy t to stdout /* ${'x'.repeat(300_000)} */`, []],
    [400, "set client_encoding = 'latin1'", []],
  ]
  for (const [status, q, params] of acts) {
    const reply = await bind(user, q, params)
    assert.equal(reply.status, status, `${q.slice(0, 60)}: ${reply.text}`)
    const { pid: _, ...left } = (await ask(user, look)).body.rows[0]!
    const { pid: __, ...usual } = first
    assert.deepEqual(left, usual, q.slice(0, 60))
  }
})

const look = `select pg_backend_pid() as pid, current_setting('search_path') as path, to_regclass('pg_temp.mine') as temp,
  pg_current_xact_id_if_assigned()::text as xid, (select count(*) from pg_prepared_statements) as prepared,
  (select count(*) from pg_cursors where name <> '') as cursors, (select count(*) from pg_listening_channels()) as channels`

test('an error in params does not cost a connection', async (t) => {
  const { user } = await setup(t, oneConnection)
  const pid = async () => (await ask(user, 'select pg_backend_pid() as pid')).body.rows[0]!.pid
  const before = await pid()
  for (const [q, params] of [
    ['select $1 frm x y', [1]],
    ['select $1::int', []],
    ['select $1::int', ['x']],
    ['select 1 / $1::int', [0]],
  ] as const) {
    assert.equal((await bind(user, q, params)).status, 400)
    assert.equal(await pid(), before, q)
  }
})

test('a value never becomes SQL, whatever it contains', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table t (n int)')
  const values = [
    "'; drop table t; --",
    '$1',
    '\\',
    "E'\\''",
    '"',
    '{1,2}',
    '\u2028',
    '$$; drop table t; $$',
    '%00',
    '\x7f',
  ]
  for (const value of values) {
    const { body } = await bind(user, 'select $1 as v, $2::text[] as list, $3::jsonb as doc', [
      value,
      [value],
      { value },
    ])
    assert.deepEqual(body.rows, [{ v: value, list: [value], doc: { value } }])
  }
  assert.equal((await ask(user, 'select * from t')).status, 200)
})

test('any JSON is returned as it was sent, or refused: never an internal error', async (t) => {
  const { user } = await setup(t)
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ noUnicodeString: false, maxDepth: 4 }), async (value) => {
      const { status, text, body } = await bind(user, 'select $1::jsonb as v, $1::text as text', [[value]])
      if (JSON.stringify(value).includes('\\u0000')) assert.equal(status, 400)
      else if (status === 200) assert.deepEqual(body.rows[0]?.v, JSON.parse(JSON.stringify([value])))
      else assert.equal(status, 400, text)
    }),
    { numRuns: cases(40) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(fc.string({ unit: 'grapheme' }))), async (list) => {
      const { status, body } = await bind(user, 'select $1::text[] as v', [list])
      if (list.some((text) => text?.includes('\0'))) assert.equal(status, 400)
      else assert.deepEqual(body.rows[0]?.v, list)
    }),
    { numRuns: cases(40) },
  )
})

test('huge, deep and countless values are refused or served in time', async (t) => {
  const { user } = await setup(t)
  const large = 'x'.repeat(500 * 1024)
  assert.deepEqual((await bind(user, 'select length($1) as n', [large])).body.rows, [{ n: large.length }])
  assert.equal((await bind(user, 'select length($1) as n', ['x'.repeat(100 * 1024 ** 2)])).status, 413)
  const deep = (open: string, close: string) => `[${open.repeat(80_000)}1${close.repeat(80_000)}]`
  for (const [q, params] of [
    ['select $1::int[]', deep('[', ']')],
    ['select $1::jsonb', deep('[', ']')],
    ['select $1::jsonb', deep('{"a":', '}')],
  ] as const) {
    const reply = await sendText(user, q, params)
    assert.equal(reply.status, 400, reply.text.slice(0, 200))
  }
  const long = await bind(user, 'select cardinality($1::int[]) as n', [
    Array.from({ length: 250_000 }, () => 1),
  ])
  assert.deepEqual(long.body.rows, [{ n: 250_000 }])
})

test('limits apply as without params: time, length of a row, and a client that disconnects', async (t) => {
  const { user, admin } = await setup(t, { config: { queryTimeoutMs: 1_000, queryMaxRowBytes: 1_000_000 } })
  const late = await bind(user, 'select pg_sleep($1)', [20])
  assert.deepEqual([late.status, (late.body as { code?: string }).code], [429, 'statement-timeout'])
  const wide = await bind(user, "select repeat('x', $1)", [2_000_000])
  assert.deepEqual([wide.status, (wide.body as { code?: string }).code], [400, 'row-too-large'])
  const leave = new AbortController()
  const gone = bind(user, 'select pg_sleep($1), 1 as left_alone', [0.9], leave.signal).catch(() => undefined)
  leave.abort()
  await gone
  await eventually(async () => {
    const { rows } = await admin(
      "select from pg_stat_activity where state = 'active' and query like '%left_alone' and pid <> pg_backend_pid()",
    )
    assert.equal(rows.length, 0)
  })
})

test('a key without permission has none with params either', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table secret (n int)')
  const reply = await sendText(user, 'select n from secret where n = $1', '[1]', {
    api_key: 'default_public',
  })
  assert.equal(reply.status, 403)
})

function bind(user: TestUser, q: string, params: readonly unknown[], signal?: AbortSignal): Promise<Reply> {
  return post(user, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, params, api_key: user.masterToken }),
    ...(signal ? { signal } : {}),
  })
}

function sendText(
  user: TestUser,
  q: string,
  params: string,
  more: Record<string, string> = {},
): Promise<Reply> {
  return post(user, { body: new URLSearchParams({ q, params, api_key: user.masterToken, ...more }) })
}
