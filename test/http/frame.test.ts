import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Config } from '../../src/config/config.ts'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { basic, eventually, type Setup, setup } from '../support/service/setup.ts'

test('GET /health/live and /health/ready answer 200 while the service is healthy', async (t) => {
  const { url } = await setup(t)
  assert.equal((await fetch(`${url}/health/live`)).status, 200)
  const ready = await fetch(`${url}/health/ready`)
  assert.equal(ready.status, 200)
  const { replication, imports, ...verdicts } = (await ready.json()) as {
    replication: { local: { role: string } }
    imports: string
  }
  assert.match(imports, /GDAL/)
  assert.deepEqual(verdicts, { status: 'ok', control: 'ok', hosts: { local: 'ok' } })
  assert.equal(replication.local.role, 'primary')
})

test('an unknown path is 404 in the error format of its endpoints', async (t) => {
  const { url, user } = await setup(t)
  const sql = await fetch(`${url}/nowhere`)
  assert.equal(sql.status, 404)
  assert.deepEqual(await sql.json(), { error: ['Not found'], code: 'path-unknown' })
  const keys = await fetch(`${user.base}/api/v3/nowhere`)
  assert.equal(keys.status, 404)
  assert.deepEqual(await keys.json(), { errors: 'Not found', errors_cause: null })
})

test('a request id is accepted only if it is harmless, and always sent back', async (t) => {
  const { url } = await setup(t)
  const echoed = async (id: string) =>
    (await fetch(`${url}/health/live`, { headers: { 'x-request-id': id } })).headers.get('x-request-id')
  assert.equal(await echoed('my-id_1.2'), 'my-id_1.2')
  for (const bad of ['a b', 'x'.repeat(129), '<script>', 'a"b']) {
    const id = await echoed(bad)
    assert.notEqual(id, bad)
    assert.match(id!, /^[0-9a-f-]{36}$/)
  }
})

test('pipelined requests on one connection are answered in order, each completely', async (t) => {
  const { url, user } = await setup(t)
  const { hostname, port, pathname } = new URL(user.base)
  const ask = (sql: string, rest = '') =>
    `GET ${pathname}/api/v2/sql?q=${encodeURIComponent(sql)}&api_key=${user.masterToken} HTTP/1.1\r\nHost: x\r\n${rest}\r\n`
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  socket.write(
    ask(`select 'late' as a from pg_sleep(0.2)`) +
      ask(`select 'é€' as a`) +
      `HEAD ${new URL(url).pathname}health/live HTTP/1.1\r\nHost: x\r\n\r\n` +
      ask('select no_column') +
      ask(`select 'last' as a`, 'Connection: close\r\n'),
  )
  let text = ''
  for await (const chunk of socket) text += chunk
  const answers = text.split(/(?=HTTP\/1\.1 )/).map((answer) => {
    const [head, body] = answer.split('\r\n\r\n') as [string, string]
    return { status: head.slice(9, 12), length: Number(/content-length: (\d+)/i.exec(head)?.[1]), body }
  })
  for (const [place, { length, body }] of answers.entries())
    if (place !== 2) assert.equal(Buffer.byteLength(body), length)
  assert.deepEqual(
    answers.map(({ status, body }) => [status, /"(late|é€|last)"/.exec(body)?.[1]]),
    [
      ['200', 'late'],
      ['200', 'é€'],
      ['200', undefined],
      ['400', undefined],
      ['200', 'last'],
    ],
  )
})

