import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import {
  assertAtRest,
  copyfrom,
  copyto,
  copyUrl,
  createTable,
  csvLines,
  send,
} from '../support/postgres/copying.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

/** Nearly 1.5 million rows, then an error. */
const failingLate = 'COPY (SELECT 1 / (1500000 - generate_series(1, 2000000))) TO STDOUT'
const endless = 'COPY (SELECT generate_series(1, 1000000000), repeat($$x$$, 200)) TO STDOUT'

test('a table, some of its columns, or a query is sent as COPY writes it', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  await user.sql(`insert into t values (1, 'one'), (2, 'a "quoted", name')`)
  const cases: [string, string, string][] = [
    ['COPY t TO STDOUT', '1\tone\n2\ta "quoted", name\n', 'application/octet-stream'],
    ['COPY t (name) TO STDOUT', 'one\na "quoted", name\n', 'application/octet-stream'],
    ['COPY (SELECT id FROM t WHERE id > 1) TO STDOUT', '2\n', 'application/octet-stream'],
    [
      'COPY t TO STDOUT WITH (FORMAT csv, HEADER)',
      'id,name\n1,one\n2,"a ""quoted"", name"\n',
      'text/csv; charset=utf-8',
    ],
    ['copy t to stdout csv', '1,one\n2,"a ""quoted"", name"\n', 'text/csv; charset=utf-8'],
    ['COPY (SELECT * FROM t WHERE false) TO STDOUT', '', 'application/octet-stream'],
  ]
  for (const [q, expected, type] of cases) {
    const { status, headers, bytes } = await copyto(user, q)
    assert.deepEqual([status, bytes.toString(), headers['content-type']], [200, expected, type])
    assert.equal(headers['content-disposition'], 'attachment; filename="carto-sql-copyto.dmp"')
  }
})

test('many rows, short and long, arrive unchanged', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const lines = csvLines(300_000)
  await copyfrom(user, 'COPY t FROM STDIN CSV', lines)
  const { bytes } = await copyto(user, 'COPY (SELECT * FROM t ORDER BY id) TO STDOUT CSV')
  assert.ok(bytes.equals(Buffer.from(lines)))
  const long = await copyto(
    user,
    'COPY (SELECT repeat(i::text, i) FROM generate_series(1, 3000) i ORDER BY i) TO STDOUT',
  )
  const expected = Array.from({ length: 3000 }, (_, i) => `${String(i + 1).repeat(i + 1)}\n`).join('')
  assert.ok(long.bytes.equals(Buffer.from(expected)))
})

test('the file name is quoted, so it cannot inject a header', async (t) => {
  const { user } = await setup(t)
  const named = async (filename: string) => {
    const url = `${copyUrl(user, 'copyto', 'COPY (SELECT 1) TO STDOUT')}&filename=${encodeURIComponent(filename)}`
    return (await send(url)).headers['content-disposition']
  }
  assert.equal(await named('export.csv'), 'attachment; filename="export.csv"')
  assert.match(
    (await named('naïve "x".csv'))!,
    /^attachment; filename="[ -~]*"; filename\*=UTF-8''na%C3%AFve%20%22x%22\.csv$/,
  )
  assert.doesNotMatch((await named('a\r\nX-Injected: yes'))!, /[\r\n]/)
  assert.equal(await named(''), 'attachment; filename="carto-sql-copyto.dmp"')
})

test('q, filename and api_key may come in a form or in JSON', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const url = `${user.base}/api/v2/sql/copyto`
  const fields = { q: 'COPY t TO STDOUT (FORMAT csv, HEADER)', filename: 'f.csv', api_key: user.masterToken }
  const bodies = [
    [new URLSearchParams(fields).toString(), 'application/x-www-form-urlencoded'],
    [JSON.stringify(fields), 'application/json'],
  ] as const
  for (const [body, type] of bodies) {
    const reply = await send(url, { method: 'POST', headers: { 'content-type': type } }, body)
    assert.deepEqual([reply.status, reply.bytes.toString()], [200, 'id,name\n'])
    assert.equal(reply.headers['content-disposition'], 'attachment; filename="f.csv"')
  }
})

test('HEAD answers the headers and runs nothing', async (t) => {
  const { user } = await setup(t)
  const reply = await send(copyUrl(user, 'copyto', 'COPY nowhere TO STDOUT CSV'), { method: 'HEAD' })
  assert.deepEqual([reply.status, reply.headers['content-type']], [200, 'text/csv; charset=utf-8'])
})

test('a public table needs no key, any other table does', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const url = copyUrl(user, 'copyto', 'COPY t TO STDOUT', '')
  const denied = await send(url)
  assert.deepEqual([denied.status, denied.body.error], [403, ['permission denied for table t']])
  await user.sql(`grant select on t to "${user.account.publicRole}"`)
  assert.equal((await send(url)).status, 200)
})

