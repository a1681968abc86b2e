import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { createUser } from '../../src/accounts/create-user.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { assertAtRest, csvLines, type Reply, readReply, send } from '../support/postgres/copying.ts'
import { runSql } from '../support/runner/namespace.ts'
import { newInstallation } from '../support/service/installation.ts'
import { eventually, randomName, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const create = 'CREATE TABLE t (id int, name text)'
const copy = 'COPY t FROM STDIN (FORMAT csv)'
const both = `${create};\n${copy};\n`

test('a body that begins with CREATE TABLE and COPY creates the table with its rows, compressed or not', async (t) => {
  const { user } = await setup(t)
  const rows = csvLines(20_000)
  const named = (name: string) => both.replaceAll(' t ', ` ${name} `)
  const answers = {
    plain: await load(user, named('plain'), rows),
    chunked: await load(user, named('chunked'), Readable.from([Buffer.from(rows)])),
    gzip: await load(user, named('gzip'), gzipSync(rows), { data_encoding: 'gzip' }),
    br: await load(user, named('br'), brotliCompressSync(rows), { data_encoding: 'br' }),
    tëxt: await load(user, `-- é\n${named('tëxt')}-- no more`, rows),
    // A COPY alone may be sent in the body instead of in q.
    more: await load(user, copy.replace(' t ', ' plain '), rows),
  }
  for (const [name, { status, body }] of Object.entries(answers))
    assert.deepEqual([status, body.total_rows], [200, 20_000], `${name}: ${JSON.stringify(body)}`)
  assert.deepEqual(await tables(user), ['br', 'chunked', 'gzip', 'plain', 'tëxt'])
  const { rows: sums } = await user.sql(
    'select (select count(*) from plain)::int as plain, (select sum(id) from gzip)::int as gzip, (select sum(id) from br)::int as br',
  )
  assert.deepEqual(sums, [{ plain: 40_000, gzip: 199_990_000, br: 199_990_000 }])
})

test('one request creates a table of 1,600 columns with the longest names', async (t) => {
  const { user } = await setup(t)
  const names = Array.from({ length: 1600 }, (_, at) => `"${'ñ'.repeat(29)}${1000 + at}"`)
  const sql = `CREATE TABLE wide (${names.map((name) => `${name} double precision`)}); COPY wide (${names}) FROM STDIN (FORMAT csv, FORCE_NULL (${names}))`
  const { status, body } = await load(user, sql, `7${',""'.repeat(1599)}\n`)
  assert.deepEqual([status, body.total_rows], [200, 1], JSON.stringify(body))
})

test('no row is lost after SQL longer than the buffer of a Unix socket, however slowly the rows arrive', async (t) => {
  const { keys, start } = await newInstallation(t)
  const service = await start({ keys: { adminUrl: await socketUrl(keys.adminUrl) } })
  const { account, masterToken } = await createUser(service.services.installation, {
    username: randomName('user'),
  })
  const user = { base: `${service.url}/user/${account.username}`, masterToken }
  const rows = '123456789\n'.repeat(10)
  for (const bytes of [240_000, 262_144]) {
    const sql = `CREATE TABLE t${bytes} (a int); COPY t${bytes} FROM STDIN`.padEnd(bytes)
    const { sent, answered } = begin(user, sql, rows.slice(0, 20))
    await sleep(200)
    sent.end(rows.slice(20))
    const { status, body } = await readReply((await answered)[0])
    assert.deepEqual([status, body.total_rows], [200, 10], JSON.stringify(body))
  }
})

/** The URL of the same server over the Unix socket of the embedded cluster. */
async function socketUrl(adminUrl: string): Promise<string> {
  const { rows } = await runSql({ connectionString: adminUrl }, 'show unix_socket_directories')
  const { username, password, port, pathname } = new URL(adminUrl)
  const place = new URLSearchParams({ host: rows[0].unix_socket_directories, port })
  return `postgres://${username}:${password}@${pathname}?${place}`
}

test('SQL that arrives too slowly is given up, even if it never stops arriving', async (t) => {
  const { user } = await setup(t, { config: { requestTimeoutMs: 1_000 } })
  const { sent, answered } = begin(user, both.slice(0, 10), '', 1_000)
  const drops = setInterval(() => sent.write(' '), 100)
  t.after(() => clearInterval(drops))
  await assertRefused(
    answered.then(([response]) => readReply(response)),
    408,
    /did not arrive in time/,
  )
  sent.on('error', () => undefined).destroy()
})

test('when the rows fail for any reason, the table is not created either', async (t) => {
  const at = await setup(t, { config: { copyMaxBytes: 6_000_000 } })
  const user = await at.createUser({ quotaBytes: 4 * 1024 ** 2 })
  const deferred = `CREATE TABLE t (id int UNIQUE DEFERRABLE INITIALLY DEFERRED, name text); ${copy}`
  const cases: [string, string, string | Buffer, RegExp, Record<string, string>?][] = [
    ['a bad value', both, '1,one\nx,two\n', /invalid input syntax for type integer: "x"/],
    ['no rows', both, '', /^No rows copied$/],
    ['a header only', `${create}; COPY t FROM STDIN (FORMAT csv, HEADER)`, 'id,name\n', /^No rows copied$/],
    ['what is checked by the commit', deferred, '1,one\n1,two\n', /duplicate key value violates unique/],
    ['the quota', both, csvLines(250_000), /^DB Quota exceeded$/],
    ['the size', both, Buffer.alloc(6_000_001, '1,one\n'), /maximum POST size/],
    [
      'torn compression',
      both,
      gzipSync(csvLines(9)).subarray(0, 40),
      /gunzipping/,
      { data_encoding: 'gzip' },
    ],
    ['a bad type', `CREATE TABLE t (id nothing); ${copy}`, '1\n', /type "nothing" does not exist/],
  ]
  for (const [what, sql, data, message, parameters] of cases) {
    const { status, body } = await load(user, sql, data, parameters)
    assert.equal(status, 400, what)
    assert.match((body.error as string[])[0]!, message, what)
    assert.deepEqual(await tables(user), [], what)
  }
  await assertAtRest(at, user)
  assert.equal((await load(user, both, csvLines(10))).status, 200)
  const taken = await load(user, both, csvLines(10))
  assert.deepEqual([taken.status, taken.body.sqlstate], [400, '42P07'])
  assert.equal((await user.sql('select from t')).rowCount, 10)
})

test('an upload that is cut in its SQL or in its rows leaves no table', async (t) => {
  const at = await setup(t)
  const body = Buffer.from(both + csvLines(12_000))
  const places = [0, 1, both.length - 1, both.length, both.length + 1, 70_000, body.length - 1]
  for (const offset of places) {
    for (const isAbrupt of [true, false]) await cutAt(at, body, offset, isAbrupt)
  }
  await assertAtRest(at, at.user)
  assert.deepEqual(await tables(at.user), [])
})

test('losing the backend before the commit answers 503, and neither table nor rows exist', async (t) => {
  const at = await setup(t)
  const { user, admin } = at
  const { sent, answered } = begin(user, both, csvLines(5_000))
  await eventually(async () => {
    const { rows } = await admin(
      'select tuples_processed::int as stored from pg_stat_progress_copy where datname = $1',
      [user.account.database],
    )
    assert.deepEqual(rows, [{ stored: 5_000 }])
  })
  await admin(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cartage copy' and datname = $1`,
    [user.account.database],
  )
  const { status, body } = await readReply((await answered)[0])
  assert.deepEqual([status, body.error], [503, ['The database is not reachable at the moment']])
  sent.on('error', () => undefined).destroy()
  assert.deepEqual(await tables(user), [])
})

test('nobody sees the new table until its rows are stored, and nobody waits for it', async (t) => {
  const at = await setup(t)
  const { user } = at
  const first = begin(user, both, csvLines(5_000))
  await eventually(async () => assert.deepEqual(await copies(at), ['ClientRead']))
  assert.deepEqual(await tables(user), [])
  assert.equal((await load(user, both.replaceAll(' t ', ' u '), csvLines(10))).status, 200)
  assert.equal((await keysClient(user).create('k', grantsOf({ u: ['select'] }))).status, 201)
  await user.sql('create table v (n int); drop table v')
  first.sent.end()
  const { status, body } = await readReply((await first.answered)[0])
  assert.deepEqual([status, body.total_rows], [200, 5_000])
  assert.deepEqual(await tables(user), ['t', 'u'])
})

test('a key creates tables only where it may', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  const { token: maker } = await keys.make('maker', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', tables: [], schemas: [{ name: 'public', permissions: ['create'] }] },
  ])
  const { token: reader } = await keys.make('reader')
  for (const [token, code] of [
    [reader, 'database'],
    ['default_public', 'statement-not-allowed'],
  ] as const) {
    const { status, body } = await load({ ...user, masterToken: token }, both, csvLines(10))
    assert.deepEqual([status, body.code], [403, code])
  }
  await user.sql('create function code() returns int language sql as $$ select 1 $$')
  const coded = `CREATE TABLE t (id int DEFAULT code(), name text); ${copy}`
  assert.equal((await load({ ...user, masterToken: maker }, coded, csvLines(10))).status, 403)
  assert.deepEqual(await tables(user), [])
  assert.equal((await load({ ...user, masterToken: maker }, both, csvLines(10))).status, 200)
  assert.equal((await user.sql('select from t')).rowCount, 10)
})

