import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account } from '../../src/auth/account.ts'
import { masterTargetOf } from '../../src/auth/account.ts'
import { AppError } from '../../src/errors.ts'
import { createLog } from '../../src/log/log.ts'
import { LoginRepair } from '../../src/postgres/pools/login-repair.ts'
import { RolePools, type RolePoolsOptions } from '../../src/postgres/pools/role-pools.ts'
import type { Session } from '../../src/postgres/session.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

/** Every way to leave something behind on a connection, and the query that would find it. */
const leftovers: readonly (readonly [string, string, string, unknown])[] = [
  [
    'a setting',
    `set search_path = pg_temp`,
    `select current_setting('search_path') as left`,
    'public, cartodb',
  ],
  ['a timeout', `set statement_timeout = 0`, `select current_setting('statement_timeout') as left`, '25s'],
  [
    'a custom setting',
    `select set_config('my.secret', 'x', false)`,
    `select nullif(current_setting('my.secret', true), '') as left`,
    null,
  ],
  ['a role', `set role none`, `select current_setting('role') as left`, 'none'],
  [
    'a temp table',
    `create temp table remains (id int)`,
    `select to_regclass('pg_temp.remains') as left`,
    null,
  ],
  [
    'a prepared statement',
    `prepare remains as select 1`,
    `select count(*)::int as left from pg_prepared_statements`,
    0,
  ],
  ['an advisory lock', `select pg_advisory_lock(42)`, `select pg_advisory_unlock(42) as left`, false],
  [
    'a cursor',
    `begin; declare remains cursor with hold for select 1; commit`,
    `select count(*)::int as left from pg_cursors`,
    0,
  ],
  ['a subscription', `listen remains`, `select count(*)::int as left from pg_listening_channels()`, 0],
  [
    'an open transaction',
    `begin; select txid_current()`,
    `select (now() = statement_timestamp()) as left`,
    true,
  ],
  ['an aborted transaction', `begin; select 1/0`, `select 1 as left`, 1],
  [
    'a sequence value',
    `create temp sequence remains; select nextval('remains')`,
    `select to_regclass('pg_temp.remains') as left`,
    null,
  ],
]

for (const [what, leave, ask, expected] of leftovers) {
  test(`${what} left by one caller is gone for the next`, async (t) => {
    const { pools, target } = await poolOfOne(t)
    const first = await pools.acquire(target)
    await first.query(leave).catch(() => undefined)
    const { processId } = first
    first.release()
    const second = await pools.acquire(target)
    const { rows } = await second.query<{ left: unknown }>(ask)
    assert.equal(second.processId, processId, 'the same connection, cleaned')
    assert.deepEqual(rows[0]!.left, expected)
    second.release()
  })
}

test('a caller cannot become another role: RESET ROLE, SET ROLE and set_config stay within its own login', async (t) => {
  const { pools, target, account } = await poolOfOne(t)
  const session = await pools.acquire({ ...target, role: account.publicRole })
  for (const attempt of [
    'reset role',
    'set session authorization default',
    `do $$ begin execute 'reset role'; end $$`,
  ]) {
    await session.query(attempt)
    const { rows } = await session.query<{ role: string }>('select current_user as role')
    assert.equal(rows[0]!.role, account.publicRole)
  }
  await assert.rejects(session.query(`set role "${account.masterRole}"`), /permission denied/)
  await assert.rejects(
    session.query(`select set_config('role', '${account.masterRole}', false)`),
    /permission denied/,
  )
  session.release()
})

test('a connection whose backend was ended is destroyed, and the next caller gets a new one', async (t) => {
  const { pools, target } = await poolOfOne(t)
  const first = await pools.acquire(target)
  await assert.rejects(first.query('select pg_terminate_backend(pg_backend_pid())'))
  first.release()
  const second = await pools.acquire(target)
  assert.notEqual(second.processId, first.processId)
  second.release()
})

test('a connection released while its statement runs is destroyed', async (t) => {
  const { pools, target, house } = await poolOfOne(t)
  const session = await pools.acquire(target)
  const query = session.send('select pg_sleep(60)', {})
  session.release()
  await assert.rejects(query.done)
  await eventually(async () => assert.equal(await backendsOf(house, target.role), 0))
})

test('a statement is cancelled from another connection', async (t) => {
  const { pools, target } = await poolOfOne(t)
  const session = await pools.acquire(target)
  const query = session.send('select pg_sleep(60)', {})
  await session.cancel()
  const { error } = await query.done
  assert.equal(error?.sqlstate, '57014')
  session.release()
})

test('waiting for a connection ends at the deadline with a clear 503', async (t) => {
  const { pools, target } = await poolOfOne(t, { waitMs: 300 })
  const session = await pools.acquire(target)
  await assert.rejects(
    pools.acquire(target),
    (error) => error instanceof AppError && error.code === 'connections-exhausted',
  )
  session.release()
  ;(await pools.acquire(target)).release()
})

test('waiting callers are served first come, first served', async (t) => {
  const { pools, target } = await poolOfOne(t)
  const first = await pools.acquire(target)
  const order: number[] = []
  const waiting = [1, 2, 3].map(async (place) => {
    const session = await pools.acquire(target)
    order.push(place)
    session.release()
  })
  first.release()
  await Promise.all(waiting)
  assert.deepEqual(order, [1, 2, 3])
})

test('a caller that stops waiting takes no connection', async (t) => {
  const { pools, target } = await poolOfOne(t)
  const first = await pools.acquire(target)
  const given = new AbortController()
  const waiting = pools.acquire(target, given.signal)
  given.abort(new Error('gone'))
  await assert.rejects(waiting, /gone/)
  assert.equal(pools.stats().waiting, 0)
  first.release()
})