test('the answer is compressed in the encoding the client prefers', async (t) => {
  const { user } = await setup(t)
  const q = 'COPY (SELECT * FROM generate_series(1, 100000)) TO STDOUT'
  const plain = (await copyto(user, q)).bytes
  const cases: [string, string | undefined, (bytes: Buffer) => Buffer][] = [
    ['gzip', 'gzip', gunzipSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['br;q=1, gzip;q=0.5', 'br', brotliDecompressSync],
    ['*', 'gzip', gunzipSync],
    ['gzip;q=0', undefined, (bytes) => bytes],
    ['identity, gzip;q=0.5', undefined, (bytes) => bytes],
    ['deflate', undefined, (bytes) => bytes],
  ]
  for (const [accepted, encoding, decode] of cases) {
    const { headers, bytes } = await copyto(user, q, { 'accept-encoding': accepted })
    assert.equal(headers['content-encoding'], encoding, accepted)
    assert.equal(headers.vary, 'Accept-Encoding')
    assert.ok(decode(bytes).equals(plain))
  }
})

test('with TE: trailers the number of rows follows as a trailer', async (t) => {
  const { user } = await setup(t)
  const q = 'COPY (SELECT * FROM generate_series(1, 12345)) TO STDOUT'
  for (const accepted of ['identity', 'gzip']) {
    const { trailers } = await copyto(user, q, { te: 'trailers', 'accept-encoding': accepted })
    assert.deepEqual(trailers, { 'x-copy-rows': '12345' })
  }
  assert.deepEqual((await copyto(user, q)).trailers, {})
})

test('an error before the first byte is a JSON error', async (t) => {
  const at = await setup(t)
  const cases: [string, RegExp][] = [
    ['COPY nowhere TO STDOUT', /relation "nowhere" does not exist/],
    ['COPY (SELECT 1 / (3 - i) FROM generate_series(1, 5) i) TO STDOUT', /division by zero/],
  ]
  for (const [q, message] of cases) {
    const reply = await copyto(at.user, q, { te: 'trailers', 'accept-encoding': 'gzip' })
    assert.equal(reply.status, 400)
    assert.match((reply.body.error as string[])[0]!, message)
    assert.equal(reply.headers['content-disposition'], undefined)
  }
  await assertAtRest(at, at.user)
})

test('an error after the first byte breaks the stream', async (t) => {
  const at = await setup(t)
  for (const accepted of ['identity', 'gzip', 'br']) {
    await assert.rejects(copyto(at.user, failingLate, { 'accept-encoding': accepted }), {
      code: 'ECONNRESET',
    })
  }
  await assertAtRest(at, at.user)
})

test('an HTTP/1.0 client, which cannot read chunks, sees a connection reset where the data breaks off', async (t) => {
  const { url, user } = await setup(t)
  const { port } = new URL(url)
  const { pathname, search } = new URL(copyUrl(user, 'copyto', failingLate))
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`GET ${pathname}${search} HTTP/1.0\r\n\r\n`)
  await assert.rejects(buffer(socket), { code: 'ECONNRESET' })
})

test('a reader who hangs up leaves no query running and no connection taken', async (t) => {
  const at = await setup(t)
  for (const accepted of ['identity', 'gzip']) {
    const sent = request(copyUrl(at.user, 'copyto', endless), {
      agent: false,
      headers: { 'accept-encoding': accepted },
    })
    sent.on('error', () => undefined).end()
    const [response] = await once(sent, 'response')
    await once(response, 'data')
    assert.equal(await runningCopies(at), 1)
    sent.destroy()
    await assertAtRest(at, at.user)
  }
})

test('a reader who hangs up before the first row leaves none either', async (t) => {
  const at = await setup(t)
  const sent = request(copyUrl(at.user, 'copyto', 'COPY (SELECT pg_sleep(60)) TO STDOUT'), { agent: false })
  sent.on('error', () => undefined).end()
  await eventually(async () => assert.equal(await runningCopies(at), 1))
  sent.destroy()
  await assertAtRest(at, at.user)
})

test('a backend that is terminated breaks the stream', async (t) => {
  const at = await setup(t)
  const sent = request(copyUrl(at.user, 'copyto', endless), { agent: false }).end()
  const [response] = await once(sent, 'response')
  await once(response, 'data')
  await at.admin(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cartage copy' and datname = $1`,
    [at.user.account.database],
  )
  await assert.rejects(buffer(response), { code: 'ECONNRESET' })
  await assertAtRest(at, at.user)
})

test('a slow reader slows the server down', async (t) => {
  const at = await setup(t)
  const sent = request(copyUrl(at.user, 'copyto', endless), { agent: false }).end()
  const [response] = await once(sent, 'response')
  response.pause()
  await eventually(async () => {
    const { rows } = await at.admin(
      `select wait_event from pg_stat_activity where application_name = 'cartage copy' and datname = $1`,
      [at.user.account.database],
    )
    assert.deepEqual(rows, [{ wait_event: 'ClientWrite' }])
  })
  response.resume()
  for (let chunks = 0; chunks < 100; chunks += 1) await once(response, 'data')
  sent.on('error', () => undefined).destroy()
  await assertAtRest(at, at.user)
})

async function runningCopies({ admin, user }: Setup): Promise<number> {
  const { rows } = await admin(
    `select from pg_stat_activity where application_name = 'cartage copy' and datname = $1 and state = 'active'`,
    [user.account.database],
  )
  return rows.length
}
