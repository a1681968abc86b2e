import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../src/log/log.ts'
import { HostGuard } from '../../src/postgres/guard/host-guard.ts'
import type { Ended, GuardLook } from '../../src/postgres/guard/look.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('a failing check neither ends the guard nor delays the other checks', async (t) => {
  const house = await setup(t)
  const { pids } = guard(t, house, [
    {
      name: 'broken',
      everyMs: 20,
      look: async ({ ask }) => {
        await ask('select 1 / 0')
        return []
      },
    },
  ])
  await eventually(() => assert.ok(pids.length > 5))
  assert.equal(new Set(pids).size, 1, 'on one connection')
})

test('a guard whose connection was ended reconnects', async (t) => {
  const house = await setup(t)
  const { pids } = guard(t, house)
  await eventually(() => assert.ok(pids.length > 0))
  await house.admin('select pg_terminate_backend($1)', [pids[0]])
  await eventually(() => assert.equal(new Set(pids).size, 2))
})

test('a guard reports what its checks have ended, and stops within a second while a check hangs', async (t) => {
  const house = await setup(t)
  const { watching, ended, pids } = guard(t, house, [
    { name: 'ends', everyMs: 20, look: async () => [{ role: 'somebody', why: 'because' }] },
    {
      name: 'hangs',
      everyMs: 20,
      look: async ({ ask }) => {
        await ask('select pg_sleep(600)')
        return []
      },
    },
  ])
  await eventually(() => assert.deepEqual(ended[0], { role: 'somebody', why: 'because' }))
  assert.equal(pids.length, 1)
  const startedAt = performance.now()
  await watching.stop()
  assert.ok(performance.now() - startedAt < 1_000)
})

function guard(t: TestContext, { service }: Setup, looks: readonly GuardLook[] = []) {
  const pids: number[] = []
  const ended: Ended[] = []
  const counting: GuardLook = {
    name: 'counting',
    everyMs: 20,
    look: async ({ ask }) => {
      const [row] = await ask<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid')
      pids.push(row!.pid)
      return []
    },
  }
  const watching = new HostGuard({
    hosts: service.services.databases.hosts,
    looks: [counting, ...looks],
    onEnded: (_look, _host, each) => ended.push(each),
    log: createLog('silent'),
  })
  watching.start()
  t.after(() => watching.stop())
  return { watching, pids, ended }
}
