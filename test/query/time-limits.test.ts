import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ask } from '../support/http/ask.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const run = promisify(execFile)

/** One row fills PostgreSQL's send buffer, so each row is sent at once. */
const wide = "repeat('x', 9000) as t"
const endless = `select generate_series(1, 1000000000) as n, ${wide}`

test('the time a client takes to read does not count towards the limit', async (t) => {
  const { user } = await setup(t, { config: { queryTimeoutMs: 1_500 } })
  for (const format of ['json', 'geojson']) {
    const q = `select n, ${wide}, null::geometry as the_geom from generate_series(1, 1500) n`
    const startedAt = performance.now()
    const { response, status } = await open(user, q, { format })
    assert.equal(status, 200)
    const text = await readSlowly(response, 2_500)
    assert.ok(performance.now() - startedAt > 2_400)
    assert.ok(text.includes('1500'), `${format} is whole`)
  }
})

test('a slow curl receives its whole answer', async (t) => {
  const { user } = await setup(t, { config: { queryTimeoutMs: 500 } })
  const rows = 2_000
  const q = `select ${wide} from generate_series(1, ${rows})`
  const { stdout } = await run(
    'curl',
    ['-s', '-S', '--limit-rate', '8M', urlOf(user, q, { format: 'ndjson' })],
    { maxBuffer: 64 * 1024 ** 2 },
  )
  assert.equal(stdout.trimEnd().split('\n').length, rows)
})

test('an answer whose rows keep flowing may last longer than the limit of a query', async (t) => {
  const { user } = await setup(t, { config: { queryTimeoutMs: 500 } })
  const startedAt = performance.now()
  const { status, body } = await ask(user, `select pg_sleep(0.03), ${wide} from generate_series(1, 50)`)
  assert.ok(performance.now() - startedAt > 1_400)
  assert.deepEqual([status, body.total_rows], [200, 50])
})

test('a query that computes for too long without a row is cancelled, also amid the rows', async (t) => {
  const bundle = await setup(t, { config: { queryTimeoutMs: 1_500 } })
  const { user } = bundle
  const pausing = `select n, ${wide}, case when n = 100 then pg_sleep(1000) end from generate_series(1, 200) n`
  const { response, status } = await open(user, pausing)
  assert.equal(status, 200)
  await assert.rejects(readSlowly(response, 0))
  await nothingIsLeft(bundle)
})

test('notices are not rows: a loop that sends them is cancelled', async (t) => {
  const bundle = await setup(t, { config: { queryTimeoutMs: 400 } })
  const startedAt = performance.now()
  const { status } = await ask(
    bundle.user,
    `do $$ begin loop raise notice '%', repeat('x', 500); perform pg_sleep(0.05); end loop; end $$`,
  )
  assert.equal(status, 429)
  assert.ok(performance.now() - startedAt < 5_000)
  await nothingIsLeft(bundle)
})

test('a client that stops reading is disconnected after the idle time of a copy, not the limit of a query', async (t) => {
  const bundle = await setup(t, { config: { copyIdleMs: 800, queryTimeoutMs: 200 } })
  const startedAt = performance.now()
  const { response } = await open(bundle.user, endless)
  response.pause()
  await nothingIsLeft(bundle)
  assert.ok(performance.now() - startedAt > 800)
  await assert.rejects(readSlowly(response, 0))
})

test("a client that reads slowly from the kernel's buffers has not stopped reading", async (t) => {
  const { user } = await setup(t, { config: { copyIdleMs: 3_000, queryTimeoutMs: 300 } })
  const { response } = await open(user, `${endless} limit 1000`)
  const { socket } = response
  response.pause()
  const startedAt = performance.now()
  let bytes = 0
  while (performance.now() - startedAt < 8_000) {
    bytes += (response.read(64 * 1024) as Buffer | null)?.length ?? 0
    await sleep(250)
  }
  assert.ok(!socket.destroyed, `cut after ${bytes} bytes`)
  bytes += (await readSlowly(response, 0)).length
  assert.ok(bytes > 9_000_000, `${bytes} bytes`)
})

test('an answer that keeps flowing ends at the limit of a copy', async (t) => {
  const bundle = await setup(t, { config: { queryTimeoutMs: 200, copyTimeoutMs: 800 } })
  const { response, status } = await open(bundle.user, `set statement_timeout = 0; ${endless}`)
  assert.equal(status, 200)
  await assert.rejects(readSlowly(response, 0))
  await nothingIsLeft(bundle)
})

test('callers without a key have the shorter limit of their copies', async (t) => {
  const bundle = await setup(t, { config: { queryTimeoutMs: 200, anonymousCopyTimeoutMs: 800 } })
  const { response, status } = await open(bundle.user, endless, { api_key: 'default_public' })
  assert.equal(status, 200)
  await assert.rejects(readSlowly(response, 0))
  await nothingIsLeft(bundle)
})

test('the text of a refusal names the limit that was reached', async (t) => {
  const { user } = await setup(t, { config: { queryTimeoutMs: 300, copyTimeoutMs: 2_000 } })
  const silent = await ask(user, 'select pg_sleep(1000)')
  assert.match(silent.body.error[0]!, /The limit: 300 ms without a row \(CARTAGE_QUERY_TIMEOUT_MS\)$/)
  const own = await ask(user, `set statement_timeout = '50ms'; select pg_sleep(1000)`)
  assert.equal(own.status, 429)
  assert.match(own.body.error[0]!, /The limit: the statement_timeout that the statement itself has set$/)
  const copied = new URLSearchParams({ q: 'copy (select pg_sleep(9)) to stdout', api_key: user.masterToken })
  const copy = await fetch(`${user.base}/api/v2/sql/copyto?${copied}`)
  const { error } = (await copy.json()) as { error: string[] }
  assert.match(error[0]!, /The limit: 2 s for the whole statement \(CARTAGE_COPY_TIMEOUT_MS\)$/)
})

function urlOf(user: TestUser, q: string, parameters: Record<string, string> = {}): string {
  return `${user.base}/api/v2/sql?${new URLSearchParams({ q, api_key: user.masterToken, ...parameters })}`
}

async function open(user: TestUser, q: string, parameters: Record<string, string> = {}) {
  const url = urlOf(user, q, parameters)
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  return { response, status: response.statusCode }
}

/** Reads the whole answer, pausing for a while after the first bytes. */
async function readSlowly(response: IncomingMessage, pauseMs: number): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) {
    if (chunks.push(chunk as Buffer) === 1) await sleep(pauseMs)
  }
  return Buffer.concat(chunks).toString()
}

async function nothingIsLeft({ admin, user, service }: Setup): Promise<void> {
  await eventually(async () => {
    const { rows } = await admin(
      `select query from pg_stat_activity where usename in ($1, $2) and state = 'active'`,
      [user.account.masterRole, user.account.publicRole],
    )
    assert.deepEqual(rows, [])
    const { open: opened, idle } = service.services.databases.query.stats()
    assert.equal(idle, opened)
  })
}
