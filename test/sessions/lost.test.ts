import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { ask } from '../support/http/ask.ts'
import { openSession, SessionSocket, socketUrl } from '../support/http/session-socket.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

test('a key has at most 2 sessions at once, an account 8', async (t) => {
  const house = await setup(t)
  const { user } = house
  const keys = keysClient(user)
  const first = await openSession(t, user)
  await openSession(t, user)
  await assert.rejects(openSession(t, user), { code: 'too-many-sessions', status: 429 })
  first.socket.close()
  await eventually(() => openSession(t, user))
  for (const name of ['a', 'b', 'c']) {
    const { token } = await keys.make(name)
    await openSession(t, user, { token })
    await openSession(t, user, { token })
  }
  const { token } = await keys.make('d')
  await assert.rejects(openSession(t, user, { token }), {
    code: 'too-many-sessions',
    message: /8 sessions of this account/,
  })
  const other = await house.createUser()
  await openSession(t, other)
})

const shortly = { sessionIdleMs: 1_500, sessionTransactionIdleMs: 300 }

test('an idle session ends, sooner inside a transaction, and its changes are rolled back', async (t) => {
  const { user, url } = await setup(t, { config: shortly })
  await user.sql('create table t (x int)')
  const idle = await openSession(t, user)
  const open = await openSession(t, user)
  await idle.run('insert into t values (1)')
  await open.run('begin; insert into t values (2)')
  const startedAt = performance.now()
  const lost = await open.until('lost')
  assert.deepEqual([lost.code, lost.status], ['session-lost', 409])
  assert.match(lost.error[0]!, /idle inside a transaction/)
  assert.ok(performance.now() - startedAt < 1_400)
  assert.equal(await open.closed, 4000)
  assert.deepEqual((await user.sql('select x from t')).rows, [{ x: 1 }])
  assert.match((await idle.until('lost')).error[0]!, /idle for too long/)
  const waiting = await openSession(t, user)
  assert.match(await (await fetch(`${url}/metrics`)).text(), /^cartage_sessions\{state="open"\} 1$/m)
  assert.match((await waiting.until('lost')).error[0]!, /idle for too long/)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  assert.match(metrics, /^cartage_sessions_ended_total\{reason="idle"\} 2$/m)
  assert.match(metrics, /^cartage_sessions_ended_total\{reason="idle-in-transaction"\} 1$/m)
})

test('a running statement is not idle, but ends at the longest time of a session', async (t) => {
  const { user } = await setup(t, { config: { ...shortly, sessionMaxMs: 2_500 } })
  await user.sql('create table t (x int)')
  const session = await openSession(t, user)
  await session.run('begin; insert into t values (1)')
  assert.equal((await session.run('select pg_sleep(1)')).last.type, 'done')
  const id = session.begin('select pg_sleep(20)')
  const { last } = await session.answer(id)
  assert.deepEqual([last.type, last.code], ['error', 'session-lost'])
  assert.match((await session.until('lost')).error[0]!, /longest time/)
  assert.deepEqual((await user.sql('select x from t')).rows, [])
})

test('a statement has the time limit of the SQL endpoint, whatever the session sets', async (t) => {
  const { user } = await setup(t, { config: { queryTimeoutMs: 1_000 } })
  const session = await openSession(t, user)
  await session.run('set statement_timeout = 0')
  const { last } = await session.run('select pg_sleep(30)')
  assert.deepEqual([last.code, last.status], ['statement-timeout', 429])
  assert.equal((await session.run('select 1')).last.type, 'done')
})

test('closing the socket rolls back at once and stops the running statement', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql('create table t (x int)')
  for (const leave of ['close', 'terminate'] as const) {
    const session = await openSession(t, user)
    await session.run('begin; insert into t values (1)')
    session.begin('select pg_sleep(30)')
    await session.until('progress')
    session.socket[leave]()
    await eventually(async () => assert.equal(await backendsOf(house, user), 0), 5_000)
  }
  assert.deepEqual((await user.sql('select x from t')).rows, [])
})

