import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { assertAtRest, copyfrom, copyUrl, countRows, createTable, send } from '../support/postgres/copying.ts'
import { setup } from '../support/service/setup.ts'

const csv = 'COPY t FROM STDIN (FORMAT csv)'

test('a statement that is not one COPY of the right direction is refused before a connection is taken', async (t) => {
  const at = await setup(t, { config: { copiesPerUser: 3 } })
  const { user } = at
  const cases: [string, 'copyfrom' | 'copyto', RegExp][] = [
    ['', 'copyfrom', /^SQL is missing$/],
    ['  -- nothing', 'copyto', /^SQL is missing$/],
    ['SELECT 1', 'copyfrom', /^SQL must start with COPY$/],
    ['COPY t TO STDOUT', 'copyfrom', /FROM STDIN/],
    [csv, 'copyto', /TO STDOUT/],
    ["COPY t FROM '/etc/passwd'", 'copyfrom', /file/],
    ["COPY t TO '/tmp/stolen'", 'copyto', /file/],
    ["COPY t FROM PROGRAM 'id'", 'copyfrom', /PROGRAM/],
    ["COPY t TO PROGRAM 'cat'", 'copyto', /PROGRAM/],
    [`${csv}; DROP TABLE t`, 'copyfrom', /one COPY statement/],
    ['COPY t TO STDOUT; SELECT 1', 'copyto', /one COPY statement/],
    ['COPY t FROM', 'copyfrom', /syntax error/],
    ['COPY t FROM STDIN\0', 'copyfrom', /NUL/],
  ]
  const before = at.service.services.databases.copy.stats()
  for (const [q, direction, message] of cases) {
    const options = direction === 'copyfrom' ? { method: 'POST' } : {}
    const { status, body } = await send(copyUrl(user, direction, q), options)
    assert.equal(status, 400, q)
    assert.match((body.error as string[])[0]!, message)
  }
  assert.deepEqual(at.service.services.databases.copy.stats(), before)
})

test('params are refused, because COPY takes none', async (t) => {
  const { user } = await setup(t)
  const download = copyUrl(user, 'copyto', 'COPY (SELECT 1) TO STDOUT')
  const upload = copyUrl(user, 'copyfrom', csv)
  for (const { status, body } of [
    await send(`${download}&params=[1]`, {}),
    await send(`${upload}&params=[1]`, { method: 'POST' }, 'x'),
  ])
    assert.deepEqual([status, body.error, body.code], [400, ['A COPY has no params'], 'params-invalid'])
})

test('a missing or repeated q is refused', async (t) => {
  const { user } = await setup(t)
  const url = `${user.base}/api/v2/sql/copyfrom?api_key=${user.masterToken}`
  assert.deepEqual((await send(url, { method: 'POST' }, 'x')).body.error, ['SQL is missing'])
  const twice = await send(
    `${copyUrl(user, 'copyfrom', csv)}&q=${encodeURIComponent(csv)}`,
    { method: 'POST' },
    'x',
  )
  assert.equal(twice.status, 400)
  assert.match((twice.body.error as string[])[0]!, /more than once/)
})

test('an error of PostgreSQL in the data names line and column, and nothing is stored', async (t) => {
  const at = await setup(t)
  const { user } = at
  await createTable(user)
  const cases: [string, Buffer | string, RegExp, RegExp | undefined][] = [
    ['COPY nowhere FROM STDIN', '1', /relation "nowhere" does not exist/, undefined],
    ['COPY t (id, missing) FROM STDIN', '1', /column "missing" of relation "t" does not exist/, undefined],
    [
      csv,
      '1,one\n2,two\nthree,3\n',
      /invalid input syntax for type integer: "three"/,
      /COPY t, line 3, column id/,
    ],
    [csv, '1\n', /missing data for column "name"/, /COPY t, line 1/],
    [csv, '1,one,more\n', /extra data after last expected column/, /COPY t, line 1/],
    [
      csv,
      Buffer.from('1,\xff\xfe\n', 'latin1'),
      /invalid byte sequence for encoding "UTF8"/,
      /COPY t, line 1/,
    ],
    [csv, '1,"unfinished\n', /unterminated CSV quoted field/, /COPY t, line 2|COPY t, line 1/],
    [
      'COPY t FROM STDIN (FORMAT csv, HEADER match)',
      'id,other\n1,one\n',
      /column name mismatch/,
      /COPY t, line 1/,
    ],
    ['COPY t FROM STDIN (FORMAT nonsense)', '1', /COPY format "nonsense" not recognized/, undefined],
    ['COPY t FROM STDIN (FORMAT binary)', '1,one\n', /COPY file signature not recognized/, undefined],
    ['COPY t FROM STDIN (FREEZE)', '1\tone\n', /cannot perform COPY FREEZE/, undefined],
  ]
  for (const [q, data, message, context] of cases) {
    const { status, body } = await copyfrom(user, q, data)
    assert.equal(status, 400, q)
    assert.match((body.error as string[])[0]!, message)
    if (context) assert.match(String(body.context), context)
  }
  assert.equal(await countRows(user), 0)
  await assertAtRest(at, user)
})

