import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../../support/http/ask.ts'
import { eventually, setup, type TestUser } from '../../support/service/setup.ts'

const million = 1_000_000
/** A high limit, so that a busy machine does not reach it. */
const patient = { config: { queryTimeoutMs: 120_000 } }

test('a row beyond the limit is refused in every format, and the answer says how to get it', async (t) => {
  const { user } = await setup(t, { config: { queryMaxRowBytes: million * 2 } })
  for (const format of ['json', 'csv', 'ndjson', 'geojson']) {
    const geometry = format === 'geojson' ? ', null::geometry as the_geom' : ''
    const { status, text } = await ask(user, `select repeat('x', ${3 * million}) as a${geometry}`, { format })
    const { error, hint, code } = JSON.parse(text)
    assert.deepEqual(
      [status, code, error],
      [400, 'row-too-large', ['A row of the answer is larger than 2000000 bytes']],
    )
    assert.match(hint, /copyto/)
  }
  const late = `select repeat('x', case n when 5000 then ${3 * million} else 100 end) from generate_series(1, 5000) n`
  await assert.rejects(ask(user, late), /terminated/)
  assert.equal((await ask(user, 'select 1')).status, 200)
})

test('values of hundreds of megabytes delay no one else and do not fill memory', async (t) => {
  const { user, createUser } = await setup(t, patient)
  const other = await createUser()
  for (const q of [
    `select repeat('x', 200000000)`,
    `select repeat('x', 60000000), repeat('y', 60000000)`,
    `select array_fill(1, array[20000000])`,
    `do $$ begin raise notice '%', repeat('x', 100000000); end $$; select 1 as a`,
    `do $$ begin raise exception '%', repeat('x', 100000000); end $$`,
    `copy (select repeat('x', 100000000)) to stdout`,
  ]) {
    const watch = await watchProcess(t, other)
    const { status, text } = await ask(user, q)
    assert.equal(status, q.includes('raise notice') ? 200 : 400, text.slice(0, 200))
    assert.ok(text.length < 100_000, `${text.length} characters`)
    await watch.end(q)
  }
})

test('a copy of one huge value is streamed', async (t) => {
  const { user, createUser } = await setup(t, patient)
  const other = await createUser()
  const watch = await watchProcess(t, other)
  const q = `copy (select repeat('x', 200000000)) to stdout`
  const url = `${user.base}/api/v2/sql/copyto?${new URLSearchParams({ q, api_key: user.masterToken })}`
  assert.equal(await drain(await open(url)), 200_000_001)
  await watch.end(q)
})

test('a long row below the limit is complete, and other requests are served while it is written', async (t) => {
  const { user, createUser } = await setup(t, patient)
  const other = await createUser()
  const values: Record<string, string> = {
    text: `repeat(E'a"\\n', 2000000)`,
    csvText: `repeat(E'a"\\n', 2000000)`,
    control: `repeat(E'\\x01', 6000000)`,
    json: `('[' || repeat(E'1,\\n', 1600000) || '1]')::json`,
    jsonb: `('[' || repeat(E'1,', 1600000) || '1]')::jsonb`,
    ints: `array_fill(1, array[2800000])`,
    texts: `array_fill('a"b'::text, array[800000])`,
    longTexts: `array[repeat('"', 1600000), repeat('x', 1600000)]`,
  }
  for (const [name, value] of Object.entries(values)) {
    const watch = await watchProcess(t, other)
    const format = name.startsWith('csv') ? 'csv' : 'json'
    const q = `select 1 as n, ${value} as v, 2 as m`
    const bytes = await drain(
      await open(`${user.base}/api/v2/sql?${new URLSearchParams({ q, format, api_key: user.masterToken })}`),
    )
    assert.ok(bytes > 3 * million, `${name}: ${bytes} bytes`)
    await watch.end(name)
  }
})

