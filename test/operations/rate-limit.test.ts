import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { takeRequest } from '../../src/accounts/rate-limit-store.ts'
import { readConfig } from '../../src/config/config.ts'
import { parseRate } from '../../src/config/config-variables.ts'
import { requireRateGroups } from '../../src/http/middleware/rate-limit.ts'
import { basic, setup, type TestUser } from '../support/service/setup.ts'

const limited = { config: { rateLimitSql: { count: 2, seconds: 3600, burst: 2 } } }

test('a route of an account that names no limit stops the start', () => {
  const app = fastify()
  requireRateGroups(app)
  app.get('/limited', { config: { rateGroup: 'sql' } }, async () => '')
  assert.throws(() => app.get('/free', async () => ''), /GET \/free has no rate group/)
})

test('a user beyond the limit gets 429 with whole numbers in the headers and the documented body', async (t) => {
  const { user } = await setup(t, limited)
  const first = await ask(user)
  assert.equal(first.status, 200)
  assert.deepEqual(limitsOf(first), { limit: '2', remaining: '1', reset: '1800', retry: null })
  const second = await ask(user)
  assert.equal(second.status, 200)
  assert.equal(limitsOf(second).remaining, '0')
  for (const refused of [await ask(user), await ask(user)]) {
    assert.equal(refused.status, 429)
    const { limit, remaining, reset, retry } = limitsOf(refused)
    assert.deepEqual([limit, remaining], ['2', '0'])
    assert.match(`${reset} ${retry}`, /^\d+ \d+$/)
    assert.ok(Number(retry) > 1700 && Number(retry) <= 1800, `Retry-After ${retry}`)
    assert.ok(Number(reset) > 3500 && Number(reset) <= 3600, `Reset ${reset}`)
    const body = (await refused.json()) as { error: string[] }
    assert.match(body.error[0]!, /^You are over the limits/)
    assert.deepEqual(
      { ...body, error: 1 },
      { error: 1, code: 'rate-limited', context: 'limit', detail: 'rate-limit' },
    )
  }
})

test('limits of different users and of different groups are separate', async (t) => {
  const { user, createUser } = await setup(t, limited)
  const other = await createUser()
  for (let n = 0; n < 3; n++) await ask(user)
  assert.equal((await ask(user)).status, 429)
  assert.equal((await ask(other)).status, 200)
  const jobs = await ask(user, '/api/v2/sql/job/7b9a6a52-9f1d-4a39-a8f0-0123456789ab')
  assert.equal(jobs.status, 404)
  assert.equal(limitsOf(jobs).limit, null)
})

test('a request with a wrong credential does not count towards a limit', async (t) => {
  const { user } = await setup(t, limited)
  for (let n = 0; n < 5; n++) {
    const response = await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=wrong`)
    assert.equal(response.status, 401)
    assert.equal(limitsOf(response).limit, null)
  }
  assert.equal(limitsOf(await ask(user)).remaining, '1')
})

test("callers without a key have their own limit and use up nothing of the owner's", async (t) => {
  const { user } = await setup(t, limited)
  const stranger = (key = '') => fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${key}`)
  assert.deepEqual(await statuses([() => stranger(), () => stranger('default_public')]), [200, 200])
  for (const key of ['', 'default_public']) {
    const refused = await stranger(key)
    assert.equal(refused.status, 429)
    assert.ok(Number(limitsOf(refused).retry) > 1700)
  }
  assert.deepEqual(await statuses([() => ask(user), () => ask(user), () => ask(user)]), [200, 200, 429])
})

test("a user's own limit replaces the configured one, and can lift it", async (t) => {
  const { url, user, keys } = await setup(t, limited)
  const change = (limits: unknown) =>
    fetch(`${url}/admin/v1/users/${user.username}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${keys.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ limits }),
    })
  assert.equal((await change({ rates: { sql: '1/60', keys: '5/60+3' } })).status, 200)
  assert.equal((await ask(user)).status, 200)
  assert.equal((await ask(user)).status, 429)
  const keyList = await ask(user, '/api/v3/api_keys')
  assert.deepEqual([limitsOf(keyList).limit, limitsOf(keyList).remaining], ['3', '2'])
  // Its name in 0.1.0.
  assert.equal((await change({ rate: { sql: 'off' } })).status, 200)
  for (let n = 0; n < 4; n++) assert.equal((await ask(user)).status, 200)
  for (const wrong of [{ rates: { sql: 'many' } }, { rates: { tiles: '1/1' } }, { speed: 1 }, { rates: 5 }]) {
    assert.equal((await change(wrong)).status, 422, JSON.stringify(wrong))
  }
})

test('a change of limits keeps those it does not name, and null removes one', async (t) => {
  const { url, user, keys } = await setup(t)
  const change = async (limits: unknown) => {
    const response = await fetch(`${url}/admin/v1/users/${user.username}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${keys.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ limits }),
    })
    assert.equal(response.status, 200)
    return ((await response.json()) as { limits: unknown }).limits
  }
  await change({ rates: { sql: '1/60', keys: '5/60' } })
  assert.deepEqual(await change({ schedules: 250 }), {
    rates: { sql: '1/60', keys: '5/60' },
    schedules: 250,
  })
  assert.deepEqual(await statuses([() => ask(user), () => ask(user)]), [200, 429])
  assert.deepEqual(await change({ rates: { sql: null, copyto: 'off' } }), {
    rates: { keys: '5/60', copyto: 'off' },
    schedules: 250,
  })
  assert.equal((await ask(user)).status, 200)
  assert.deepEqual(await change({ schedules: null }), { rates: { keys: '5/60', copyto: 'off' } })
  assert.deepEqual(await change({}), { rates: { keys: '5/60', copyto: 'off' } })
  assert.deepEqual(await change({ rates: null }), {})
  assert.deepEqual(await change({ rates: { sql: null } }), { rates: {} })
})

