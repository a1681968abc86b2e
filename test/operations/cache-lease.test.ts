import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createAdminClient } from '../../src/client/client.ts'
import { type Flow, startProxy, type TcpProxy } from '../support/postgres/tcp-proxy.ts'
import { newInstallation } from '../support/service/installation.ts'
import { startProcess } from '../support/service/processes.ts'
import { basic, eventually, randomName } from '../support/service/setup.ts'

test('a process trusts its cache only while it holds a lease', async (t) => {
  const pair = await startPair(t)
  await t.test('a process with a half-open change feed obeys a revocation', () => obeysRevocation(pair))
  await t.test('a process with a half-open change feed obeys the operator', () => obeysOperator(pair))
  await t.test('a process that was stopped obeys with its first answer, and holds up only one change', () =>
    obeysWhenResumed(pair),
  )
  await t.test(
    'a process that cannot reach the control database answers 503, and later serves by itself',
    () => servesAgain(pair),
  )
  await t.test('a look-up that a revocation has overtaken is repeated', () => repeatsLookUp(pair))
  await t.test('while it holds a lease, no request looks up its caller in the control database', () =>
    asksNobody(pair),
  )
})

async function obeysRevocation(pair: Pair): Promise<void> {
  const { proxy } = pair
  const { near, far, master } = await newUser(pair)
  for (const name of ['regenerated', 'deleted']) {
    const token = await near.createKey(master, name)
    assert.equal(await far.sql(token), 200)
    feedOf(proxy).halfOpen()
    if (name === 'deleted') await near.deleteKey(master, name)
    else await near.regenerate(master, name)
    assert.equal(await far.sql(token), 401)
    await eventually(() => feedOf(proxy))
  }
  assert.equal(await far.listKeys(master), 200)
  feedOf(proxy).halfOpen()
  const token = await near.regenerate(master, 'Master')
  assert.equal(await far.listKeys(master), 401)
  assert.equal(await far.listKeys(token), 200)
  await eventually(() => feedOf(proxy))
}

async function obeysOperator(pair: Pair): Promise<void> {
  const { admin, proxy } = pair
  const owner = randomName('owner')
  const organization = randomName('org')
  await admin.organizations.create({ name: organization, owner: { username: owner } })
  const { far, master, username } = await newUser(pair, { organization, org_admin: true })
  const listKeysOfOwner = () => far.listKeys(master, `?target_user=${owner}`)
  assert.equal(await listKeysOfOwner(), 200)
  assert.equal(await far.sql(master), 200)

  feedOf(proxy).halfOpen()
  await admin.users.change(username, { org_admin: false, limits: { rates: { sql: '1/3600' } } })
  assert.equal(await listKeysOfOwner(), 403)
  assert.deepEqual([await far.sql(master), await far.sql(master)], [200, 429])
  await eventually(() => feedOf(proxy))
  assert.equal(await far.listKeys(master), 200)

  feedOf(proxy).halfOpen()
  await admin.users.delete(username)
  assert.equal(await far.listKeys(master), 404)
  await eventually(() => feedOf(proxy))
}

async function obeysWhenResumed(pair: Pair): Promise<void> {
  const { farProcess, proxy } = pair
  const { near, far, master } = await newUser(pair)
  const names = ['a', 'b', 'c']
  const tokens = await Promise.all(names.map((name) => near.createKey(master, name)))
  for (const token of tokens) assert.equal(await far.sql(token), 200)
  // Notifications are late too, so only its own clock can warn it.
  const feed = feedOf(proxy)
  feed.holdAnswers()
  farProcess.pause()
  // These requests wait in its sockets before the revocation.
  const early = tokens.map((token) => far.sql(token))
  const times: number[] = []
  for (const name of names) {
    const start = performance.now()
    await near.regenerate(master, name)
    times.push(performance.now() - start)
  }
  const late = tokens.map((token) => far.sql(token))
  farProcess.resume()
  assert.deepEqual(await Promise.all([...early, ...late]), Array(6).fill(401))
  assert.ok(Math.min(...times.slice(1)) < 1_000, times.map(Math.round).join(' '))
  feed.release()
  assert.equal(await far.sql(master), 200)
}

