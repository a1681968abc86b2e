import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ask } from '../support/http/ask.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const run = promisify(execFile)
/** The exit code of curl. */
const receiveError = 56
const endless = "select generate_series(1, 1000000000) as n, repeat('x', 100) as t"

test('a client that disconnects before the first row cancels its query at once', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  const hangUp = new AbortController()
  const asked = fetch(urlOf(user, 'select pg_sleep(1000)'), { signal: hangUp.signal })
  await eventually(async () => assert.equal((await runningQueries(bundle)).length, 1))
  hangUp.abort()
  await assert.rejects(asked)
  await nothingIsLeft(bundle)
})

test('a client that disconnects amid the rows leaves no query running and no connection taken', async (t) => {
  const bundle = await setup(t)
  const response = await open(urlOf(bundle.user, endless))
  await once(response, 'data')
  response.destroy()
  await nothingIsLeft(bundle)
})

test('a client that stops reading slows the server down', async (t) => {
  const bundle = await setup(t)
  const response = await open(urlOf(bundle.user, endless))
  response.pause()
  await eventually(async () => {
    const { rows } = await bundle.admin(
      `select wait_event from pg_stat_activity where usename = $1 and query like '%generate_series%'`,
      [bundle.user.account.masterRole],
    )
    assert.deepEqual(rows, [{ wait_event: 'ClientWrite' }])
  })
  response.destroy()
  await nothingIsLeft(bundle)
})

test('an answer of millions of rows takes no more memory than one of thousands', async (t) => {
  const { user } = await setup(t)
  const wide = "select generate_series(1, 1000000) as n, repeat('x', 20) as t, now() as d"
  await drain(user, `${wide} limit 200000`)
  global.gc?.()
  const before = process.memoryUsage().rss
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, 10)
  const bytes = await drain(user, wide)
  clearInterval(watch)
  assert.ok(bytes > 70_000_000, `${bytes} bytes`)
  assert.ok(peak - before < 60_000_000, `grew by ${peak - before} bytes`)
})

test('rows arrive complete: long values and many columns, across all chunks', async (t) => {
  const { user } = await setup(t)
  const { body } = await ask(
    user,
    `select n, repeat(chr(64 + n) || '"\\', n * 9000) as long, repeat(E'\\x01', 5000) as control
     from generate_series(1, 20) n`,
  )
  assert.equal(body.rows.length, 20)
  for (const { n, long, control } of body.rows as { n: number; long: string; control: string }[]) {
    assert.equal(long, `${String.fromCharCode(64 + n)}"\\`.repeat(n * 9000))
    assert.equal(control, '\x01'.repeat(5000))
  }
  const documents = await ask(
    user,
    `select d::json as text, d::jsonb as binary, array[d, d] as list
     from (select '[' || repeat(E'"x",\\n', 30000) || '1]' as d) v`,
  )
  const { text, binary, list } = documents.body.rows[0] as Record<string, string[]>
  assert.equal(text!.length, 30_001)
  assert.deepEqual(binary, text)
  assert.deepEqual(
    list!.map((each) => JSON.parse(each)),
    [text, text],
  )
  const columns = Array.from({ length: 1000 }, (_, place) => `${place} as column_number_${place}`)
  const many = await ask(user, `select ${columns.join()} from generate_series(1, 50)`)
  assert.equal(many.body.rows.length, 50)
  assert.equal(Object.keys(many.body.rows[49]!).length, 1000)
})

test('an error before the first byte is an answer, an error after it breaks the stream', async (t) => {
  const { user } = await setup(t)
  const failing = (rows: number) =>
    `select 1 / (${rows} - n) as x, repeat('x', 100) from generate_series(1, ${rows}) n`
  const early = await ask(user, failing(100))
  assert.deepEqual([early.status, early.body.error], [400, ['division by zero']])
  const late = await fetch(urlOf(user, failing(100_000)))
  assert.equal(late.status, 200)
  await assert.rejects(late.text())
  assert.equal((await ask(user, 'select 1')).status, 200)
})

