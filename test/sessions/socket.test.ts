import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as sendRequest } from 'node:http'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { ask } from '../support/http/ask.ts'
import { openSession, SessionSocket, socketUrl } from '../support/http/session-socket.ts'
import { basic, eventually, type Setup, setup } from '../support/service/setup.ts'

test('the first message has the token; the answer has the user and the limits', async (t) => {
  const { user } = await setup(t)
  const session = new SessionSocket(t, socketUrl(user))
  await once(session.socket, 'open')
  session.send({ type: 'open', token: user.masterToken })
  const opened = await session.until('opened')
  assert.equal(opened.username, user.username)
  assert.deepEqual(opened.limits, {
    statement_ms: 25_000,
    idle_ms: 60_000,
    transaction_idle_ms: 15_000,
    session_ms: 3_600_000,
  })
  // A client need not wait for that answer.
  const eager = new SessionSocket(t, socketUrl(user).replace('/user/', '/u/'))
  await once(eager.socket, 'open')
  eager.send({ type: 'open', token: user.masterToken })
  assert.deepEqual((await eager.run('select 1 as n')).rows, [{ n: 1 }])
})

test('a token in the URL is refused, and one in a header is ignored', async (t) => {
  const { user } = await setup(t)
  for (const name of ['api_key', 'map_key']) {
    const socket = new WebSocket(`${socketUrl(user)}?${name}=${user.masterToken}`)
    const [, response] = await once(socket, 'unexpected-response')
    assert.equal(response.statusCode, 400)
    const body = JSON.parse((await response.toArray()).join(''))
    assert.match(body.error[0], /first message/)
  }
  const session = new SessionSocket(t, socketUrl(user), {
    headers: basic(user.username, user.masterToken),
  })
  await once(session.socket, 'open')
  session.send({ type: 'open' })
  await session.until('opened')
  assert.equal((await session.run('create table t (x int)')).last.code, 'statement-not-allowed')
})

test('a wrong token, an unknown user and any other first message are refused', async (t) => {
  const { user, createUser } = await setup(t)
  const other = await createUser()
  const refused = async (url: string, message: unknown) => {
    const session = new SessionSocket(t, url)
    await once(session.socket, 'open')
    session.send(message)
    const { type, status, code } = await session.until('error', 'opened')
    assert.equal(type, 'error')
    assert.equal(await session.closed, 4001)
    return [status, code]
  }
  const url = socketUrl(user)
  assert.deepEqual(await refused(url, { type: 'open', token: 'wrong' }), [401, 'unauthorized'])
  assert.deepEqual(await refused(url, { type: 'open', token: other.masterToken }), [401, 'unauthorized'])
  assert.deepEqual(await refused(url, { type: 'open', token: 7 }), [401, 'unauthorized'])
  assert.deepEqual(await refused(url, { type: 'open', token: user.masterToken, username: other.username }), [
    403,
    'permission-denied',
  ])
  assert.deepEqual(await refused(url.replace(user.username, 'nobody-at-all'), { type: 'open' }), [
    404,
    'user-unknown',
  ])
  assert.deepEqual(await refused(url, { type: 'query', id: 1, q: 'select 1' }), [400, 'bad-request'])
  assert.deepEqual(await refused(url, 'nonsense'), [400, 'bad-request'])
  assert.deepEqual(await refused(url, { type: 'open', token: 'x'.repeat(20_000) }), [413, 'body-too-large'])
})

test("a member of an organization opens a session on the member's path", async (t) => {
  const house = await setup(t)
  const { name, owner } = await house.createOrganization()
  const onPath = { ...owner, base: owner.base.replace(owner.username, name) }
  const session = await openSession(t, onPath, { username: owner.username })
  assert.deepEqual((await session.run('select current_user::text as role')).rows, [
    { role: owner.account.masterRole },
  ])
  await assert.rejects(openSession(t, onPath, { token: '' }), { status: 401 })
})

test('a client that sends no token is refused after 5 seconds', async (t) => {
  const { user } = await setup(t)
  const session = new SessionSocket(t, socketUrl(user))
  await once(session.socket, 'open')
  const startedAt = performance.now()
  const { code, status } = await session.until('error')
  assert.deepEqual([code, status], ['client-too-slow', 408])
  assert.equal(await session.closed, 4001)
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs > 4_000 && tookMs < 8_000, `${tookMs} ms`)
})

test('no PostgreSQL connection is taken before the first statement', async (t) => {
  const house = await setup(t)
  const session = await openSession(t, house.user)
  assert.equal(await connectionsOf(house), 0)
  await session.run('select 1')
  assert.equal(await connectionsOf(house), 1)
  session.socket.close()
  await eventually(async () => assert.equal(await connectionsOf(house), 0))
})

