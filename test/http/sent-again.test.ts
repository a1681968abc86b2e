import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forgetArrivals } from '../../src/accounts/arrived-request-store.ts'
import { createClient } from '../../src/client/client.ts'
import { grantsOf } from '../support/keys/keys-client.ts'
import { basic, randomName, setup, type TestUser } from '../support/service/setup.ts'

test('a request with a used Idempotency-Key is refused by every process and runs once', async (t) => {
  const { user } = await setup(t)
  const other = await setup(t, { config: { copyIdleMs: 20_000 } })
  await user.sql('create table log (n int)')
  const insert = 'insert into log values (1)'
  const requests = {
    sql: { path: '/sql', body: new URLSearchParams({ q: insert }) },
    sqlByGet: { path: `/sql?q=${insert}` },
    copyfrom: { path: '/sql/copyfrom?q=copy log from stdin', body: '1\n' },
    copyto: { path: `/sql/copyto?q=copy (${insert} returning n) to stdout` },
  }
  for (const [name, request] of Object.entries(requests)) {
    const key = randomName('once')
    const send = (base: string) => sendWith(user, base, key, request)
    const bases = [user.base, `${other.url}/user/${user.username}`]
    const answers = await Promise.all([...bases, ...bases].map(send))
    const statuses = answers.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [200, 409, 409, 409], name)
    const { status, body } = await send(user.base)
    assert.equal(status, 409, name)
    assert.deepEqual(JSON.parse(body).code, 'request-repeated', name)
  }
  assert.equal((await user.sql('select from log')).rowCount, 4)
})

test('a repeated key creation with the same Idempotency-Key does not say that the name is taken', async (t) => {
  const { user } = await setup(t)
  const create = () =>
    fetch(`${user.base}/api/v3/api_keys`, {
      method: 'POST',
      headers: {
        ...basic(user.username, user.masterToken),
        'content-type': 'application/json',
        'idempotency-key': user.username,
      },
      body: JSON.stringify({ name: 'k', grants: grantsOf() }),
    })
  assert.equal((await create()).status, 201)
  const again = await create()
  assert.equal(again.status, 409)
  assert.match(((await again.json()) as { errors: string }).errors, /^This Idempotency-Key was used already/)
})

test('an Idempotency-Key belongs to one user, and a refused request does not use it up', async (t) => {
  const { user, createUser } = await setup(t)
  const stranger = await createUser()
  const key = randomName('once')
  const select = { path: '/sql?q=select 1' }
  for (const each of [user, stranger])
    assert.equal((await sendWith(each, each.base, key, select)).status, 200)
  const next = randomName('once')
  assert.equal((await sendWith(user, user.base, next, { path: '/sql?q=' })).status, 400)
  assert.equal((await sendWith(user, user.base, next, select)).status, 200)
  assert.equal((await sendWith(user, user.base, 'x'.repeat(256), select)).status, 400)
})

test('another API key of the user cannot block its requests by using their Idempotency-Key first', async (t) => {
  const { user, service } = await setup(t)
  const client = createClient({ baseUrl: service.url, username: user.username, token: user.masterToken })
  const grants = [{ type: 'apis' as const, apis: ['sql' as const] }]
  const { token } = await client.keys.create({ name: 'reader', grants })
  const select = { path: '/sql?q=select 1' }
  const key = randomName('once')
  const send = async (masterToken: string) =>
    (await sendWith({ ...user, masterToken }, user.base, key, select)).status
  for (const status of [200, 409]) {
    assert.equal(await send(token), status)
    assert.equal(await send(user.masterToken), status)
  }
})

test('requests without a key cannot fill the control database with Idempotency-Keys', async (t) => {
  const { user, service } = await setup(t)
  const headers = { 'idempotency-key': randomName('once') }
  for (const _ of [1, 2]) {
    const { status } = await fetch(`${user.base}/api/v2/sql?q=select 1`, { headers })
    assert.equal(status, 200)
  }
  const { control } = service.services.databases
  const { rowCount } = await control.query(`select from cartage.arrived_requests where ${isOfUser}`, [
    user.account.userId,
  ])
  assert.equal(rowCount, 0)
})

test('a request is remembered for longer than the longest copy, then forgotten', async (t) => {
  const { user, service } = await setup(t)
  const { control } = service.services.databases
  const key = randomName('once')
  const send = async () => (await sendWith(user, user.base, key, { path: '/sql?q=select 1' })).status
  const makeOlder = (hours: number) =>
    control.query(
      `update cartage.arrived_requests set arrived_at = arrived_at - make_interval(hours => $2) where ${isOfUser}`,
      [user.account.userId, hours],
    )
  const limitMs = 6 * 3_600_000
  assert.equal(await send(), 200)
  await makeOlder(5)
  await forgetArrivals(control, limitMs, 0)
  assert.equal(await send(), 409)
  await makeOlder(2)
  await forgetArrivals(control, limitMs, 0)
  assert.equal(await send(), 200)
})

test('a request is remembered as long as the longest copy that any account or plan allows', async (t) => {
  const { user, service } = await setup(t)
  const { control } = service.services.databases
  await control.query('insert into cartage.plans (name, limits) values ($1, $2)', [
    user.username,
    { copy_timeout_ms: 20 * 86_400_000 },
  ])
  t.after(() => control.query('delete from cartage.plans where name = $1', [user.username]))
  const key = randomName('once')
  const send = async () => (await sendWith(user, user.base, key, { path: '/sql?q=select 1' })).status
  const makeOlder = () =>
    control.query(
      `update cartage.arrived_requests set arrived_at = arrived_at - interval '19 days' where ${isOfUser}`,
      [user.account.userId],
    )
  assert.equal(await send(), 200)
  await makeOlder()
  await forgetArrivals(control, 3_600_000, 0)
  assert.equal(await send(), 409)
  await makeOlder()
  await forgetArrivals(control, 3_600_000, 0)
  assert.equal(await send(), 200)
})

const isOfUser = 'api_key_id in (select id from cartage.api_keys where user_id = $1)'

type Sent = Readonly<{ path: string; body?: string | URLSearchParams }>

async function sendWith(user: TestUser, base: string, key: string, { path, body }: Sent) {
  const answer = await fetch(`${base}/api/v2${path}`, {
    headers: { ...basic(user.username, user.masterToken), 'idempotency-key': key },
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  return { status: answer.status, body: await answer.text() }
}
