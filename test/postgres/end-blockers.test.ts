import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { endingBlockers } from '../../src/postgres/end-blockers.ts'
import type { Session } from '../../src/postgres/session.ts'
import { adminTarget } from '../../src/postgres/session-target.ts'
import { ask } from '../support/http/ask.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { openSession } from '../support/postgres/tenant-session.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('a session that blocks an urgent act of the service is ended, and one that blocks a later act is not', async (t) => {
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

  // The next check must wait for a connection until the act is over.
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

test('a statement that is ended because a change of keys waits for it says so', async (t) => {
  const { user, admin } = await setup(t)
  await user.sql('create table t (n int)')
  const keys = keysClient(user)
  await keys.make('k', grantsOf({ t: ['select'] }))
  const holder = ask(user, `begin; grant select on t to current_user; select pg_sleep(60)`)
  await eventually(async () => {
    const sleeping = `select from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'`
    assert.equal((await admin(sleeping, [user.account.database])).rowCount, 1)
  })
  assert.equal((await keys.remove('k')).status, 200)
  const { status, body } = await holder
  assert.deepEqual([status, body.code], [403, 'lock-not-allowed'])
})

test('a session of the operator that holds up a change is left alone', async (t) => {
  const { user, service, admin, keys } = await setup(t)
  const { databases } = service.services
  const { hostId, database } = user.account
  await user.sql('create table t (n int)')
  const name = `operator_of_${database}`
  await admin(`create role ${name} login superuser password 'pw'`)
  t.after(() => admin(`drop role ${name}`))
  const url = new URL(keys.adminUrl)
  Object.assign(url, { username: name, password: 'pw', pathname: `/${database}` })
  const operator = new pg.Client({ connectionString: String(url) })
  await operator.connect()
  await operator.query('begin; lock table public.t')
  const session = await databases.admin.acquire(adminTarget(databases.hosts, hostId, database))
  t.after(() => session.release())
  const waiting = endingBlockers(databases, session, () =>
    session.query("set lock_timeout = '1s'; lock table public.t"),
  )
  await assert.rejects(waiting, { code: '55P03' })
  await operator.query('commit')
  await operator.end()
})