test('deleting the key, a new token and deleting the user each end the session at once', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql('create table t (x int)')
  const keys = keysClient(user)
  const { token } = await keys.make('short', grantsOf({ t: ['insert', 'select'] }))
  const [busy, unused] = [await openSession(t, user, { token }), await openSession(t, user, { token })]
  await busy.run('begin; insert into t values (1)')
  await keys.remove('short')
  assert.match((await busy.until('lost')).error[0]!, /key was deleted/)
  // It has no connection that could be ended.
  assert.match((await unused.until('lost')).error[0]!, /key was deleted/)
  assert.deepEqual((await user.sql('select x from t')).rows, [])

  const { token: old } = await keys.make('changed')
  const running = await openSession(t, user, { token: old })
  const id = running.begin('select pg_sleep(30)')
  await running.until('progress')
  await keys.regenerate('changed')
  const { last } = await running.answer(id)
  // By the end of its backend or by the notification on its key, whichever comes first.
  assert.match(`${last.status} ${last.code}`, /^(401 unauthorized|409 session-lost)$/)
  assert.match((await running.until('lost')).error[0]!, /new token/)

  const other = await house.createUser()
  const theirs = await openSession(t, other)
  await theirs.run('begin; create table u (x int)')
  await deleteUser(house.service.services.installation, other.username)
  assert.equal((await theirs.until('lost')).code, 'session-lost')
})

test('a session whose connection is ended is lost, after the outcome of its last statement', async (t) => {
  const house = await setup(t)
  const { user, admin } = house
  const endAll = () =>
    admin(`select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`, [
      user.account.masterRole,
    ])
  const idle = await openSession(t, user)
  await idle.run('begin')
  await endAll()
  assert.match((await idle.until('lost')).error[0]!, /connection to the database was lost/)
  const busy = await openSession(t, user)
  const id = busy.begin('select pg_sleep(30)')
  await busy.until('progress')
  await endAll()
  assert.equal((await busy.answer(id)).last.type, 'error')
  await busy.until('lost')
  assert.equal(await busy.closed, 4000)
})

test('the lock guard ends a session that others wait for, and its client gets the reason', async (t) => {
  const { user } = await setup(t)
  // Uses a connection that is open already: a new one would begin by removing the role's settings.
  await ask(user, 'select 1')
  const session = await openSession(t, user)
  await session.run('alter role current_user set work_mem = 65536')
  await session.run('begin; alter role current_user set work_mem = 65537')
  const altering = ask(user, 'alter role current_user set work_mem = 65538')
  const lost = await session.until('lost')
  assert.match(lost.error[0]!, /lock on a row of a shared catalog/)
  assert.equal((await altering).status, 200)
})

test('without a key a transaction may last as long as one request of the SQL endpoint', async (t) => {
  const { user } = await setup(t, { config: { queryTimeoutMs: 1_000 } })
  await user.sql(`create table t (x int); grant select on t to "${user.account.publicRole}"`)
  const session = await openSession(t, user, { token: 'default_public' })
  await session.run('begin')
  const started = performance.now()
  const lost = (async () => {
    for (;;) {
      const id = session.begin('select x from t')
      const frame = await session.until('done', 'error', 'lost')
      if (frame.type === 'lost' || frame.id !== id) return frame
    }
  })()
  assert.match((await lost).error[0]!, /without a key/)
  assert.ok(performance.now() - started < 3_000)
})

test('a client that does not answer pings is disconnected, and one that does stays', async (t) => {
  const house = await setup(t, { config: { sessionPingMs: 400 } })
  const { user } = house
  const dead = new SessionSocket(t, socketUrl(user), { autoPong: false })
  await once(dead.socket, 'open')
  dead.send({ type: 'open', token: user.masterToken })
  await dead.until('opened')
  const alive = await openSession(t, user)
  await alive.run('begin')
  const id = dead.begin('select pg_sleep(30)')
  assert.ok(id)
  assert.equal(await dead.closed, 1006)
  await eventually(async () => assert.equal(await backendsOf(house, user), 1))
  assert.equal((await alive.run('select 1')).last.type, 'done')
})

async function backendsOf({ admin }: Setup, user: TestUser): Promise<number> {
  const { rowCount } = await admin(
    `select from pg_stat_activity where usename = $1 and application_name = 'cartage session'`,
    [user.account.masterRole],
  )
  return rowCount ?? 0
}