test('a refusal at the key endpoints has their error format', async (t) => {
  const { user } = await setup(t, { config: { rateLimitKeys: { count: 1, seconds: 60, burst: 1 } } })
  await ask(user, '/api/v3/api_keys')
  const refused = await ask(user, '/api/v3/api_keys')
  assert.equal(refused.status, 429)
  const body = (await refused.json()) as { errors: string; errors_cause: null }
  assert.match(body.errors, /^You are over the limits/)
  assert.equal(body.errors_cause, null)
})

test('without configuration nothing is limited and no header is sent', async (t) => {
  const { user } = await setup(t)
  for (let n = 0; n < 10; n++) {
    const response = await ask(user)
    assert.equal(response.status, 200)
    assert.equal(limitsOf(response).limit, null)
  }
})

test('of any number of concurrent requests, no more than the burst are let through', async (t) => {
  const { user, service } = await setup(t)
  const { control } = service.services.databases
  const rate = { count: 5, seconds: 3600, burst: 5 }
  const take = () => takeRequest(control, user.account.userId, 'sql', rate)
  const verdicts = await Promise.all(Array.from({ length: 40 }, take))
  assert.equal(verdicts.filter(({ isAllowed }) => isAllowed).length, 5)
})

test('the limit refills evenly with time', async (t) => {
  const { user, service } = await setup(t)
  const { control } = service.services.databases
  const rate = { count: 60, seconds: 60, burst: 2 }
  const take = () => takeRequest(control, user.account.userId, 'jobs', rate)
  const passTime = (seconds: number) =>
    control.query(
      'update cartage.rate_limits set due_at = due_at - make_interval(secs => $2) where user_id = $1',
      [user.account.userId, seconds],
    )
  assert.deepEqual(await outcomes(take, 3), [true, true, false])
  await passTime(1)
  assert.deepEqual(await outcomes(take, 2), [true, false])
  await passTime(600)
  assert.deepEqual(await outcomes(take, 3), [true, true, false])
})

test('a clock that is set back locks nobody out', async (t) => {
  const { user, service } = await setup(t)
  const { control } = service.services.databases
  const rate = { count: 60, seconds: 60, burst: 2 }
  const take = () => takeRequest(control, user.account.userId, 'jobs', rate)
  assert.deepEqual(await outcomes(take, 3), [true, true, false])
  await control.query(
    `update cartage.rate_limits set due_at = due_at + interval '1 hour' where user_id = $1`,
    [user.account.userId],
  )
  assert.deepEqual(await outcomes(take, 3), [true, true, false])
})

test('a rate is written COUNT/SECONDS or COUNT/SECONDS+BURST', () => {
  assert.deepEqual(parseRate('100/60'), { count: 100, seconds: 60, burst: 100 })
  assert.deepEqual(parseRate('100/60+20'), { count: 100, seconds: 60, burst: 20 })
  assert.equal(parseRate('off'), null)
  for (const wrong of ['', '0/60', '1/0', '1/1+0', '1/1s', '-1/2', '1e3/2', 7, null, undefined]) {
    assert.equal(parseRate(wrong), undefined, String(wrong))
  }
  assert.throws(() => readConfig({ CARTAGE_RATE_LIMIT_SQL: 'lots' }), /CARTAGE_RATE_LIMIT_SQL must be 'off'/)
})

function ask(user: TestUser, path = '/api/v2/sql?q=select+1'): Promise<Response> {
  return fetch(`${user.base}${path}`, { headers: basic(user.username, user.masterToken) })
}

function limitsOf({ headers }: Response) {
  return {
    limit: headers.get('carto-rate-limit-limit'),
    remaining: headers.get('carto-rate-limit-remaining'),
    reset: headers.get('carto-rate-limit-reset'),
    retry: headers.get('retry-after'),
  }
}

async function statuses(asked: readonly (() => Promise<Response>)[]): Promise<number[]> {
  const seen: number[] = []
  for (const each of asked) seen.push((await each()).status)
  return seen
}

async function outcomes(take: () => Promise<{ isAllowed: boolean }>, times: number): Promise<boolean[]> {
  const seen: boolean[] = []
  for (let n = 0; n < times; n++) seen.push((await take()).isAllowed)
  return seen
}

test('viz, datasets and me share a limit, by every address', async (t) => {
  const { url, user } = await setup(t, { config: { rateLimitTables: { count: 3, seconds: 3600, burst: 3 } } })
  const own = { headers: basic(user.username, user.masterToken) }
  const paths = [`${user.base}/api/v1/viz`, `${user.base}/api/v4/datasets`, `${url}/api/v4/me`]
  for (const path of paths) assert.equal((await fetch(path, own)).status, 200, path)
  for (const path of [...paths, `${url}/api/v3/me`, `${user.base}/api/v1/viz/none`]) {
    assert.equal((await fetch(path, own)).status, 429, path)
  }
  assert.equal((await fetch(`${url}/api/v4/me?api_key=wrong`)).status, 401)
})
