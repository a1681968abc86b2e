import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSession } from '../support/http/session-socket.ts'
import { startProcess } from '../support/service/processes.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('SIGTERM ends sessions with a rollback and notifies their clients', async (t) => {
  const { user, own, process } = await withProcess(t)
  const idle = await openSession(t, own)
  const busy = await openSession(t, own)
  await idle.run('begin; insert into t values (1)')
  await busy.run('begin; insert into t values (2)')
  const id = busy.begin('select pg_sleep(20)')
  await busy.until('progress')
  const stopped = process.stop()
  const lost = await idle.until('lost')
  assert.deepEqual(
    [lost.code, lost.error],
    ['session-lost', ['The session has ended: the service is shutting down']],
  )
  assert.equal((await busy.answer(id)).last.code, 'session-lost')
  assert.equal((await busy.until('lost')).code, 'session-lost')
  assert.equal(await stopped, 0)
  assert.deepEqual((await user.sql('select x from t')).rows, [])
})

test('after kill -9 nothing of an open transaction remains, no lock either', async (t) => {
  const { user, own, process } = await withProcess(t)
  const session = await openSession(t, own)
  await session.run('begin; insert into t values (1); lock table t')
  const busy = await openSession(t, own)
  await busy.run('begin; create table u (x int)')
  busy.begin('select pg_sleep(20)')
  await busy.until('progress')
  await process.kill()
  assert.equal(await session.closed, 1006)
  await eventually(async () => {
    const { rows } = await user.sql("set lock_timeout = '1s'; select x from t")
    assert.deepEqual(rows ?? [], [])
  }, 10_000)
  const { rows } = await user.sql("select to_regclass('u') as u, (select count(*)::int from t) as n")
  assert.deepEqual(rows, [{ u: null, n: 0 }])
})

async function withProcess(t: Parameters<typeof setup>[0]) {
  const { service, keys, user } = await setup(t, { isIsolated: true })
  await user.sql('create table t (x int)')
  const process = await startProcess(t, { config: service.services.config, keys }, ['serve', '--no-worker'])
  const own = { ...user, base: `${process.url}/user/${user.username}` }
  return { user, own, process }
}
