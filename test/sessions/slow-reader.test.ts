import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSession } from '../support/http/session-socket.ts'
import { eventually, setup } from '../support/service/setup.ts'

const wide = (rows: number) => `select repeat('x', 10000) as x from generate_series(1, ${rows})`

test('rows wait for a slow reader, and none is lost', async (t) => {
  const house = await setup(t)
  const session = await openSession(t, house.user)
  const before = process.memoryUsage().rss
  const id = session.begin(wide(12_000))
  await session.until('rows')
  session.socket.pause()
  // PostgreSQL itself has to wait, because it cannot write to the service.
  await eventually(async () => {
    const { rows } = await house.admin(
      `select wait_event from pg_stat_activity where usename = $1 and state = 'active'`,
      [house.user.account.masterRole],
    )
    assert.deepEqual(rows, [{ wait_event: 'ClientWrite' }])
  })
  await sleep(500)
  const grown = process.memoryUsage().rss - before
  assert.ok(grown < 80 * 1024 ** 2, `${Math.round(grown / 1024 ** 2)} MB more in memory`)
  session.socket.resume()
  const { rows, last } = await session.answer(id)
  assert.deepEqual([last.type, last.total_rows], ['done', 12_000])
  assert.ok(rows.length > 11_000)
})

test('a reader that stops is disconnected, and its transaction rolled back', async (t) => {
  const house = await setup(t, { config: { copyIdleMs: 1_000 } })
  const { user } = house
  await user.sql('create table t (x int)')
  const session = await openSession(t, user)
  await session.run('begin; insert into t values (1)')
  session.begin(wide(100_000))
  await session.until('rows')
  session.socket.pause()
  await eventually(async () => {
    const { rowCount } = await house.admin(
      `select from pg_stat_activity where usename = $1 and application_name = 'cartage session'`,
      [user.account.masterRole],
    )
    assert.equal(rowCount, 0)
  }, 8_000)
  assert.deepEqual((await user.sql('select x from t')).rows, [])
})

test('a client that sends only bad messages is disconnected', async (t) => {
  const { user } = await setup(t)
  const session = await openSession(t, user)
  for (let n = 0; n < 90; n += 1) session.send('nonsense')
  assert.equal((await session.run('select 1')).last.type, 'done')
  for (let n = 0; n < 200; n += 1) session.send('nonsense')
  assert.match((await session.until('lost')).error[0]!, /too many messages could not be used/)
})