test('an empty body copies no rows, which is an error', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  for (const [q, body] of [
    [csv, ''],
    ['COPY t FROM STDIN CSV HEADER', 'id,name\n'],
    ['COPY t FROM STDIN', '\\.\n'],
  ] as const) {
    const reply = await copyfrom(user, q, body)
    assert.deepEqual([reply.status, reply.body.error], [400, ['No rows copied']])
  }
})

test('an unknown Content-Encoding, or more than one, is refused', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  for (const encoding of ['compress', 'lzma', 'gzip, gzip', 'br, gzip', 'gzip;q=1']) {
    const reply = await copyfrom(user, csv, gzipSync('1,one\n'), { 'content-encoding': encoding })
    assert.equal(reply.status, 415, encoding)
    assert.match((reply.body.error as string[])[0]!, /gzip, deflate, br/)
  }
})

test('bad compressed data is reported as such, and nothing is stored', async (t) => {
  const at = await setup(t)
  const { user } = at
  await createTable(user)
  const good = gzipSync('1,one\n'.repeat(100_000))
  const corrupt = Buffer.from(good)
  corrupt.fill(0x55, good.length - 8, good.length - 4)
  const cases: [Buffer, RegExp][] = [
    [Buffer.from('1,one\n'), /^Error while gunzipping: incorrect header check$/],
    [good.subarray(0, good.length - 5), /^Error while gunzipping: unexpected end of file$/],
    [good.subarray(0, 1), /^Error while gunzipping: /],
    [Buffer.alloc(0), /^Error while gunzipping: unexpected end of file$/],
    [corrupt, /^Error while gunzipping: incorrect data check$/],
    [Buffer.concat([good, Buffer.from('and more')]), /^Error while gunzipping: /],
    [Buffer.concat([good, Buffer.alloc(3), good]), /^Error while gunzipping: there is data after the end/],
  ]
  for (const [body, message] of cases) {
    const reply = await copyfrom(user, csv, body, { 'content-encoding': 'gzip' })
    assert.equal(reply.status, 400)
    assert.match((reply.body.error as string[])[0]!, message)
  }
  // PostgreSQL may refuse the damaged rows before the end of the compressed stream is seen.
  const changed = Buffer.from(good).fill(0x55, 300, 340)
  assert.equal((await copyfrom(user, csv, changed, { 'content-encoding': 'gzip' })).status, 400)
  const brotli = await copyfrom(user, csv, 'not brotli', { 'content-encoding': 'br' })
  assert.match((brotli.body.error as string[])[0]!, /^Error while decompressing br: /)
  assert.equal(await countRows(user), 0)
  await assertAtRest(at, user)
})

test('a compressed body without the header gets a hint', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const reply = await copyfrom(user, csv, gzipSync('1,one\n'))
  assert.equal(reply.status, 400)
  assert.match((reply.body.error as string[])[0]!, /invalid byte sequence/)
  assert.equal(
    reply.body.hint,
    'The body looks like a gzip file: send it with the header "Content-Encoding: gzip"',
  )
})

test('an unknown account gives 404, any method but POST gives 405', async (t) => {
  const { url, user } = await setup(t)
  assert.equal(
    (await send(`${url}/user/nobody-here/api/v2/sql/copyfrom?q=x`, { method: 'POST' }, 'x')).status,
    404,
  )
  assert.equal((await send(copyUrl(user, 'copyfrom', csv))).status, 405)
})