test('a body whose SQL is not a COPY, or CREATE TABLE and COPY, is refused before a connection is taken', async (t) => {
  const at = await setup(t, { config: { copyIdleMs: 400, copiesPerUser: 4 } })
  const { user } = at
  const before = at.service.services.databases.copy.stats()
  const statements: [string | Buffer, RegExp][] = [
    [' -- nothing', /^SQL is missing$/],
    [create, /with nothing but a CREATE TABLE before it/],
    [`${both}; DROP TABLE t`, /with nothing but a CREATE TABLE before it/],
    [`DROP TABLE t; ${copy}`, /with nothing but a CREATE TABLE before it/],
    [`${create}; COMMIT; ${copy}`, /with nothing but a CREATE TABLE before it/],
    [`CREATE TABLE t AS SELECT 1; ${copy}`, /with nothing but a CREATE TABLE before it/],
    [`${create}; COPY nowhere FROM STDIN`, /that CREATE TABLE makes/],
    [`CREATE TABLE "T" (id int, name text); ${copy}`, /that CREATE TABLE makes/],
    [`CREATE TABLE public.t (id int, name text); ${copy}`, /that CREATE TABLE makes/],
    [`CREATE TEMP TABLE t (id int, name text); ${copy}`, /temporary/],
    ['CREATE TABLE pg_temp.t (id int); COPY pg_temp.t FROM STDIN', /temporary/],
    [`${create}; COPY t TO STDOUT`, /FROM STDIN/],
    [`${create}; COPY t FROM PROGRAM 'id'`, /PROGRAM/],
    [`${create}; COPY t FROM '/etc/passwd'`, /file/],
    ['CREATE TABLE t (', /syntax error/],
    [`${both}\0`, /NUL/],
    [Buffer.from([0xff, 0xfe]), /UTF-8/],
  ]
  for (const [sql, message] of statements) await assertRefused(load(user, sql, '1,one\n'), 400, message)
  const rows = Buffer.from(both + csvLines(1))
  for (const bytes of ['0', '-1', 'many', '1e3', '524289'])
    await assertRefused(sendLoad(user, rows, { sql_bytes: bytes }), 400, /^Invalid sql_bytes: .* 524288$/)
  await assertRefused(sendLoad(user, rows, { sql_bytes: '9999' }), 400, /ended too early/)
  await assertRefused(load(user, both, '1,one\n', { q: copy }), 400, /q or in the body/)
  await assertRefused(load(user, both, '1,one\n', { params: '[1]' }), 400, /no params/)
  await assertRefused(load(user, both, '1', { data_encoding: 'rot13' }), 415, /^data_encoding "rot13"/)
  await assertRefused(load(user, both, '1', {}, { 'content-encoding': 'gzip' }), 400, /data_encoding/)
  await assertRefused(sendLoad(user, rows, { q: copy, data_encoding: 'gzip' }), 400, /needs sql_bytes/)
  const { sent, answered } = begin(user, both.slice(0, 10), '', both.length)
  const silent = await readReply((await answered)[0])
  assert.deepEqual([silent.status, silent.body.error], [408, ['The client sent nothing for 0.4 seconds']])
  sent.on('error', () => undefined).destroy()
  assert.deepEqual(at.service.services.databases.copy.stats(), before)
  assert.deepEqual(await tables(user), [])
})

