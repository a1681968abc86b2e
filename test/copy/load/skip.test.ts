import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import zlib from 'node:zlib'
import {
  assertAtRest,
  copyUrl,
  countRows,
  createTable,
  runningCopies,
  send,
} from '../../support/postgres/copying.ts'
import { eventually, setup, type TestUser } from '../../support/service/setup.ts'

const intoT = 'COPY t (id, name) FROM STDIN WITH (FORMAT csv)'

const load = (
  user: TestUser,
  q: string,
  body: string | Buffer | Readable,
  options: Record<string, string> = {},
  headers = {},
) =>
  send(
    `${copyUrl(user, 'copyfrom', q)}&${new URLSearchParams({ on_error: 'skip', ...options })}`,
    { method: 'POST', headers },
    body,
  )

type Rejected = { line: number; column: string; value: string; error: string; sqlstate: string; text: string }

test('rows that PostgreSQL refuses are left out and reported, all others are stored', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const reply = await load(user, intoT, '1,one\nx,two\n3,"three\nlines"\n4\n5,five\n')
  assert.equal(reply.status, 200)
  assert.deepEqual(
    { ...reply.body, time: 0 },
    {
      time: 0,
      total_rows: 3,
      rejected_rows: 2,
      rejected: [
        {
          line: 2,
          column: 'id',
          value: 'x',
          error: 'invalid input syntax for type integer: "x"',
          sqlstate: '22P02',
          text: 'x,two',
        },
        {
          line: 5,
          column: null,
          value: null,
          error: 'missing data for column "name"',
          sqlstate: '22P04',
          text: '4',
        },
      ],
    },
  )
  assert.deepEqual((await user.sql('select * from t order by id')).rows, [
    { id: 1, name: 'one' },
    { id: 3, name: 'three\nlines' },
    { id: 5, name: 'five' },
  ])
})

test('a load without bad rows rejects nothing', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const { body } = await load(user, intoT, '1,one\n2,two')
  assert.deepEqual([body.total_rows, body.rejected_rows, body.rejected], [2, 0, []])
})

test('bad rows in a long compressed file are reported by line', async (t) => {
  const { user, ...rest } = await setup(t)
  await createTable(user)
  const bad = new Set([1, 2, 777, 50_000, 50_001, 149_999, 150_000])
  const lines = Array.from({ length: 150_000 }, (_, at) =>
    bad.has(at + 1) ? `bad ${at + 1},"a ""quoted"" name"` : `${at + 1},"a ""quoted"" name of ${at}"`,
  )
  const body = zlib.gzipSync(`id,name\n${lines.join('\n')}\n`)
  const { body: answer } = await load(
    user,
    `${intoT.slice(0, -1)}, HEADER true)`,
    body,
    {},
    { 'content-encoding': 'gzip' },
  )
  assert.deepEqual([answer.total_rows, answer.rejected_rows], [150_000 - bad.size, bad.size])
  const rejected = answer.rejected as Rejected[]
  assert.deepEqual(
    rejected.map(({ line, value }) => [line, value]),
    [...bad].map((line) => [line + 1, `bad ${line}`]),
  )
  assert.equal(await countRows(user), 150_000 - bad.size)
  await assertAtRest({ user, ...rest }, user)
})