test('long rows are written as PostgreSQL has them', async (t) => {
  const { user } = await setup(t)
  const q = `select n, repeat(n || E'"\\\\\\x01é', 200000) as text, array[repeat('a"b', 300000), null, n::text] as list,
    array_fill(n, array[2, 200000]) as grid, null as nothing,
    jsonb_build_array(repeat('j', 1000000)) as doc from generate_series(1, 3) n`
  const { body } = await ask(user, q)
  assert.equal(body.rows.length, 3)
  for (const row of body.rows as Record<string, unknown>[]) {
    const n = row.n as number
    assert.equal(row.text, `${n}"\\\x01é`.repeat(200_000))
    assert.deepEqual(row.list, ['a"b'.repeat(300_000), null, String(n)])
    assert.deepEqual(row.grid, [Array(200_000).fill(n), Array(200_000).fill(n)])
    assert.deepEqual([row.nothing, row.doc], [null, ['j'.repeat(million)]])
  }
  const { text } = await ask(user, q, { format: 'csv' })
  const line = `1,"${'1""\\\x01é'.repeat(200_000)}","{""${'a\\""b'.repeat(300_000)}"",NULL,1}"`
  assert.ok(text.slice(text.indexOf('\r\n') + 2).startsWith(line))
  assert.equal((await ask(user, q, { format: 'ndjson' })).text.split('\n').length, 4)
  const binary = `begin; declare c binary cursor for
    select decode(repeat('00ff', 1000000), 'hex') as b; fetch all from c; commit`
  const fetched = await ask(user, binary)
  assert.equal(fetched.body.rows[0]!.b, `\\x${'00ff'.repeat(million)}`)
  const csv = await ask(user, binary, { format: 'csv' })
  assert.equal(csv.text, `b\r\n\\x${'00ff'.repeat(million)}\r\n`)
})

test('a client that disconnects amid a long row leaves nothing behind', async (t) => {
  const { user, service } = await setup(t)
  const url = `${user.base}/api/v2/sql?${new URLSearchParams({
    q: `select repeat('x', 20000000) from generate_series(1, 100)`,
    api_key: user.masterToken,
  })}`
  for (let turn = 0; turn < 5; turn += 1) {
    const response = await open(url)
    await once(response, 'readable')
    response.destroy()
  }
  await eventually(() => {
    const { open: opened, idle } = service.services.databases.query.stats()
    assert.equal(idle, opened)
  })
  assert.equal((await ask(user, 'select 1')).status, 200)
})

/** Watches the process and sends requests of another account until the end. */
async function watchProcess(t: TestContext, other: TestUser) {
  global.gc?.()
  // The usual time of a request, on a machine that may be busy.
  const usualMs = await timeOf(other)
  const before = process.memoryUsage().rss
  const begunAt = performance.now()
  const longestStall = watchStalls()
  let slowestMs = 0
  let peak = before
  let isWatching = true
  t.after(() => {
    isWatching = false
  })
  const asking = (async () => {
    while (isWatching) {
      slowestMs = Math.max(slowestMs, await timeOf(other))
      peak = Math.max(peak, process.memoryUsage().rss)
      await sleep(20)
    }
  })()
  return {
    async end(what: string): Promise<void> {
      const tookMs = performance.now() - begunAt
      isWatching = false
      await asking
      const grownBy = Math.round((peak - before) / million)
      const stalledMs = Math.round(longestStall())
      assert.ok(stalledMs < 1_000, `${what}: stalled for ${stalledMs} ms`)
      // On a busy machine both take longer, but no one waits for the whole row.
      assert.ok(
        slowestMs < Math.max(2_000 + 5 * usualMs, tookMs / 2),
        `${what}: another account waited for ${Math.round(slowestMs)} ms`,
      )
      assert.ok(grownBy < 250, `${what}: grew by ${grownBy} MB`)
    },
  }
}

async function timeOf(user: TestUser): Promise<number> {
  const startedAt = performance.now()
  const { status } = await ask(user, 'select 1')
  assert.equal(status, 200)
  return performance.now() - startedAt
}

/**
 * The returned function stops the watch and returns the longest time that the process blocked its event loop. Time
 * without a core, taken by other processes, is not counted.
 */
function watchStalls(): () => number {
  let longestMs = 0
  let [turnedAt, used] = [performance.now(), process.cpuUsage()]
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(used)
    longestMs = Math.max(longestMs, Math.min(performance.now() - turnedAt, (user + system) / 1000))
    ;[turnedAt, used] = [performance.now(), process.cpuUsage()]
  }, 5).unref()
  return () => {
    clearInterval(timer)
    return longestMs
  }
}

async function open(url: string): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  return response
}

async function drain(response: IncomingMessage): Promise<number> {
  let bytes = 0
  for await (const chunk of response) bytes += (chunk as Buffer).length
  return bytes
}