test('a client with a wrong key is not asked for its SQL', async (t) => {
  const { user } = await setup(t)
  const sent = request(loadUrl({ ...user, masterToken: 'wrong' }, { sql_bytes: '10' }), {
    agent: false,
    method: 'POST',
    headers: { expect: '100-continue', 'content-length': 1000 },
  })
  sent.on('continue', () => assert.fail('asked')).flushHeaders()
  assert.equal((await readReply((await once(sent, 'response'))[0])).status, 401)
  sent.on('error', () => undefined).destroy()
})

const loadUrl = (
  { base, masterToken }: Pick<TestUser, 'base' | 'masterToken'>,
  parameters: Record<string, string>,
) => `${base}/api/v2/sql/copyfrom?${new URLSearchParams({ ...parameters, api_key: masterToken })}`

function load(
  user: TestUser,
  sql: string | Buffer,
  data: string | Buffer | Readable,
  parameters: Record<string, string> = {},
  headers: OutgoingHttpHeaders = {},
): Promise<Reply> {
  const start = Buffer.from(sql)
  const body =
    data instanceof Readable ? Readable.from(inOrder(start, data)) : Buffer.concat([start, Buffer.from(data)])
  return sendLoad(user, body, { sql_bytes: String(start.length), ...parameters }, headers)
}

