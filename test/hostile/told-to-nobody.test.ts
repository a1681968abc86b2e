import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { basic, eventually, type Setup, setup } from '../support/service/setup.ts'

const secret = 'cartage_Sb1gF0xNotForLogs-4711'
/** Chosen by the operator: it looks like any word. */
const chosen = 'NotForLogsEither-4711'

test('a token appears in no log, wherever it is in a request', async (t) => {
  const house = await setup(t)
  const { url, lines } = await listenedTo(t, house)
  const base = `${url}/user/${house.user.username}`
  const encoded = [...secret].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('')
  const places: readonly (readonly [string, RequestInit?])[] = [
    [`${base}/api/v2/sql?${secret}`],
    [`${base}/api/v2/sql?q=select+1&${secret}=`],
    [`${base}/api/v2/sql?q=select+1&${encoded}&api_key=${encoded}`],
    [`${base}/api/v3/api_keys/${secret}`],
    [`${base}/api/v2/sql/job/${secret}`],
    [`${base}/api/v1/viz/${secret}`],
    [`${url}/user/${secret}/api/v2/sql?q=select+1`],
    [`${url}/${secret}`],
    [`${url}/${encoded}/api?${secret}`],
    [`${url}/user/%E0%A4%A/${secret}`],
    [`${base}/api/v2/sql/copyfrom?api_key=${secret}`, { method: 'PUT', body: 'x' }],
    [`${base}/api/v2/sql?q=select+1`, { headers: { 'x-request-id': secret } }],
    [
      `${base}/api/v2/sql?q=select+1&api_key=plain-${secret}`,
      { headers: { 'x-request-id': `plain-${secret}` } },
    ],
    [
      `${base}/api/v2/sql?q=select+1`,
      { headers: { ...basic(house.user.username, chosen), 'x-request-id': chosen } },
    ],
    [
      `${url}/admin/v1/users/${secret}`,
      { headers: { authorization: `Bearer ${chosen}`, 'x-request-id': chosen } },
    ],
    [`${base}/api/v2/sql?q=${encodeURIComponent(`select '${secret}'::int`)}`],
  ]
  for (const [address, init] of places) await (await fetch(address, init)).text()
  await eventually(() =>
    assert.ok(lines.filter((line) => line.includes('"request"')).length >= places.length - 1),
  )
  for (const line of lines)
    for (const token of [secret, encoded, chosen]) assert.ok(!line.includes(token), line)
  assert.match(lines.join(''), new RegExp(`"url":"/user/${house.user.username}/api/v2/sql\\?q"`))
})

test('no answer repeats the token of its request, whatever is wrong with the address', async (t) => {
  const { url, user } = await setup(t)
  const names = [user.username, 'nobody', '%ff', 'x'.repeat(5_000), 'a%2Fb', '%00']
  const accounts = names.flatMap((name) => [`/user/${name}`, `/u/${name}`])
  const last = ['%ff', '%', '%E0%A4%A', 'y'.repeat(5_000), '..%2f', '%00', 'none']
  const ways = [
    '/api/v3/api_keys/',
    '/api/v2/sql/job/',
    '/api/v1/viz/',
    '/api/v2/sql/',
    '/api/v2/sql?q=',
    '/',
  ]
  const paths = accounts.flatMap((account) =>
    ways.flatMap((way) => last.map((end) => `${account}${way}${end}`)),
  )
  for (const path of [...paths, '/%ff', '/admin/v1/users/%ff', '/console/%ff', '/docs/%ff', '/cli/%ff']) {
    const address = `${url}${path}${path.includes('?') ? '&' : '?'}api_key=${user.masterToken}`
    const reply = await fetch(address)
    const answer = await reply.text()
    assert.ok(!answer.includes(user.masterToken), `${path}: ${answer}`)
    assert.ok(reply.status < 500, `${path}: ${answer}`)
  }
})

test('a copyto that breaks off is logged without its SQL', async (t) => {
  const house = await setup(t)
  const { url, lines } = await listenedTo(t, house)
  const q = `copy (select case when n < 300000 then n else ('${secret}' || n)::int end from generate_series(1, 300000) n) to stdout`
  const address = `${url}/user/${house.user.username}/api/v2/sql/copyto?q=${encodeURIComponent(q)}`
  const response = await fetch(address)
  assert.equal(response.status, 200)
  await assert.rejects(response.text())
  await eventually(() => assert.match(lines.join(''), /copyto broke off/))
  assert.ok(!lines.join('').includes(secret))
  assert.match(lines.join(''), /22P02/)
})