test('an HTTP/1.0 client, which cannot read chunks, sees a connection reset where the rows break off', async (t) => {
  const { user } = await setup(t)
  const late = "select 1 / (50000 - n) as a, repeat('x', 100) as t from generate_series(1, 100000) n"
  for (const format of ['json', 'geojson', 'csv', 'ndjson']) {
    const sql = format === 'geojson' ? late.replace(' as a', ' as a, null::geometry as the_geom') : late
    const address = `${urlOf(user, sql)}&format=${format}`
    // Node takes a reset that comes together with data for an end.
    const asked = run('curl', ['-s', '--http1.0', '-o', '/dev/null', address])
    await assert.rejects(asked, { code: receiveError }, format)
  }
})

test('a query beyond the time limit is cancelled, and the error says so', async (t) => {
  const { user } = await setup(t, { config: { queryTimeoutMs: 300 } })
  const { status, body } = await ask(user, 'select pg_sleep(1000)')
  assert.equal(status, 429)
  assert.equal(body.context, 'limit')
  assert.equal(body.detail, 'datasource')
  assert.match(body.error[0]!, /SQL query timeout/)
})

test('neither SET statement_timeout = 0 nor many short statements lift the limit', async (t) => {
  const bundle = await setup(t, { config: { queryTimeoutMs: 300 } })
  const { user } = bundle
  const unlimited = await ask(user, 'set statement_timeout = 0; select pg_sleep(1000)')
  assert.equal(unlimited.status, 429)
  const many = await ask(user, 'select pg_sleep(0.05);'.repeat(2000))
  assert.equal(many.status, 429)
  await nothingIsLeft(bundle)
})

test('a statement that catches the cancel loses its backend', async (t) => {
  const bundle = await setup(t, { config: { queryTimeoutMs: 300 } })
  const stubborn = `set statement_timeout = 0; do $$ begin loop
    begin perform pg_sleep(1000); exception when query_canceled then null; end;
  end loop; end $$`
  const { status } = await ask(bundle.user, stubborn)
  assert.equal(status, 429)
  await nothingIsLeft(bundle)
  assert.equal((await ask(bundle.user, 'select 1')).status, 200)
})

test('a limit that is reached amid the rows breaks the stream', async (t) => {
  const bundle = await setup(t, { config: { queryTimeoutMs: 500, copyTimeoutMs: 500 } })
  const response = await fetch(urlOf(bundle.user, `set statement_timeout = 0; ${endless}`))
  assert.equal(response.status, 200)
  await assert.rejects(response.text())
  await nothingIsLeft(bundle)
})

test('a query that ends its own backend gets an error, and the next query is served', async (t) => {
  const { user } = await setup(t, { config: { connectionsPerRole: 1 } })
  const { status } = await ask(user, 'select pg_terminate_backend(pg_backend_pid())')
  assert.equal(status, 503)
  await eventually(async () => assert.equal((await ask(user, 'select 1')).status, 200))
})

function urlOf(user: TestUser, q: string): string {
  return `${user.base}/api/v2/sql?${new URLSearchParams({ q, api_key: user.masterToken })}`
}

async function open(url: string): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  return response
}

async function drain(user: TestUser, q: string): Promise<number> {
  let bytes = 0
  const response = await open(urlOf(user, q))
  for await (const chunk of response) bytes += (chunk as Buffer).length
  return bytes
}

async function runningQueries({ admin, user }: Setup): Promise<unknown[]> {
  const { rows } = await admin(`select query from pg_stat_activity where usename = $1 and state = 'active'`, [
    user.account.masterRole,
  ])
  return rows
}

async function nothingIsLeft(bundle: Setup): Promise<void> {
  const { query } = bundle.service.services.databases
  await eventually(async () => {
    assert.deepEqual(await runningQueries(bundle), [])
    const { open: opened, idle } = query.stats()
    assert.equal(idle, opened)
  })
}