async function* inOrder(start: Buffer, rest: Readable): AsyncGenerator<Buffer> {
  yield start
  yield* rest
}

const sendLoad = (
  user: TestUser,
  body: Buffer | Readable,
  parameters: Record<string, string>,
  headers: OutgoingHttpHeaders = {},
) => send(loadUrl(user, parameters), { method: 'POST', headers }, body)

/** Begins an upload and leaves its body open. */
function begin(
  user: Pick<TestUser, 'base' | 'masterToken'>,
  sql: string,
  data: string,
  sqlBytes = Buffer.byteLength(sql),
) {
  const url = loadUrl(user, { sql_bytes: String(sqlBytes) })
  const sent = request(url, { agent: false, method: 'POST' })
  const answered = once(sent, 'response')
  sent.write(sql + data)
  return { sent, answered }
}

async function cutAt({ url, user }: Setup, body: Buffer, offset: number, isAbrupt: boolean): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  const closed = once(socket, 'close')
  const { pathname, search } = new URL(loadUrl(user, { sql_bytes: String(both.length) }))
  socket.write(`POST ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`)
  await new Promise((sent) => socket.write(body.subarray(0, offset), sent))
  if (isAbrupt) socket.resetAndDestroy()
  else socket.resume().end()
  await closed
}

async function assertRefused(reply: Promise<Reply>, expected: number, message: RegExp): Promise<void> {
  const { status, body } = await reply
  assert.equal(status, expected, JSON.stringify(body))
  assert.match((body.error as string[])[0]!, message)
}

async function tables(user: TestUser): Promise<string[]> {
  const { rows } = await user.sql("select tablename from pg_tables where schemaname = 'public' order by 1")
  return rows.map(({ tablename }: { tablename: string }) => tablename)
}

/** The wait events of running copies. */
async function copies({ admin, user }: Setup): Promise<string[]> {
  const { rows } = await admin(
    `select wait_event from pg_stat_activity where application_name = 'cartage copy' and datname = $1 and state = 'active'`,
    [user.account.database],
  )
  return rows.map(({ wait_event }) => wait_event)
}
