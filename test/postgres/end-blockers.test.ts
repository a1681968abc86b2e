import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endingBlockers } from '../../src/postgres/end-blockers.ts'
import type { Session } from '../../src/postgres/session.ts'
import { adminTarget } from '../../src/postgres/session-target.ts'
import { openSession } from '../support/postgres/tenant-session.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('who holds up an act of the service that must not wait is ended, and who holds up the next one is not', async (t) => {
  const house = await setup(t)
  const { user, service, admin } = house
  const { databases } = service.services
  const { hostId, database } = user.account
  await user.sql('create table t (n int)')
  const holder = await openSession(t, house, user)
  await holder.query('begin; lock table public.t')
  const session = await databases.admin.acquire(adminTarget(databases.hosts, hostId, database))
  t.after(() => session.release())
  await endingBlockers(databases, session, () => session.query('lock table public.t; rollback'))
  await assert.rejects(holder.query('commit'))

  // The next look has to wait for a connection, until the act is over.
  const taken: Session[] = []
  for (let left = 4; left > 0; left--)
    taken.push(await databases.admin.acquire(adminTarget(databases.hosts, hostId)))
  const isLate = () => eventually(() => assert.ok(databases.admin.stats().waiting > 0))
  await endingBlockers(databases, session, isLate)
  const next = await openSession(t, house, user)
  await next.query('begin; lock table public.t')
  const waiting = session.query("set lock_timeout = '20s'; lock table public.t; rollback")
  await eventually(async () => {
    const { rowCount } = await admin('select from pg_locks where pid = $1 and not granted', [
      session.processId,
    ])
    assert.equal(rowCount, 1)
  })
  for (const each of taken) each.release()
  await eventually(() => assert.equal(databases.admin.stats().waiting, 0))
  assert.equal((await admin('select 1 as one')).rows[0].one, 1)
  await next.query('commit')
  await waiting
})