test('an unread body, short or long, does not block the next request', async (t) => {
  const { url } = await setup(t)
  const { hostname, port } = new URL(url)
  const send = (method: string, path: string, body: string, rest = '') =>
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${rest}\r\n${body}`
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  socket.write(
    send('GET', '/health/live', 'unread') +
      send('GET', '/health/live', 'x'.repeat(300_000)) +
      send('GET', '/nowhere', 'x') +
      send('GET', '/health/live', '', 'Connection: close\r\n'),
  )
  let text = ''
  for await (const chunk of socket) text += chunk
  assert.deepEqual(text.match(/(?<=HTTP\/1\.1 )\d+/g), ['200', '200', '404', '200'])
})

test('a bad percent-encoding in the path is a plain 400', async (t) => {
  const { url } = await setup(t)
  const response = await fetch(`${url}/user/%E0%A4%A/api/v2/sql`)
  assert.equal(response.status, 400)
})

test('no credential appears in the log, whether sent in a header, query or body', async (t) => {
  const house = await setup(t)
  const { url, lines } = await listenedTo(t, house)
  const secret = 'cartage_very-secret-token'
  const base = `${url}/user/${house.user.username}`
  await fetch(`${base}/api/v3/api_keys?api_key=${secret}`)
  await fetch(`${base}/api/v3/api_keys`, { headers: basic(house.user.username, secret) })
  await fetch(`${url}/admin/v1/users`, { headers: { authorization: `Bearer ${secret}` } })
  await fetch(`${base}/api/v2/sql/job`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: secret, query: 'select 1' }),
  })
  await fetch(`${base}/nowhere?api_key=${secret}&map_key=${secret}`)
  await eventually(() => assert.ok(lines.length >= 5))
  const log = lines.join('')
  assert.ok(!log.includes(secret), 'the token is in the log')
  assert.ok(
    !log.includes(Buffer.from(`${house.user.username}:${secret}`).toString('base64')),
    'the header is in the log',
  )
  assert.match(log, /api_keys\?api_key"/)
})

test('a client that never ends its body to an unknown path or method is disconnected after the answer', async (t) => {
  const house = await setup(t)
  const { url, lines } = await listenedTo(t, house, { requestTimeoutMs: 300 })
  const secret = 'cartage_very-secret-token'
  const sockets = ['/nowhere', '/api/v2/sql/copyfrom', '/api/v2/sql'].map((path) =>
    sendHalf(t, new URL(url), `GET /user/${house.user.username}${path}?api_key=${secret}`),
  )
  for (const { answer } of sockets) assert.match(await answer, /^HTTP\/1\.1 40[145] /)
  // The time limit of the earlier requests has passed by then, too.
  const late = sendHalf(t, new URL(url), 'POST /admin/v1/users', house.keys.adminToken)
  assert.match(await late.answer, /^HTTP\/1\.1 408 /)
  for (const { closed } of sockets) await closed
  await eventually(() => assert.ok(lines.length >= 4))
  assert.ok(!lines.join('').includes(secret), lines.join(''))
})

test('a client that sends its body too slowly gets 408', async (t) => {
  const house = await setup(t, { config: { requestTimeoutMs: 300 } })
  const { answer } = sendHalf(t, new URL(house.url), 'POST /admin/v1/users', house.keys.adminToken)
  assert.match(await answer, /^HTTP\/1\.1 408 /)
})

test('compressed JSON and form bodies are 415', async (t) => {
  const { url, keys } = await setup(t)
  const response = await fetch(`${url}/admin/v1/users`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${keys.adminToken}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    },
    body: 'x',
  })
  assert.equal(response.status, 415)
})

test('an unreachable database is 503, and the service continues when it is back', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { databases } = house.service.services
  await house.admin(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'cartage control%' and datname = $1`,
    [house.service.services.config.namespace],
  )
  await eventually(async () => assert.equal((await fetch(`${house.url}/health/ready`)).status, 200))
  assert.ok(databases.control.totalCount > 0)
})

test('after stop nothing answers, and all connections of the process are closed', async (t) => {
  const house = await setup(t)
  const { url, service } = await listenedTo(t, house)
  assert.equal((await fetch(`${url}/health/live`)).status, 200)
  await service.stop()
  await assert.rejects(fetch(`${url}/health/live`))
})

/** A request with the first character of its body. */
function sendHalf(t: TestContext, { port }: URL, request: string, adminToken = '') {
  const headers = `Host: x\r\nAuthorization: Bearer ${adminToken}\r\nContent-Type: application/json\r\nContent-Length: 100`
  const socket = connect(Number(port), '127.0.0.1', () =>
    socket.write(`${request} HTTP/1.1\r\n${headers}\r\n\r\n{`),
  )
  t.after(() => socket.destroy())
  const signal = AbortSignal.timeout(20_000)
  return {
    answer: once(socket, 'data', { signal }).then(([chunk]) => String(chunk)),
    closed: once(socket, 'close', { signal }),
  }
}

async function listenedTo(t: Parameters<typeof setup>[0], house: Setup, over: Partial<Config> = {}) {
  const lines: string[] = []
  const log = createLog('trace', { write: (line) => void lines.push(line) })
  const service = await startService(
    { ...house.service.services.config, ...over },
    house.keys,
    { http: true, worker: false },
    log,
  )
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    await service.stop()
  }
  t.after(stop)
  return { url: service.url, service: { stop }, lines }
}