test('an error of the framework is logged without the address in it', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const error = new Error(`Reply was already sent in "/user/x/api?api_key=${secret}" (PUT)`)
  log.warn({ err: Object.assign(error, { code: 'FST_ERR_REP_ALREADY_SENT' }) })
  assert.doesNotMatch(lines[0]!, new RegExp(secret))
  assert.match(lines[0]!, /FST_ERR_REP_ALREADY_SENT/)
})

test('every answer forbids guessing its type, and one that may hold a token forbids caching', async (t) => {
  const { url, user, keys } = await setup(t)
  const own = { headers: basic(user.username, user.masterToken) }
  const admin = { headers: { authorization: `Bearer ${keys.adminToken}` } }
  const paths: readonly (readonly [path: string, init: RequestInit, isKept: boolean])[] = [
    ['/health/live', {}, true],
    ['/metrics', {}, true],
    ['/openapi.json', {}, true],
    ['/nowhere', {}, true],
    ['/user/%E0%A4%A/api', {}, true],
    [`/user/${user.username}/api/v2/sql?q=select+1`, own, true],
    [`/user/${user.username}/api/v2/sql`, own, true],
    [`/user/${user.username}/api/v2/sql/copyto?q=copy+(select+1)+to+stdout`, own, true],
    [`/user/${user.username}/api/v2/sql`, { method: 'OPTIONS' }, true],
    [`/user/${user.username}/api/v3/api_keys`, own, false],
    [`/user/${user.username}/api/v3/api_keys/Master`, own, false],
    [`/u/${user.username}/api/v3/api_keys/none`, own, false],
    ['/api/v3/me', own, false],
    ['/admin/v1/users', admin, false],
    ['/admin/v1/users', {}, false],
    ['/admin/v1/audit?limit=none', admin, false],
    ['/admin/v1/activity', admin, false],
    ['/console/', {}, true],
    ['/console/assets/none.js', {}, true],
    [`/user/${user.username}/api/v2/sql?q=nonsense`, own, true],
    [`/user/${user.username}/api/v2/sql/job/none`, own, true],
    [`/user/${user.username}/api/v2/sql/copyfrom?q=copy+none+from+stdin`, { ...own, method: 'POST' }, true],
  ]
  for (const [path, init, isKept] of paths) {
    const { headers } = await fetch(`${url}${path}`, init)
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
    assert.equal(headers.get('cache-control') === 'no-store', !isKept, path)
  }
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.end('this is not HTTP\r\n\r\n')
  assert.match(await text(socket), /^HTTP\/1\.1 400 .*X-Content-Type-Options: nosniff/s)
})

test('an admin token that is short enough to guess stops the start', () => {
  assert.throws(
    () => readConfig({ CARTAGE_ADMIN_TOKEN: 'letmein' }),
    /CARTAGE_ADMIN_TOKEN must have 24 characters/,
  )
  assert.equal(readConfig({ CARTAGE_ADMIN_TOKEN: 'x'.repeat(24) }).adminToken.length, 24)
})

test('a multipart body without a boundary, or truncated, is 400', async (t) => {
  const { user } = await setup(t)
  const post = (type: string, body: string) =>
    fetch(`${user.base}/api/v2/sql`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
      signal: AbortSignal.timeout(20_000),
    })
  const part = '--x\r\nContent-Disposition: form-data; name="q"\r\n\r\nselect 1'
  const whole = await post('multipart/form-data; boundary=x', `${part}\r\n--x--\r\n`)
  assert.equal(whole.status, 200)
  for (const [type, body] of [
    ['multipart/form-data', part],
    ['multipart/form-data; boundary=', part],
    ['multipart/form-data; boundary=x', ''],
    ['multipart/form-data; boundary=x', part],
    ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; na'],
    ['multipart/form-data; boundary=x', 'no part at all'],
    ['multipart/form-data; boundary=y', `${part}\r\n--x--\r\n`],
    ['multipart/form-data; boundary=x', `--x\r\n${'A: b\r\n'.repeat(4_000)}\r\n--x--\r\n`],
    ['multipart/mixed', part],
  ] as const) {
    const response = await post(type, body).catch(() =>
      assert.fail(`no answer: ${type} ${body.slice(0, 60)}`),
    )
    assert.ok([400, 413, 415].includes(response.status), `${response.status} ${type} ${body.slice(0, 60)}`)
    assert.deepEqual(Object.keys((await response.json()) as object).includes('error'), true)
  }
})

async function listenedTo(t: TestContext, house: Setup) {
  const lines: string[] = []
  const log = createLog('trace', { write: (line) => void lines.push(line) })
  const { config } = house.service.services
  const service = await startService(config, house.keys, { http: true, worker: false }, log)
  t.after(() => service.stop())
  return { url: service.url, lines }
}