async function servesAgain(pair: Pair): Promise<void> {
  const { proxy } = pair
  const { near, far, master } = await newUser(pair)
  const token = await near.createKey(master, 'k')
  assert.equal(await far.sql(token), 200)
  // Old and new control connections; those to tenant databases keep working.
  const isControl = (flow: Flow) => flow.sent().includes(`\0database\0${pair.namespace}\0`)
  for (const flow of proxy.flows()) if (isControl(flow)) flow.halfOpen()
  proxy.watch((flow) => isControl(flow) && flow.halfOpen())
  await near.regenerate(master, 'k')
  const { status, headers } = await far.request('/api/v2/sql?q=select+1', token)
  assert.equal(status, 503)
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  proxy.watch(() => undefined)
  await eventually(async () => assert.equal(await far.sql(master), 200), 60_000)
  assert.equal(await far.sql(token), 401)
}

async function repeatsLookUp(pair: Pair): Promise<void> {
  const { proxy } = pair
  const { near, far, master } = await newUser(pair)
  const token = await near.createKey(master, 'k')
  const held: Flow[] = []
  proxy.watch((flow, text) => {
    if (held.length > 0 || !/from cartage\.api_keys k where user_id = \$1 and token_hash/.test(text)) return
    flow.holdAnswers()
    held.push(flow)
  })
  const early = far.sql(token)
  await eventually(() => assert.equal(held.length, 1))
  // The server answered from its state before the change.
  await eventually(() => assert.ok(held[0]!.heldBytes() > 0))
  await near.regenerate(master, 'k')
  held[0]!.release()
  assert.equal(await early, 401)
  assert.equal(await far.sql(token), 401)
}

async function asksNobody(pair: Pair): Promise<void> {
  const { proxy } = pair
  const { far, master } = await newUser(pair)
  let lookUps = 0
  proxy.watch((_flow, text) => {
    if (/from cartage\.(api_keys|users)/.test(text)) lookUps += 1
  })
  // On a busy machine the lease may expire now and then.
  await eventually(async () => {
    const before = lookUps
    for (let count = 0; count < 20; count++) assert.equal(await far.sql(master), 200)
    assert.equal(lookUps - before, 0)
  }, 60_000)
}

type Pair = Awaited<ReturnType<typeof startPair>>

/** Two processes; all PostgreSQL connections of the far one go through the proxy. */
async function startPair(t: TestContext) {
  const installation = await newInstallation(t)
  const { keys, config } = installation
  const proxy = await startProxy(t, keys.adminUrl)
  const serve = ['serve', '--no-worker']
  const nearProcess = await startProcess(t, installation, serve)
  const farProcess = await startProcess(t, installation, serve, { CARTAGE_DATABASE_URL: proxy.url })
  const admin = createAdminClient({ baseUrl: nearProcess.url, token: keys.adminToken })
  t.after(() => admin.close())
  return { proxy, nearProcess, farProcess, admin, namespace: config.namespace }
}

/** A user, and clients of it at both processes. */
async function newUser(
  { admin, nearProcess, farProcess }: Pair,
  membership: Readonly<{ organization?: string; org_admin?: boolean }> = {},
) {
  const username = randomName('user')
  const { api_key: master } = await admin.users.create({ username, ...membership })
  const near = clientOf(nearProcess.url, username)
  const far = clientOf(farProcess.url, username)
  assert.equal(await far.sql(master), 200)
  return { username, master, near, far }
}

/** The connection on which the process is notified of changes. */
function feedOf(proxy: TcpProxy): Flow {
  const feed = proxy.flows().find((flow) => flow.isOpen() && flow.sent().includes('listen cartage_accounts'))
  assert.ok(feed, 'the process listens')
  return feed
}

function clientOf(url: string, username: string) {
  const request = async (path: string, token: string, method = 'GET', body?: unknown) => {
    const response = await fetch(`${url}/user/${username}${path}`, {
      method,
      headers: { ...basic(username, token), ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body ? JSON.stringify(body) : null,
      signal: AbortSignal.timeout(60_000),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const statusOf = async (path: string, token: string) => (await request(path, token)).status
  const newToken = async (...args: Parameters<typeof request>) => {
    const { status, body } = await request(...args)
    assert.ok(status < 300, `${status} ${JSON.stringify(body)}`)
    return (body as { token: string }).token
  }
  const keys = '/api/v3/api_keys'
  const grants = [{ type: 'apis', apis: ['sql'] }]
  return {
    request,
    sql: (token: string) => statusOf('/api/v2/sql?q=select+1', token),
    listKeys: (token: string, query = '') => statusOf(`${keys}${query}`, token),
    createKey: (token: string, name: string) => newToken(keys, token, 'POST', { name, grants }),
    regenerate: (token: string, name: string) => newToken(`${keys}/${name}/token/regenerate`, token, 'POST'),
    deleteKey: (token: string, name: string) => newToken(`${keys}/${name}`, token, 'DELETE'),
  }
}
