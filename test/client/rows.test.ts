import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExactNumber, type Numbers } from '../../src/client/client.ts'
import { membersOf } from '../../src/contract/text/json-rows.ts'
import { startFront } from '../support/http/http-front.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('rows arrive one by one, and their description after the last', async (t) => {
  const client = clientOf(t, await setup(t))
  const rows = client.rows<{ n: number; text: string }>(
    `do $$ begin raise notice 'hello'; end $$;
     select n, repeat('{"ö', n % 7) || '\\' as text from generate_series(1, 20000) n`,
  )
  assert.equal(rows.summary, undefined)
  let count = 0
  for await (const { n, text } of rows) {
    count += 1
    assert.equal(n, count)
    assert.equal(text, `${'{"ö'.repeat(n % 7)}\\`)
  }
  assert.equal(count, 20_000)
  const { time, ...summary } = rows.summary!
  assert.ok(time > 0)
  assert.deepEqual(summary, {
    fields: { n: { type: 'number', pgtype: 'int4' }, text: { type: 'string', pgtype: 'text' } },
    total_rows: 20_000,
    notices: ['hello'],
  })
})

test('a result of any length takes no more memory than a short one', async (t) => {
  const client = clientOf(t, await setup(t))
  let bytes = 0
  let highest = 0
  const before = process.memoryUsage().heapUsed
  for await (const texts of client
    .rows("select repeat('x', 1000) as x from generate_series(1, 60000)")
    .texts()) {
    for (const text of texts) bytes += text.length
    highest = Math.max(highest, process.memoryUsage().heapUsed)
  }
  assert.ok(bytes > 60_000_000)
  assert.ok(highest - before < 40_000_000, `${highest - before} bytes`)
})

test('a row longer than the chunks it arrives in is complete', async (t) => {
  const client = clientOf(t, await setup(t))
  const { rows } = await client.sql<{ x: string }>("select repeat('ab', 4000000) as x union all select 'c'")
  assert.deepEqual(rows.map(({ x }) => x.length).sort(), [1, 8_000_000])
})

test('rows can be read as they are written, in the order of their columns', async (t) => {
  const client = clientOf(t, await setup(t))
  const all: string[] = []
  for await (const texts of client.rows('select 1.50 as "2", 9007199254740993 as "1", null as n').texts())
    all.push(...texts)
  assert.deepEqual(all.map(membersOf), [
    [
      ['2', '1.50'],
      ['1', '9007199254740993'],
      ['n', 'null'],
    ],
  ])
})

test('numbers have the chosen type: exact, bigint, string or number', async (t) => {
  const bundle = await setup(t)
  const sql =
    'select 9007199254740993 as long, 1.50 as price, 2 as two, 1e30::float8 as far, array[1, 2] as list'
  const read = async (numbers: Numbers) => (await clientOf(t, bundle, { numbers }).sql(sql)).rows[0]!
  const exact = await read('exact')
  assert.ok(exact.price instanceof ExactNumber)
  assert.equal(String(exact.price), '1.50')
  assert.deepEqual([exact.long, exact.two, exact.list], [9007199254740993n, 2, [1, 2]])
  const big = { long: 9007199254740993n, price: 1.5, two: 2, far: 1e30, list: [1, 2] }
  assert.deepEqual(await read('bigint'), big)
  const text = { long: '9007199254740993', price: '1.50', two: '2', far: '1e+30', list: ['1', '2'] }
  assert.deepEqual(await read('string'), text)
  // biome-ignore lint/correctness/noPrecisionLoss: that is what was chosen
  assert.deepEqual(await read('number'), { ...big, long: 9007199254740993 })
  const one = await clientOf(t, bundle).sql('select 1.50 as price', { numbers: 'number' })
  assert.deepEqual([one.rows, one.total_rows], [[{ price: 1.5 }], 1])
})

test('leaving the loop or aborting ends the statement in the database', async (t) => {
  const bundle = await setup(t)
  const client = clientOf(t, bundle)
  for await (const { n } of client.rows('select generate_series(1, 1000000000) as n, 1 as left_early')) {
    if (n === 3) break
  }
  await eventually(async () => assert.equal(await runningCount(bundle, 'left_early'), 0))
  const stop = new AbortController()
  const asleep = client.sql('select pg_sleep(60), 1 as stopped_early', { signal: stop.signal })
  await eventually(async () => assert.equal(await runningCount(bundle, 'stopped_early'), 1))
  stop.abort(new Error('no longer wanted'))
  await assert.rejects(asleep, { message: 'no longer wanted' })
  await eventually(async () => assert.equal(await runningCount(bundle, 'stopped_early'), 0))
})

test('a truncated answer is never taken for a complete one', async (t) => {
  const bundle = await setup(t)
  const front = await startFront(t, bundle.url)
  const client = clientOf(t, { ...bundle, url: front.url })
  const sql = 'select n from generate_series(1, 1000000) n'
  const cut = { name: 'CartageError', code: 'answer-cut', status: 0 }
  front.next('tear-answer', 'tear-answer')
  await assert.rejects(client.sql(sql), cut)
  await assert.rejects(async () => {
    for await (const _ of await client.download(sql, { format: 'csv' }));
  }, cut)
  const failing = client.rows('select 1 / (n - 100000) from generate_series(1, 200000) n')
  await assert.rejects(async () => {
    for await (const _ of failing);
  }, cut)
  assert.equal(failing.summary, undefined)
})

test('a download has the bytes of its format and reports how many have arrived', async (t) => {
  const client = clientOf(t, await setup(t))
  const told: number[] = []
  const onProgress = ({ bytes }: { bytes: number }) => told.push(bytes)
  const options = { format: 'csv', order_by: 'n', sort_order: 'desc', rows_per_page: 2, onProgress } as const
  const chunks: Uint8Array[] = []
  for await (const chunk of await client.download('select n from generate_series(1, 5) n', options))
    chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  assert.equal(text, 'n\r\n5\r\n4\r\n')
  assert.equal(told.at(-1), text.length)
})

test('sql(...).as(format) returns the bytes of a file, and the statement runs once', async (t) => {
  const client = clientOf(t, await setup(t))
  const bytesOf = async (bytes: Promise<AsyncIterable<Uint8Array>>) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of await bytes) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  const file = await bytesOf(client.sql('select 1 as n').as('parquet'))
  assert.deepEqual(
    [file.toString('latin1', 0, 4), file.toString('latin1', file.length - 4)],
    ['PAR1', 'PAR1'],
  )
  const low = 1
  assert.equal((await bytesOf(client.sql`select ${low}::int as n`.as('csv'))).toString(), 'n\r\n1\r\n')
  await client.sql('create sequence runs')
  await bytesOf(client.sql(`select nextval('runs')`).as('ndjson'))
  const { rows } = await client.sql<{ n: number }>(`select nextval('runs')::int as n`)
  assert.equal(rows[0]!.n, 2)
  const asked = client.sql('select 1')
  await asked
  assert.throws(() => asked.as('csv'), /call as\(\) right after sql\(\)/)
})

async function runningCount({ admin, user }: Setup, mark: string): Promise<number> {
  const { rows } = await admin(
    `select count(*)::integer as count from pg_stat_activity
     where state = 'active' and usename = $1 and query like '%' || $2 || '%'`,
    [user.account.masterRole, mark],
  )
  return rows[0].count
}
