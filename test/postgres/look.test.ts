import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../src/log/log.ts'
import { RolePools } from '../../src/postgres/pools/role-pools.ts'
import type { Session } from '../../src/postgres/session.ts'
import { adminTarget } from '../../src/postgres/session-target.ts'
import { grantsOf, type KeyDocument, keysClient } from '../support/keys/keys-client.ts'
import { setup } from '../support/service/setup.ts'

test('a look-up leaves its session clean, and the next one finds its statement prepared', async (t) => {
  const admin = await adminOf(t)
  await admin.use((session) => session.look('one', 'select 1', []))
  const { prepared: names } = await admin.use(prepared)
  assert.deepEqual(names, ['one', 'prepared'])
})

test('a look-up works on a connection that was cleaned since, in any way', async (t) => {
  const admin = await adminOf(t)
  const first = await admin.use(prepared)
  const dirty = 'set statement_timeout = 0; prepare remains as select 1'
  await admin.use((session) => session.query(dirty))
  assert.deepEqual(await admin.use(prepared), first)
  await admin.use(async (session) => {
    await session.query(dirty)
    await session.clean()
    assert.deepEqual(await prepared(session), first)
  })
  await admin.use(async (session) => {
    await session.send([dirty, ...session.cleaning], {}).done
    session.noteClean()
    assert.deepEqual(await prepared(session), first)
  })
  const timeout = await admin.use((session) =>
    session.look('timeout', `select current_setting('statement_timeout') as value`, []),
  )
  assert.equal(timeout.rows[0]!.value, '1min')
})

test('a look-up does not mark a dirty session as clean', async (t) => {
  const admin = await adminOf(t)
  const first = await admin.use(async (session) => {
    await session.query('prepare remains as select 1')
    return prepared(session)
  })
  assert.deepEqual(first.prepared, ['prepared', 'remains'])
  assert.deepEqual(await admin.use(prepared), { ...first, prepared: ['prepared'] })
})

test('a failed look-up can be repeated, on a cleaned connection', async (t) => {
  const admin = await adminOf(t)
  const divide = (by: number) => (session: Session) =>
    session.look<{ part: number }>('divide', 'select 6 / $1::integer as part', [by])
  const first = await admin.use(prepared)
  await assert.rejects(admin.use(divide(0)), { code: '22012' })
  assert.deepEqual(await admin.use(prepared), first)
  assert.equal((await admin.use(divide(2))).rows[0]!.part, 3)
})

test('a fast look leaves its session clean, and is repeated on a connection that was cleaned or has failed', async (t) => {
  const admin = await adminOf(t)
  const divide = (by: string) => async (session: Session) => {
    const [row] = await session.lookFast('divide', 'select 6 / $1::integer as part, null', [by])
    return row!.map((value) => value?.toString() ?? null)
  }
  assert.deepEqual(await admin.use(divide('2')), ['3', null])
  const first = await admin.use(prepared)
  assert.deepEqual(first.prepared, ['divide', 'prepared'])
  assert.deepEqual(await admin.use(divide('3')), ['2', null])
  await assert.rejects(admin.use(divide('0')), { code: '22012', message: 'division by zero' })
  assert.deepEqual(await admin.use(prepared), { ...first, prepared: ['prepared'] })
  assert.deepEqual(await admin.use(divide('6')), ['1', null])
  await admin.use((session) => session.query('prepare remains as select 1'))
  assert.deepEqual(await admin.use(divide('1')), ['6', null])
})

test('a fast look that has failed can be repeated on the same connection before it is cleaned', async (t) => {
  const admin = await adminOf(t)
  await admin.use(async (session) => {
    const divide = (by: string) => session.lookFast('divide', 'select 6 / $1::integer', [by])
    await assert.rejects(divide('0'), { code: '22012' })
    assert.deepEqual(await divide('2'), [[Buffer.from('3')]])
    const wrong = () => session.lookFast('wrong', 'select nothing', [])
    await assert.rejects(wrong, { code: '42703' })
    await assert.rejects(wrong, { code: '42703' })
  })
})

