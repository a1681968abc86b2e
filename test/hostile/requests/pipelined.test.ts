import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openRaw, pathOf, rawRequest } from '../../support/http/raw-request.ts'
import { eventually, type Setup, setup } from '../../support/service/setup.ts'

const endless = 'copy (select pg_sleep(600)) to stdout'

test('a copy that waits on a slow request of its connection ends when its client disconnects', async (t) => {
  const house = await setup(t)
  const { user, url } = house
  const { socket } = await openRaw(t, url)
  const slow = rawRequest({ path: pathOf(user, '/api/v2/sql', { q: 'select pg_sleep(1)' }) })
  const copy = rawRequest({ path: pathOf(user, '/api/v2/sql/copyto', { q: endless }) })
  socket.write(slow + copy)
  await eventually(async () => assert.ok((await running(house)) >= 1))
  // Not before its turn.
  await eventually(async () => assert.deepEqual(await statements(house), [endless]))
  socket.destroy()
  await eventually(async () => assert.equal(await running(house), 0), 5_000)
})

test('a request that waits for another one never starts once its client has disconnected', async (t) => {
  const house = await setup(t)
  const { user, url } = house
  const { socket } = await openRaw(t, url)
  const slow = rawRequest({ path: pathOf(user, '/api/v2/sql', { q: 'select pg_sleep(600)' }) })
  const copy = rawRequest({ path: pathOf(user, '/api/v2/sql/copyto', { q: endless }) })
  socket.write(slow + copy.repeat(3))
  await eventually(async () => assert.equal(await running(house), 1))
  socket.destroy()
  await eventually(async () => assert.equal(await running(house), 0), 5_000)
  assert.deepEqual(await statements(house), [])
})

test('pipelined requests are answered in order, each with its own answer', async (t) => {
  const { user, url } = await setup(t)
  const { socket, text } = await openRaw(t, url)
  const numbers = Array.from({ length: 400 }, (_, n) => n)
  const ask = (q: string) => rawRequest({ path: pathOf(user, '/api/v2/sql', { q }) })
  // One of the failing requests is a copy that has begun.
  const broken = rawRequest({
    path: pathOf(user, '/api/v2/sql/copyto', { q: 'copy (select 1/0) to stdout' }),
  })
  socket.write(numbers.map((n) => (n % 100 === 99 ? broken : ask(`select ${n} as n`))).join(''))
  await eventually(() => assert.equal(text().match(/HTTP\/1.1 /g)?.length, 400), 60_000)
  const answered = text().match(/"n":\d+|division by zero/g)
  assert.deepEqual(
    answered,
    numbers.map((n) => (n % 100 === 99 ? 'division by zero' : `"n":${n}`)),
  )
})

test('on both loopback addresses of localhost a connection runs one request at a time', async (t) => {
  const house = await setup(t, { config: { host: 'localhost' } })
  const { user, url } = house
  for (const address of ['127.0.0.1', '::1']) {
    const { socket } = await openRaw(t, url, address)
    const slow = rawRequest({ path: pathOf(user, '/api/v2/sql', { q: 'select pg_sleep(600)' }) })
    socket.write(slow.repeat(3))
    await eventually(async () => assert.equal(await running(house), 1))
    // Requests that came with the first would have begun by now.
    const { socket: late, text } = await openRaw(t, url, address)
    late.write(rawRequest({ path: pathOf(user, '/api/v2/sql', { q: 'select 7 as n' }) }))
    await eventually(() => assert.match(text(), /"n":7/))
    assert.equal(await running(house), 1)
    socket.destroy()
    await eventually(async () => assert.equal(await running(house), 0), 5_000)
  }
})

test('a client that sends a flood behind a request that never ends is disconnected', async (t) => {
  const house = await setup(t, { config: { requestTimeoutMs: 1_000 } })
  const { user, url } = house
  const { socket, closed } = await openRaw(t, url)
  const first = rawRequest({ path: pathOf(user, '/api/v2/sql/copyto', { q: endless }) })
  socket.write(first + rawRequest({ path: '/health/live' }).repeat(5_000))
  await closed
  await eventually(async () => assert.equal(await running(house), 0), 5_000)
})

const refusals = {
  '415': { path: '/api/v2/sql', headers: { 'Content-Encoding': 'gzip' } },
  '401': { path: '/api/v2/sql?q=select+1&api_key=wrong', method: 'GET' },
  '400': { path: '/api/v2/sql?q=%00' },
  '413': { path: '/api/v2/sql/job', headers: { 'Content-Length': 10_000_000 } },
  '200': { path: '/api/v2/sql?q=select+1', method: 'GET' },
  '403': { path: '/api/v2/sql/job', headers: { Expect: 'a miracle' } },
} as const

test('after an answer, a body that does not arrive keeps its connection only for a moment', async (t) => {
  const { user, url } = await setup(t, { config: { requestTimeoutMs: 1_000 } })
  const { pathname } = new URL(user.base)
  await Promise.all(
    Object.entries(refusals).map(async ([status, refused]) => {
      const { socket, text, closed } = await openRaw(t, url)
      const headers = { 'Content-Length': 1_000, 'Content-Type': 'application/json' }
      const request = { method: 'POST', ...refused, path: pathname + refused.path }
      socket.write(
        rawRequest({ ...request, headers: { ...headers, ...('headers' in refused && refused.headers) } }),
      )
      const drip = setInterval(() => socket.write('x'), 100)
      t.after(() => clearInterval(drip))
      const isClosed = await Promise.race([closed.then(() => true), sleep(8_000, false, { ref: false })])
      assert.ok(isClosed, `${status} is still open`)
      clearInterval(drip)
      assert.match(
        text(),
        status === '403' ? /^HTTP\/1.1 (4\d\d)/ : new RegExp(`^HTTP/1.1 ${status}`),
        status,
      )
    }),
  )
})

test('a connection may have any number of requests that were answered early or had to wait', async (t) => {
  const { url } = await setup(t)
  const warnings: string[] = []
  const note = (warning: Error) => warnings.push(warning.message)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const { socket, text } = await openRaw(t, url)
  const answered = async (count: number) => {
    await eventually(() => assert.equal(text().match(/HTTP\/1.1 /g)?.length, count))
  }
  for (let round = 1; round <= 15; round++) {
    socket.write(rawRequest({ path: '/health/live', headers: { 'Content-Length': 1 } }))
    await answered(41 * round - 40)
    socket.write(`x${rawRequest({ path: '/health/live' }).repeat(40)}`)
    await answered(41 * round)
  }
  // Node warns of a connection with more than ten listeners of a kind.
  assert.deepEqual(warnings, [])
})

async function statements({ admin, user }: Setup): Promise<string[]> {
  const { rows } = await admin(
    `select query from pg_stat_activity where datname = $1 and state = 'active' and query ~ 'pg_sleep'`,
    [user.account.database],
  )
  return rows.map(({ query }) => query as string)
}

const running = async (house: Setup) => (await statements(house)).length
