import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listAudit } from '../../../src/audit/audit-store.ts'
import { KnownTokens } from '../../../src/auth/known-tokens.ts'
import { newToken } from '../../../src/auth/token.ts'
import type { Queryable } from '../../../src/postgres/transaction.ts'
import { basic, type Setup, setup, type TestUser } from '../../support/service/setup.ts'

const burst = 6
const limited = {
  config: {
    trustedProxies: '127.0.0.1',
    rateLimitWrongTokens: { count: 1, seconds: 600, burst },
  },
}

/** Everything that checks a credential. */
const endpoints = (user: TestUser) => [
  ['GET', `/user/${user.username}/api/v3/api_keys`],
  ['GET', `/user/${user.username}/api/v2/sql/job/7b9a6a52-9f1d-4a39-a8f0-0123456789ab`],
  ['GET', `/user/${user.username}/api/v2/sql?q=select+1`],
  ['GET', `/user/${user.username}/api/v2/sql/copyto?q=copy+(select+1)+to+stdout`],
  ['POST', `/user/${user.username}/api/v2/sql/copyfrom?q=copy+t+from+stdin`],
  ['GET', `/user/${user.username}/api/v4/datasets`],
  ['GET', '/api/v4/me'],
]

test('wrong tokens beyond the limit of an address are refused at every endpoint, and not recorded one by one', async (t) => {
  const bundle = await setup(t, limited)
  const from = '192.0.2.1'
  const before = await recorded(bundle, from)
  await spend(bundle, from)
  for (const [method, path] of endpoints(bundle.user)) {
    const refused = await send(bundle, from, path!, basic(bundle.user.username, newToken()), method)
    assert.equal(refused.status, 429, path)
    assert.ok(Number(refused.headers.get('retry-after')) > 500, path)
  }
  for (const path of [sqlOf(bundle.user), '/admin/v1/users']) {
    const refused = await send(bundle, from, path, { authorization: 'Bearer wrong' })
    assert.equal(refused.status, 429, path)
  }
  assert.equal((await recorded(bundle, from)) - before, burst)
})

test('a valid token works from such an address, whether it is cached, not yet cached or new', async (t) => {
  const bundle = await setup(t, limited)
  const { user, createUser, keys, createOrganization } = bundle
  const from = '192.0.2.2'
  const other = await createUser()
  const { name: organization, owner } = await createOrganization()
  assert.equal((await send(bundle, from, sqlOf(user), basic(user.username, user.masterToken))).status, 200)
  await spend(bundle, from)
  for (const [path, headers] of [
    [sqlOf(user), basic(user.username, user.masterToken)],
    [sqlOf(other), basic(other.username, other.masterToken)],
    ['/api/v4/me', basic(other.username, other.masterToken)],
    [`/user/${organization}/api/v3/api_keys`, basic(owner.username, owner.masterToken)],
    [sqlOf(user), {}],
    [`${sqlOf(user)}&api_key=default_public`, {}],
    ['/admin/v1/users', { authorization: `Bearer ${keys.adminToken}` }],
  ] as const) {
    assert.equal((await send(bundle, from, path, headers)).status, 200, path)
  }
  assert.equal((await send(bundle, from, sqlOf(user), basic(user.username, newToken()))).status, 429)
})

test('the limit applies to one address, or with IPv6 to one network of 64 bits', async (t) => {
  const bundle = await setup(t, limited)
  const ask = async (from: string) =>
    (await send(bundle, from, sqlOf(bundle.user), basic(bundle.user.username, newToken()))).status
  await spend(bundle, '2001:db8:1:2::1')
  assert.equal(await ask('2001:db8:1:2:ffff:abcd::9'), 429)
  assert.equal(await ask('2001:db8:1:3::1'), 401)
  await spend(bundle, '192.0.2.3')
  assert.equal(await ask('::ffff:192.0.2.3'), 429)
  assert.equal(await ask('192.0.2.4'), 401)
})

test('concurrent wrong tokens are limited like those sent one by one', async (t) => {
  const bundle = await setup(t, limited)
  const asked = Array.from({ length: 40 }, () =>
    send(bundle, '192.0.2.5', sqlOf(bundle.user), basic(bundle.user.username, newToken())),
  )
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 401).length, burst)
  assert.equal(statuses.filter((status) => status === 429).length, 40 - burst)
})

test('a flood of wrong tokens costs a few statements, and the valid one in it is found', async (t) => {
  const { user, service } = await setup(t, limited)
  const { databases, secrets } = service.services
  let statements = 0
  const control: Queryable = {
    query: (text, values) => {
      statements += 1
      return databases.control.query(text, values)
    },
  }
  const tokens = new KnownTokens(control, secrets)
  const wrong = Array.from({ length: 1_500 }, () => tokens.isKnown(newToken()))
  assert.equal(await tokens.isKnown(user.masterToken), true)
  assert.ok(!(await Promise.all(wrong)).includes(true))
  assert.equal(statements, 1)
})

const sqlOf = (user: TestUser) => `/user/${user.username}/api/v2/sql?q=select+1`

const send = (
  { url }: Setup,
  from: string,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<Response> => fetch(`${url}${path}`, { method, headers: { ...headers, 'x-forwarded-for': from } })

/** All the wrong tokens that an address may send. */
async function spend(bundle: Setup, from: string): Promise<void> {
  for (let n = 0; n < burst; n++) {
    const { status } = await send(bundle, from, sqlOf(bundle.user), basic(bundle.user.username, newToken()))
    assert.equal(status, 401)
  }
}

async function recorded({ service }: Setup, from: string): Promise<number> {
  await service.services.refusals.flush()
  const { control } = service.services.databases
  const records = await listAudit(control, { action: 'authentication.refused', limit: 1_000 })
  return records
    .filter(({ actor }) => actor === from)
    .reduce((sum, { details }) => sum + Number(details.count), 0)
}