test('statements that are sent together are answered in order, one of them in binary and longer than a read', async (t) => {
  const admin = await adminOf(t)
  await admin.use(async (session) => {
    const sql = `select 7::int4, repeat('x', 1000000)::bytea, null::int8`
    const texts = ['begin', { sql, isBinary: true }, 'select 8 union select 9']
    const [begun, bytes, last] = await session.ask(texts)
    assert.deepEqual(begun, [])
    const [number, long, none] = bytes![0]!
    assert.equal(number!.readInt32BE(), 7)
    assert.deepEqual(long, Buffer.alloc(1_000_000, 'x'))
    assert.equal(none, null)
    assert.deepEqual(last!.map(([value]) => value!.toString()).toSorted(), ['8', '9'])
    assert.equal(session.transactionStatus, 'T')
    const failing = session.ask([{ sql: 'select nothing' }, 'select 1'])
    await assert.rejects(failing, { code: '42703', message: 'column "nothing" does not exist' })
    assert.equal(session.transactionStatus, 'E')
  })
})

test('statements that are sent together end with the first that fails: a begin that is cancelled opens no other transaction', async (t) => {
  const admin = await adminOf(t)
  await admin.use(async (session) => {
    const write = { sql: 'create table written as select 1' }
    await assert.rejects(session.ask(['select 1 / 0', write, 'select 2']), { code: '22012' })
    assert.equal(session.transactionStatus, 'I')
    const readOnly = 'begin isolation level repeatable read read only'
    await assert.rejects(session.ask([readOnly, 'select 1 / 0', 'rollback', write]), { code: '22012' })
    assert.equal(session.transactionStatus, 'E')
    await session.query('rollback')
    const [found] = await session.ask([`select to_regclass('written')`])
    assert.deepEqual(found, [[null]])
    const [, isolation] = await session.ask([readOnly, 'show transaction_isolation'])
    assert.equal(String(isolation![0]![0]), 'repeatable read')
    await assert.rejects(session.ask([write]), { code: '25006' })
  })
})

test('a page of keys is correct before and after other work on its connection', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  await user.sql('create table a (id int)')
  const shown = async () => {
    const { status, body } = await keys.list('?type=regular&order=name')
    assert.equal(status, 200, JSON.stringify(body))
    return (body.result as KeyDocument[]).map(({ name, grants }) => [name, grants[1]!.tables])
  }
  const grant = { schema: 'public', name: 'a', owner: false, permissions: ['insert', 'select'] }
  const expected: unknown[] = []
  for (const name of ['k1', 'k2', 'k3']) {
    await keys.make(name, grantsOf({ a: ['select', 'insert'] }))
    expected.push([name, [grant]])
    for (let turn = 0; turn < 3; turn++) assert.deepEqual(await shown(), expected)
  }
  await user.sql('drop table a')
  assert.deepEqual(
    await shown(),
    ['k1', 'k2', 'k3'].map((name) => [name, []]),
  )
})

/** One connection of the administrator, to a database that no one else uses. */
async function adminOf(t: TestContext) {
  const { service, user } = await setup(t)
  const { hosts } = service.services.databases
  const pools = new RolePools({
    name: 'test',
    hosts,
    passwordOf: ({ hostId }) => hosts.get(hostId).adminPassword,
    settings: { statement_timeout: 60_000 },
    maxPerHost: 1,
    maxPerRole: 1,
    idleMs: 60_000,
    waitMs: 20_000,
    answerMs: 20_000,
    log: createLog('silent'),
  })
  t.after(() => pools.close())
  const target = adminTarget(hosts, user.account.hostId, user.account.database)
  return { use: <T>(work: (session: Session) => Promise<T>) => pools.use(target, work) }
}

async function prepared(session: Session): Promise<{ processId: number; prepared: string[] }> {
  const { rows } = await session.look<{ name: string }>(
    'prepared',
    'select name from pg_prepared_statements order by name',
    [],
  )
  return { processId: session.processId, prepared: rows.map(({ name }) => name) }
}
