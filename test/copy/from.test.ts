import assert from 'node:assert/strict'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import zlib from 'node:zlib'
import {
  copyfrom,
  copyto,
  copyUrl,
  countRows,
  createTable,
  csvLines,
  readReply,
  send,
} from '../support/postgres/copying.ts'
import { basic, setup } from '../support/service/setup.ts'

const intoT = 'COPY t (id, name) FROM STDIN WITH (FORMAT csv)'

test('a chunked upload is stored, and the answer has its rows and time', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const body = Readable.from([Buffer.from('1,o'), Buffer.from('ne\n2,two\n')])
  const reply = await copyfrom(user, intoT, body, { 'content-type': 'application/octet-stream' })
  assert.equal(reply.status, 200)
  assert.equal(reply.body.total_rows, 2)
  assert.equal(typeof reply.body.time, 'number')
  assert.match(String(reply.body.time), /^\d+(\.\d{1,3})?$/)
  assert.deepEqual((await user.sql('select * from t order by id')).rows, [
    { id: 1, name: 'one' },
    { id: 2, name: 'two' },
  ])
})

test('the body is COPY data with a Content-Length, and with a form type, a wrong type or none', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const types = [
    'application/x-www-form-urlencoded',
    'application/json',
    'text/csv; charset=utf-8',
    'no type',
    '',
  ]
  for (const type of types) {
    const reply = await copyfrom(user, intoT, '1,one\n', type ? { 'content-type': type } : {})
    assert.deepEqual([type, reply.status, reply.body.total_rows], [type, 200, 1])
  }
})

test('the key may be the password of Basic authentication', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const url = copyUrl(user, 'copyfrom', intoT, '')
  const headers = basic(user.username, user.masterToken)
  assert.equal((await send(url, { method: 'POST', headers }, '1,one\n')).body.total_rows, 1)
  assert.equal(
    (await send(url, { method: 'POST', headers: basic(user.username, 'wrong') }, '1,one\n')).status,
    401,
  )
  assert.equal((await send(url.replace('/user/', '/u/'), { method: 'POST', headers }, '1,one\n')).status, 200)
})

test('a key that may not write is refused with permission denied', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const reply = await send(copyUrl(user, 'copyfrom', intoT, ''), { method: 'POST' }, '1,one\n')
  assert.equal(reply.status, 403)
  assert.deepEqual(reply.body.error, ['permission denied for table t'])
})

test('a compressed body is decompressed by its Content-Encoding', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const lines = csvLines(50_000)
  const halves = [lines.slice(0, 400_000), lines.slice(400_000)]
  const bodies: [string, Buffer][] = [
    ['gzip', zlib.gzipSync(lines)],
    ['x-gzip', zlib.gzipSync(lines)],
    ['GZIP', Buffer.concat(halves.map((half) => zlib.gzipSync(half)))],
    ['deflate', zlib.deflateSync(lines)],
    ['deflate', zlib.deflateRawSync(lines)],
    ['br', zlib.brotliCompressSync(lines, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } })],
    ['identity', Buffer.from(lines)],
    ['', Buffer.from(lines)],
  ]
  for (const [encoding, body] of bodies) {
    const reply = await copyfrom(user, intoT, body, { 'content-encoding': encoding })
    assert.deepEqual([encoding, reply.status, reply.body.total_rows], [encoding, 200, 50_000])
  }
  const zstd = await copyfrom(user, intoT, 'x', { 'content-encoding': 'zstd' })
  assert.equal(zstd.status, 'createZstdDecompress' in zlib ? 400 : 415)
})

test('options of COPY are passed to PostgreSQL unchanged', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const cases: [string, Buffer | string, [number, string | null][]][] = [
    [
      'COPY t FROM STDIN',
      '1\tone\n2\t\\N\n',
      [
        [1, 'one'],
        [2, null],
      ],
    ],
    ['copy t (name, id) from stdin with (format csv, header true)', 'name,id\none,1\n', [[1, 'one']]],
    ['COPY t FROM STDIN WITH CSV HEADER', 'id,name\n1,one\n', [[1, 'one']]],
    ["COPY t FROM STDIN DELIMITER AS '|' NULL AS 'nil'", '1|nil\n', [[1, null]]],
    ["COPY t FROM STDIN (FORMAT csv, DELIMITER ';', QUOTE '!', ESCAPE '^')", '1;!o^!e!\n', [[1, 'o!e']]],
    ["COPY t FROM STDIN (FORMAT csv, FORCE_NOT_NULL (name), NULL '-')", '1,-\n', [[1, '-']]],
    ["COPY t FROM STDIN (FORMAT csv, FORCE_NULL (name), NULL '-')", '1,"-"\n', [[1, null]]],
    [
      "COPY t FROM STDIN (FORMAT csv, ENCODING 'latin1')",
      Buffer.from('1,\xe9t\xe9\n', 'latin1'),
      [[1, 'été']],
    ],
    ['COPY t FROM STDIN (FORMAT csv) WHERE id > 1', '1,one\n2,two\n', [[2, 'two']]],
    ['/* a comment */ COPY t FROM STDIN CSV; -- and one more', '1,one\n', [[1, 'one']]],
    ['COPY t FROM STDIN', '1\tone\n\\.\n2\ttwo\n', [[1, 'one']]],
  ]
  for (const [q, body, expected] of cases) {
    await user.sql('truncate t')
    const reply = await copyfrom(user, q, body)
    assert.deepEqual([q, reply.status, reply.body.total_rows], [q, 200, expected.length])
    const { rows } = await user.sql('select id, name from t order by id')
    assert.deepEqual(
      rows.map(({ id, name }) => [id, name]),
      expected,
    )
  }
})

test('copyfrom reads the binary format that copyto writes', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  await copyfrom(user, intoT, csvLines(20_000))
  const { bytes } = await copyto(user, 'COPY t TO STDOUT (FORMAT binary)')
  await user.sql('truncate t')
  assert.equal((await copyfrom(user, 'COPY t FROM STDIN (FORMAT binary)', bytes)).body.total_rows, 20_000)
})

test('a client that sends Expect: 100-continue is asked for its body when PostgreSQL is ready for it', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const expecting = (url: string) => {
    const headers = { expect: '100-continue', 'content-length': 6 }
    const sent = request(url, { agent: false, method: 'POST', headers })
    let isAsked = false
    sent.on('continue', () => {
      isAsked = true
      sent.end('1,one\n')
    })
    sent.flushHeaders()
    return new Promise<{ status: number; isAsked: boolean }>((resolve, reject) => {
      sent.on('error', reject)
      sent.on('response', async (response) => {
        const { status } = await readReply(response)
        sent.destroy()
        resolve({ status, isAsked })
      })
    })
  }
  assert.deepEqual(await expecting(copyUrl(user, 'copyfrom', intoT)), { status: 200, isAsked: true })
  const refused = [
    [copyUrl(user, 'copyfrom', intoT, 'wrong'), 401],
    [copyUrl(user, 'copyfrom', 'COPY t TO STDOUT'), 400],
    [copyUrl(user, 'copyfrom', 'COPY no_such_table FROM STDIN'), 400],
  ] as const
  for (const [url, status] of refused) assert.deepEqual(await expecting(url), { status, isAsked: false })
  assert.equal(await countRows(user), 1)
})

test('a row as large as a thousand others is stored', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const reply = await copyfrom(user, intoT, `1,${'x'.repeat(20_000_000)}\n`)
  assert.equal(reply.body.total_rows, 1)
  const { bytes } = await copyto(user, 'COPY t TO STDOUT (FORMAT csv)')
  assert.equal(bytes.length, 20_000_003)
})