test('bad messages are answered with an error, and the session continues', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  await session.run('set application_name = same')
  for (const message of [
    'nonsense',
    '[]',
    'null',
    '"text"',
    '{"type":"query","id":1,"q":"select 1"',
    '{"type":"subscribe"}',
    '{"type":"constructor"}',
    '{"type":["query"]}',
    '{"type":"open"}',
    '{"type":"query","q":"select 1"}',
    '{"type":"query","id":{},"q":"select 1"}',
    `{"type":"query","id":"${'x'.repeat(100)}","q":"select 1"}`,
    '{"type":"query","id":1}',
    '{"type":"query","id":1,"q":""}',
    '{"type":"query","id":1,"q":7}',
    '{"type":"query","id":1,"q":"select 1","rows_per_page":1}',
    '{"type":"query","id":1,"q":"select 1","format":"shp"}',
    '{"type":"query","id":1,"q":"select 1","params":{}}',
    '{"type":"query","id":1,"q":"select \'\\u0000\'"}',
  ]) {
    session.send(message)
    const { type, status } = await session.until('error', 'done')
    assert.deepEqual([type, status], ['error', 400], message)
  }
  session.socket.send(Buffer.from('{"type":"cancel"}'), { binary: true })
  assert.match((await session.until('error')).error[0]!, /binary/)
  assert.deepEqual((await session.run('show application_name')).rows, [{ application_name: 'same' }])
})

test('a message as large as a body of the SQL endpoint is accepted, a larger one closes the session', async (t) => {
  const { user } = await setup(t, { config: { queryMaxBodyBytes: 2 * 1024 ** 2 } })
  const session = await openSession(t, user)
  const long = `select ${"'\u00e6\\n'||".repeat(100)}length('${'x'.repeat(1024 ** 2)}') as n`
  const { last, rows } = await session.run(long.replaceAll('\\n', '\n'))
  assert.equal(last.type, 'done', last.error?.[0])
  assert.match(String(rows[0]?.n), /1048576$/)
  session.begin('select $1', { params: ['x'.repeat(600_000)] })
  assert.equal((await session.until('error')).code, 'params-too-large')
  session.begin(`select '${'x'.repeat(3 * 1024 ** 2)}'`)
  assert.equal(await session.closed, 1009)
})

test('requests to upgrade to another protocol are treated as ordinary requests', async (t) => {
  const { user } = await setup(t)
  const plain = await fetch(`${user.base}/api/v4/session`)
  assert.deepEqual([plain.status, ((await plain.json()) as { code: string }).code], [400, 'bad-request'])
  const body = JSON.stringify({ q: 'select 1 as n', api_key: user.masterToken })
  for (const upgrade of ['h2c', 'websocket']) {
    const outgoing = sendRequest(`${user.base}/api/v2/sql`, {
      method: 'POST',
      headers: {
        connection: 'upgrade',
        upgrade,
        'content-type': 'application/json',
        'content-length': body.length,
      },
    })
    outgoing.end(body)
    const [response] = await once(outgoing, 'response')
    const answer = JSON.parse((await response.toArray()).join(''))
    assert.deepEqual([response.statusCode, answer.rows], [200, [{ n: 1 }]], upgrade)
  }
})

test('pages of any origin may open a session, like the rest of the API', async (t) => {
  const { user } = await setup(t)
  const session = new SessionSocket(t, socketUrl(user), { headers: { origin: 'https://maps.example' } })
  await once(session.socket, 'open')
  session.send({ type: 'open', token: user.masterToken })
  await session.until('opened')
})

test('each statement counts towards the rate limit of the SQL endpoint', async (t) => {
  const { user } = await setup(t, { config: { rateLimitSql: { count: 2, seconds: 3600, burst: 2 } } })
  const session = await openSession(t, user)
  await session.run('select 1')
  assert.equal((await ask(user, 'select 1')).status, 200)
  const { last } = await session.run('select 1')
  assert.deepEqual([last.code, last.status], ['rate-limited', 429])
  assert.ok((last as { retry_after?: number }).retry_after! > 0)
})

test("without a key only listed statements run, whatever the session's settings are", async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user, { token: '' })
  for (const text of ['lock table pg_class', 'set timezone = utc', 'create table t (x int)', 'discard all']) {
    const { last } = await session.run(text)
    assert.deepEqual([last.code, last.status], ['statement-not-allowed', 403], text)
  }
  await session.run('begin')
  // Otherwise a backslash would begin an escape, and a string of the next text would end elsewhere.
  const changed = await session.run("select set_config('standard_conforming_strings', 'off', false)")
  assert.deepEqual([changed.last.type, changed.last.code], ['error', 'setting-fixed'])
  assert.equal((await session.until('lost')).code, 'session-lost')
  assert.equal(await session.closed, 4000)
})

test('a session whose client_encoding was changed ends', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  assert.equal((await session.run("set client_encoding = 'latin1'")).last.code, 'client-encoding-fixed')
  assert.match((await session.until('lost')).error[0]!, /client_encoding/)
})

async function connectionsOf({ admin, user }: Setup): Promise<number> {
  const { rowCount } = await admin(
    `select from pg_stat_activity where usename = $1 and application_name = 'cartage session'`,
    [user.account.masterRole],
  )
  return rowCount ?? 0
}
