import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { keysClient } from '../support/keys/keys-client.ts'
import { sleepingBackend, whileStopped } from '../support/postgres/stopped-backend.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const config = { connectionsPerHost: 10, connectionsPerRole: 8, copiesPerProcess: 10, copiesPerUser: 8 }

test('requests without a key that sleep on many accounts take no slots from keys or from other accounts', async (t) => {
  const house = await setup(t, { config })
  const victims = [house.user, await house.createUser(), await house.createUser(), await house.createUser()]
  const quiet = await house.createUser()
  for (const victim of victims) for (let i = 0; i < 8; i += 1) hold(t, sqlUrl(victim, sleeping))
  await eventually(async () => assert.ok((await sleepers(house, victims)) >= 5))
  await servedInTime(sqlUrl(quiet, 'select 1', quiet.masterToken))
  await servedInTime(sqlUrl(quiet, 'select 1'))
  await servedInTime(sqlUrl(house.user, 'select 1', house.user.masterToken))
})

test('an account that sleeps with all its keys leaves slots for others', async (t) => {
  const house = await setup(t, { config })
  const other = await house.createUser()
  const tokens = [
    house.user.masterToken,
    undefined,
    await newKey(house.user, 'a'),
    await newKey(house.user, 'b'),
  ]
  for (const token of tokens) for (let i = 0; i < 8; i += 1) hold(t, sqlUrl(house.user, sleeping, token))
  await eventually(async () => assert.ok((await sleepers(house, [house.user])) >= 5))
  for (const token of [other.masterToken, undefined]) await servedInTime(sqlUrl(other, 'select 1', token))
})

test('copies that sleep, with a key or without, leave slots for others', async (t) => {
  const house = await setup(t, { config })
  const second = await house.createUser()
  const other = await house.createUser()
  const asleep = `copy (${sleeping}) to stdout`
  for (const { base, masterToken } of [house.user, second])
    for (const token of [masterToken, undefined])
      for (let i = 0; i < 8; i += 1) hold(t, copyUrl({ base }, asleep, token))
  await eventually(async () => assert.ok((await sleepers(house, [house.user, second])) >= 5))
  for (const token of [other.masterToken, undefined])
    await servedInTime(copyUrl(other, 'copy (select 1) to stdout', token))
})

test('a copy without a key has a shorter limit', async (t) => {
  const { user } = await setup(t, { config: { anonymousCopyTimeoutMs: 500 } })
  const q = 'copy (select pg_sleep(1.5)) to stdout'
  const anonymous = await fetch(copyUrl(user, q))
  assert.equal(anonymous.status, 429)
  assert.equal((await fetch(copyUrl(user, q, user.masterToken))).status, 200)
})

test('a backend that ignores cancel and terminate keeps its slot until it ends', async (t) => {
  const limits = { anonymousConnections: 1, queryTimeoutMs: 3_000, connectionWaitMs: 3_000 }
  const house = await setup(t, { config: limits })
  const { user } = house
  const running = async () => (await backends(house, user.account.publicRole)).length
  const first = fetch(sqlUrl(user, sleeping))
  await whileStopped(await sleepingBackend(house, user), async () => {
    assert.equal((await first).status, 503, 'nobody can tell how it ends')
    assert.equal(await running(), 1, 'it is still at work')
    const second = await fetch(sqlUrl(user, sleeping))
    assert.deepEqual([second.status, await running()], [503, 1])
    assert.equal((await fetch(sqlUrl(user, 'select 1', user.masterToken))).status, 200)
  })
  await eventually(async () => assert.equal((await fetch(sqlUrl(user, 'select 1'))).status, 200), 60_000)
  assert.equal(await running(), 0)
})

test('a copy that cannot be stopped keeps its slot too', async (t) => {
  const limits = { anonymousCopies: 1, anonymousCopyTimeoutMs: 3_000, copyWaitMs: 300 }
  const house = await setup(t, { config: limits })
  const { user } = house
  const running = async () => (await backends(house, user.account.publicRole)).length
  const first = fetch(copyUrl(user, `copy (${sleeping}) to stdout`))
  await whileStopped(await sleepingBackend(house, user), async () => {
    assert.equal((await first).status, 429)
    assert.equal(await running(), 1, 'it is still at work')
    assert.equal((await fetch(copyUrl(user, 'copy (select 1) to stdout'))).status, 429)
  })
  await eventually(
    async () => assert.equal((await fetch(copyUrl(user, 'copy (select 1) to stdout'))).status, 200),
    60_000,
  )
  assert.equal(await running(), 0)
})

const sleeping = 'select pg_sleep(60)'

const sqlUrl = ({ base }: Pick<TestUser, 'base'>, q: string, token?: string) =>
  `${base}/api/v2/sql?${new URLSearchParams({ q, ...(token && { api_key: token }) })}`

const copyUrl = ({ base }: Pick<TestUser, 'base'>, q: string, token?: string) =>
  `${base}/api/v2/sql/copyto?${new URLSearchParams({ q, ...(token && { api_key: token }) })}`

/** Sends a request that stays open until the test ends. */
function hold(t: TestContext, url: string): void {
  const leave = new AbortController()
  t.after(() => leave.abort())
  fetch(url, { signal: leave.signal })
    .then((response) => response.text())
    .catch(() => undefined)
}

/** Before the first sleeper ends: that takes 25 s, the limit of a query. */
async function servedInTime(url: string): Promise<void> {
  const startedAt = performance.now()
  const response = await fetch(url)
  const text = await response.text()
  const ms = performance.now() - startedAt
  assert.equal(response.status, 200, text)
  assert.ok(ms < 8_000, `served after ${Math.round(ms)} ms`)
}

async function sleepers({ admin }: Setup, users: readonly TestUser[]): Promise<number> {
  const { rows } = await admin(
    `select from pg_stat_activity where datname = any($1) and state = 'active' and query ~ 'pg_sleep'`,
    [users.map(({ account }) => account.database)],
  )
  return rows.length
}

async function backends({ admin }: Setup, role: string): Promise<unknown[]> {
  const { rows } = await admin(
    `select from pg_stat_activity where usename = $1 and state = 'active' and query ~ 'pg_sleep'`,
    [role],
  )
  return rows
}

async function newKey(user: TestUser, name: string): Promise<string> {
  return (await keysClient(user).make(name)).token
}