test("at the host's limit the longest idle connection of another role is closed for a new one", async (t) => {
  const { pools, target, account } = await poolOfOne(t, { maxPerHost: 2, maxPerRole: 2 })
  const both = [await pools.acquire(target), await pools.acquire(target)]
  for (const session of both) session.release()
  await eventually(() => assert.equal(pools.stats().idle, 2))
  const other = await pools.acquire({ ...target, role: account.publicRole })
  assert.equal(pools.stats().open, 2)
  other.release()
})

test("the host's limit is kept under a storm of callers of many roles", async (t) => {
  const { pools, target, account } = await poolOfOne(t, { maxPerHost: 3, maxPerRole: 2, waitMs: 20_000 })
  let most = 0
  await Promise.all(
    Array.from({ length: 200 }, async (_, turn) => {
      const session = await pools.acquire({ ...target, role: turn % 2 ? target.role : account.publicRole })
      most = Math.max(most, pools.stats().open)
      await session.query('select 1')
      if (turn % 17 === 0) session.destroy()
      else session.release()
    }),
  )
  assert.ok(most <= 3, `${most} connections open at once`)
})

test('an idle connection is closed after its idle time', async (t) => {
  const { pools, target, house } = await poolOfOne(t, { idleMs: 50 })
  ;(await pools.acquire(target)).release()
  await eventually(async () => assert.equal(await backendsOf(house, target.role), 0))
  assert.equal(pools.stats().open, 0)
})

test('a role that changed its own password is repaired and can log in', async (t) => {
  const { pools, target, account } = await poolOfOne(t)
  const role = { ...target, role: account.publicRole }
  const session = await pools.acquire(role)
  await session.query(`alter role current_user password 'mine now'`)
  await session.destroy()
  await usable(await pools.acquire(role))
})

test('a role that blocked its own login by a setting is repaired and can log in', async (t) => {
  const { pools, target, account } = await poolOfOne(t)
  const role = { ...target, role: account.publicRole }
  const session = await pools.acquire(role)
  await session.query(`alter role current_user set local_preload_libraries = 'no_such_library'`)
  await session.destroy()
  await usable(await pools.acquire(role))
})

test("a role's own settings do not reach the session: the settings the service needs are set at start-up", async (t) => {
  const { pools, target, account } = await poolOfOne(t)
  const role = { ...target, role: account.publicRole }
  const session = await pools.acquire(role)
  for (const [name, value] of Object.entries(hostileSettings))
    await session.query(`alter role current_user set ${name} = ${value}`)
  await session.destroy()
  const again = await pools.acquire(role)
  for (const name of Object.keys(hostileSettings)) {
    const { rows } = await again.query<{ value: string }>(`select current_setting('${name}') as value`)
    assert.equal(rows[0]!.value, pinned[name], name)
  }
  await again.query('reset all')
  again.release()
})

test('a missing role is a 503, not a crash', async (t) => {
  const { pools, target } = await poolOfOne(t)
  await assert.rejects(
    pools.acquire({ ...target, role: `${target.role}_k999999` }),
    (error) => error instanceof Error,
  )
  assert.equal(pools.stats().open, 0)
})

test('closing a role ends its busy and its idle connections', async (t) => {
  const { pools, target, house } = await poolOfOne(t, { maxPerRole: 2, maxPerHost: 2 })
  const busy = await pools.acquire(target)
  ;(await pools.acquire(target)).release()
  const query = busy.send('select pg_sleep(60)', {})
  await Promise.all([assert.rejects(query.done), pools.closeRole(target.hostId, target.role)])
  await eventually(async () => assert.equal(await backendsOf(house, target.role), 0))
})

const hostileSettings: Record<string, string> = {
  statement_timeout: '0',
  search_path: 'pg_temp',
  default_transaction_read_only: 'on',
  default_transaction_isolation: `'serializable'`,
  datestyle: `'German'`,
  timezone: `'Asia/Tokyo'`,
  bytea_output: `'escape'`,
  standard_conforming_strings: 'off',
  client_min_messages: `'error'`,
  intervalstyle: `'iso_8601'`,
  lock_timeout: '1',
}

const pinned: Record<string, string> = {
  statement_timeout: '25s',
  search_path: 'public, cartodb',
  default_transaction_read_only: 'off',
  default_transaction_isolation: 'read committed',
  datestyle: 'ISO, MDY',
  timezone: 'UTC',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  client_min_messages: 'notice',
  intervalstyle: 'postgres',
  lock_timeout: '0',
}

async function poolOfOne(t: Parameters<typeof setup>[0], options: Partial<RolePoolsOptions> = {}) {
  const house = await setup(t)
  const { databases, secrets, config } = house.service.services
  const account: Account = house.user.account
  const target = { ...masterTargetOf(account), searchPath: 'public, cartodb' }
  const pools = new RolePools({
    name: 'test',
    hosts: databases.hosts,
    passwordOf: ({ role }) => secrets.rolePassword(role),
    check: new LoginRepair({ ...databases, secrets, tempFileMaxBytes: config.tempFileMaxBytes }),
    settings: { statement_timeout: config.queryTimeoutMs },
    maxPerHost: 1,
    maxPerRole: 1,
    idleMs: 10_000,
    waitMs: 10_000,
    answerMs: 10_000,
    log: createLog('silent'),
    ...options,
  })
  t.after(() => pools.close())
  return { house, pools, target, account }
}

async function usable(session: Session): Promise<void> {
  const { rows } = await session.query<{ one: number }>('select 1 as one')
  assert.equal(rows[0]!.one, 1)
  session.release()
}

async function backendsOf(house: Setup, role: string): Promise<number> {
  const { rows } = await house.admin(
    'select count(*)::int as count from pg_stat_activity where usename = $1',
    [role],
  )
  return rows[0].count
}