test('type, constraint, unique key, foreign key and trigger errors each reject only their row', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table kinds (kind text primary key);
    insert into kinds values ('a'), ('b');
    create table t (id int primary key check (id < 1000), kind text not null references kinds);
    create function refuse() returns trigger language plpgsql as $$
      begin if new.id = 13 then raise 'thirteen is not wanted'; end if; return new; end $$;
    create trigger refuse before insert on t for each row execute function refuse()`)
  const rows = ['1,a', '2,c', '3,b', '3,a', '5000,a', '6,', '13,a', 'x,a', '9,b']
  const { body } = await load(user, 'COPY t FROM STDIN CSV', `${rows.join('\n')}\n`)
  assert.equal(body.total_rows, 3)
  const rejected = body.rejected as Rejected[]
  assert.deepEqual(
    rejected.map(({ line, column, value, sqlstate, text }) => [line, column, value, sqlstate, text]),
    [
      [2, 'kind', 'c', '23503', '2,c'],
      [4, 'id', '3', '23505', '3,a'],
      [5, null, null, '23514', '5000,a'],
      [6, 'kind', null, '23502', '6,'],
      [7, null, null, 'P0001', '13,a'],
      [8, 'id', 'x', '22P02', 'x,a'],
    ],
  )
  assert.equal(rejected[4]!.error, 'thirteen is not wanted')
})

test('thousands of bad rows across a file are left out, and all others are stored', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const lines = Array.from({ length: 40_000 }, (_, at) => (at % 20 === 0 ? `x${at},n` : `${at},n`))
  const { body } = await load(user, intoT, lines.join('\n'), { max_bad_rows: '20000' })
  assert.deepEqual([body.total_rows, body.rejected_rows], [38_000, 2_000])
  assert.equal((body.rejected as Rejected[]).length, 100)
})

test('one row more than max_bad_rows fails the whole load', async (t) => {
  const { user, ...rest } = await setup(t)
  await createTable(user)
  const body = '1,one\nx,two\ny,three\n4,four\n'
  const reply = await load(user, intoT, body, { max_bad_rows: '1' })
  assert.equal(reply.status, 400)
  assert.deepEqual(reply.body.error, ['invalid input syntax for type integer: "y"'])
  assert.equal(reply.body.context, 'COPY t, line 3, column id: "y"')
  assert.equal(reply.body.rejected_rows, 1)
  assert.equal(await countRows(user), 0)
  assert.equal((await load(user, intoT, body, { max_bad_rows: '2' })).body.total_rows, 2)
  await assertAtRest({ user, ...rest }, user)
})

test('a load with no good row fails with the reason', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const reply = await load(user, intoT, 'x,one\ny,two\n')
  assert.equal(reply.status, 400)
  assert.deepEqual(reply.body.error, ['No rows copied'])
  assert.equal(reply.body.rejected_rows, 2)
})

test('rejects=all lists every row with its whole text', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const long = 'é'.repeat(5_000)
  const lines = Array.from({ length: 150 }, (_, at) => `x,${long}${at}`)
  const body = `1,one\n${lines.join('\n')}\n`
  const first = await load(user, intoT, body)
  assert.equal((first.body.rejected as Rejected[]).length, 100)
  assert.equal(Buffer.byteLength((first.body.rejected as Rejected[])[0]!.text), 1024)
  const all = await load(user, intoT, body, { rejects: 'all' })
  assert.deepEqual(
    (all.body.rejected as Rejected[]).map(({ text }) => text),
    lines,
  )
})

test('text format: an escaped line end belongs to its row, and \\. ends the data', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const body = '1\tone\\nline\n2\ttwo\\\nlines\nx\tthree\n4\tfour\n\\.\n5\tfive\n'
  const reply = await load(user, 'COPY t FROM STDIN', body)
  assert.deepEqual(
    (reply.body.rejected as Rejected[]).map(({ line, text }) => [line, text]),
    [[3, 'x\tthree']],
  )
  assert.deepEqual((await user.sql('select * from t order by id')).rows, [
    { id: 1, name: 'one\nline' },
    { id: 2, name: 'two\nlines' },
    { id: 4, name: 'four' },
  ])
})

test('a quotation mark that is never closed rejects its line', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const { body } = await load(user, intoT, '1,one\n2,"two\n3,three\n4,four\n')
  assert.equal(body.total_rows, 3)
  const [row] = body.rejected as Rejected[]
  assert.deepEqual([row!.line, row!.error, row!.text], [2, 'unterminated CSV quoted field', '2,"two'])
})

test('quotes, escapes, line ends and encoding follow the options of the COPY', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (id int, name text)')
  const cases: [q: string, body: Buffer | string, name: string, line: number][] = [
    [`QUOTE '''', ESCAPE '\\'`, `1,'it\\'s\n"this"'\nx,y\n`, 'it\'s\n"this"', 3],
    [`ENCODING 'LATIN1'`, Buffer.from('1,caf\xe9\nx,caf\xe9\n', 'latin1'), 'café', 2],
    [`ENCODING 'SJIS'`, Buffer.from('312c835c0a782c835c0a', 'hex'), 'ソ', 2],
    [`DELIMITER ';'`, '1;"a\r\nb"\r\nx;y\r\n', 'a\r\nb', 3],
    [`NULL 'none'`, '1,cr\rx,y\r', 'cr', 2],
  ]
  for (const [options, body, name, line] of cases) {
    const reply = await load(user, `COPY t FROM STDIN WITH (FORMAT csv, ${options})`, body)
    assert.deepEqual([options, reply.status, reply.body.total_rows], [options, 200, 1])
    const { rows } = await user.sql('select name from t')
    assert.deepEqual([options, rows], [options, [{ name }]])
    assert.deepEqual([options, (reply.body.rejected as Rejected[])[0]!.line], [options, line])
    await user.sql('truncate t')
  }
})

test('text that is invalid in its encoding rejects its row', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const body = Buffer.concat([
    Buffer.from('1,one\n2,'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('\n3,a\0b\n4,four\n'),
  ])
  const reply = await load(user, intoT, body)
  assert.deepEqual(
    (reply.body.rejected as Rejected[]).map(({ line, sqlstate }) => [line, sqlstate]),
    [
      [2, '22021'],
      [3, '22021'],
    ],
  )
  assert.equal(reply.body.total_rows, 2)
})

test('a header is skipped once, and a header that must match fails the load if it does not', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const matching = 'COPY t FROM STDIN WITH (FORMAT csv, HEADER match)'
  assert.equal((await load(user, matching, 'id,name\n1,one\nx,two\n')).body.total_rows, 1)
  const reply = await load(user, matching, 'id,title\n1,one\n')
  assert.equal(reply.status, 400)
  assert.match(String(reply.body.error), /column name mismatch in header line/)
})

test('a deferred constraint fails the whole load', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (id int unique deferrable initially deferred, name text)')
  const reply = await load(user, intoT, '1,one\n1,two\nx,three\n')
  assert.equal(reply.status, 400)
  assert.equal(reply.body.sqlstate, '23505')
  assert.equal(await countRows(user), 0)
})

test('a load beyond the quota fails as a whole', async (t) => {
  const house = await setup(t)
  const user = await house.createUser({ quotaBytes: 2 * 1024 ** 2 })
  await createTable(user)
  const rows = Array.from({ length: 150_000 }, (_, at) => (at % 1000 === 7 ? 'x,bad' : `${at},name ${at}`))
  const reply = await load(user, intoT, `${rows.join('\n')}\n`)
  assert.deepEqual([reply.status, (reply.body as { code?: string }).code], [400, 'quota-exceeded'])
  assert.equal(await countRows(user), 0)
})

test('a load that creates its table stores the good rows in it', async (t) => {
  const { user } = await setup(t)
  const sql = 'create table made (id int);\ncopy made from stdin csv\n'
  const url = `${user.base}/api/v2/sql/copyfrom?api_key=${user.masterToken}&sql_bytes=${sql.length}&on_error=skip`
  const reply = await send(url, { method: 'POST' }, `${sql}1\nx\n`)
  assert.deepEqual([reply.body.total_rows, reply.body.rejected_rows], [1, 1])
  const refused = await send(
    url.replace('&on_error', '&max_bad_rows=0&on_error'),
    { method: 'POST' },
    `${sql.replaceAll('made', 'more')}1\nx\n`,
  )
  assert.equal(refused.status, 400)
  assert.equal((await user.sql(`select to_regclass('more') as more`)).rows[0].more, null)
})

test('options that on_error=skip does not support are refused with the reason', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const cases: [q: string, options: Record<string, string>, text: RegExp][] = [
    ['COPY t FROM STDIN BINARY', {}, /csv and text/],
    ['COPY t FROM STDIN WITH (FREEZE)', {}, /FREEZE/],
    [intoT, { on_error: 'ignore' }, /Invalid on_error: it must be one of stop, skip/],
    [intoT, { max_bad_rows: 'many' }, /Invalid max_bad_rows/],
    [intoT, { on_error: 'stop', max_bad_rows: '1' }, /go with on_error=skip/],
    ['COPY missing FROM STDIN', {}, /relation "missing" does not exist/],
  ]
  for (const [q, options, text] of cases) {
    const reply = await load(user, q, '1,one\n', options)
    assert.equal(reply.status, 400, q)
    assert.match(String(reply.body.error), text)
  }
})

test('a client that disconnects stores nothing', async (t) => {
  const { user, ...rest } = await setup(t)
  await createTable(user)
  const leaving = new AbortController()
  const body = new Readable({ read: () => undefined })
  const url = `${copyUrl(user, 'copyfrom', intoT)}&on_error=skip`
  const sent = send(url, { method: 'POST', signal: leaving.signal }, body)
  body.push('1,one\n'.repeat(300_000))
  await eventually(async () => assert.equal(await runningCopies(user), 1))
  leaving.abort()
  await assert.rejects(sent, { name: 'AbortError' })
  await assertAtRest({ user, ...rest }, user)
  assert.equal(await countRows(user), 0)
})
