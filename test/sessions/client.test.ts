import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CartageError } from '../../src/client/client.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { keysClient } from '../support/keys/keys-client.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('client.transaction commits if its function returns and rolls back if it throws', async (t) => {
  const house = await setup(t)
  const client = clientOf(t, house)
  await client.sql('create table t (x int)')
  const told = await client.transaction(async (tx) => {
    await tx.sql`insert into t values (${1})`
    return (await tx.sql('select x from t')).rows
  })
  assert.deepEqual(told, [{ x: 1 }])
  const thrown = new Error('changed my mind')
  const turned = client.transaction(async (tx) => {
    await tx.sql('insert into t values (2)')
    throw thrown
  })
  await assert.rejects(turned, thrown)
  assert.deepEqual((await client.sql('select x from t')).rows, [{ x: 1 }])
})

test('a failed statement fails its transaction, even if its error was caught', async (t) => {
  const house = await setup(t)
  const client = clientOf(t, house)
  await client.sql('create table t (x int primary key)')
  const tried = client.transaction(async (tx) => {
    await tx.sql('insert into t values (1)')
    await tx.sql('insert into t values (1)').catch(() => undefined)
  })
  await assert.rejects(tried, { sqlstate: '25P02' })
  const deferred = client.transaction(
    async (tx) => {
      await tx.sql('insert into t values (1)')
      await tx.sql('create table u (x int references t deferrable initially deferred)')
      await tx.sql('insert into u values (9)')
    },
    { isolation: 'serializable' },
  )
  await assert.rejects(deferred, { sqlstate: '23503' })
  assert.deepEqual((await client.sql('select x from t')).rows, [])
})

test('statements of a session run one after another, with exact numbers, notices and progress', async (t) => {
  const house = await setup(t)
  const session = await clientOf(t, house).session()
  t.after(() => session.close())
  const notices: string[] = []
  const progress: number[] = []
  const [first, second] = await Promise.all([
    session.sql("do $$ begin raise notice 'one'; perform pg_sleep(1.2); end $$", {
      onNotice: ({ message }) => notices.push(message),
      onProgress: ({ time }) => progress.push(time),
    }),
    session.sql('select 9007199254740993 as big, 1.50 as exact'),
  ])
  assert.deepEqual([notices, first.notices, progress.length], [['one'], ['one'], 1])
  assert.equal(second.rows[0]?.big, 9007199254740993n)
  assert.equal(String(second.rows[0]?.exact), '1.50')
  assert.deepEqual(second.fields.exact, { type: 'number', pgtype: 'numeric' })
  await session.sql('begin; create temp table mine (x int)')
  assert.equal(session.transaction, 'open')
  await assert.rejects(session.sql('select 1/0'), { sqlstate: '22012', status: 400 })
  assert.equal(session.transaction, 'failed')
  await session.sql('rollback')
  assert.equal(session.transaction, 'none')
  const csv = await session.download('select 1 as a', { format: 'csv' })
  const chunks: Uint8Array[] = []
  for await (const chunk of csv) chunks.push(chunk)
  assert.equal(Buffer.concat(chunks).toString(), 'a\r\n1\r\n')
})

test('rows are streamed, and leaving the loop or a signal cancels the statement, not the session', async (t) => {
  const house = await setup(t)
  const session = await clientOf(t, house).session()
  t.after(() => session.close())
  await session.sql('set application_name = same')
  let seen = 0
  for await (const _row of session.rows(
    'select n, repeat($1, 1000) as x from generate_series(1, 1000000) n',
    { params: ['x'] },
  )) {
    seen += 1
    if (seen === 2_000) break
  }
  const all = session.rows<{ n: number }>('select n from generate_series(1, 20000) n')
  let sum = 0
  for await (const { n } of all) sum += n
  assert.deepEqual([sum, all.summary?.total_rows], [200010000, 20000])
  const startedAt = performance.now()
  await assert.rejects(session.sql('select pg_sleep(20)', { signal: AbortSignal.timeout(300) }), {
    name: 'TimeoutError',
  })
  assert.ok(performance.now() - startedAt < 5_000)
  assert.deepEqual((await session.sql('show application_name')).rows, [{ application_name: 'same' }])
})

test('a lost session fails every call with session-lost, and no new one is opened', async (t) => {
  const house = await setup(t)
  const { token } = await keysClient(house.user).make('short')
  const client = clientOf(t, house, { token })
  const [idle, busy] = [await client.session(), await client.session()]
  await idle.sql('begin')
  // Whichever comes first: the refusal of the statement or the end of the session.
  const running = assert.rejects(busy.sql('select pg_sleep(20)'), (error) => {
    assert.ok(error instanceof CartageError)
    return error.status === 401 || error.code === 'session-lost'
  })
  await eventually(async () =>
    assert.equal(
      (await house.admin(`select from pg_stat_activity where query ~ 'pg_sleep.20.'`)).rowCount! > 1,
      true,
    ),
  )
  await keysClient(house.user).remove('short')
  await running
  await eventually(() => assert.ok(idle.lost && busy.lost))
  for (const session of [idle, busy]) {
    await assert.rejects(session.sql('select 1'), { code: 'session-lost', status: 409 })
    await assert.rejects(session.sql('select 1'), { code: 'session-lost' })
    assert.equal(session.transaction, 'none')
  }
  const closed = await clientOf(t, house).session()
  closed.close()
  await assert.rejects(closed.sql('select 1'), { code: 'session-lost' })
})

test('the reason why a session cannot be opened is thrown', async (t) => {
  const house = await setup(t)
  const client = clientOf(t, house)
  const wrong = clientOf(t, house, { token: 'wrong' })
  await assert.rejects(wrong.session(), { status: 401, code: 'unauthorized' })
  const nowhere = clientOf(t, { ...house, url: 'http://127.0.0.1:1' })
  await assert.rejects(nowhere.session(), { status: 0, code: 'service-unreachable' })
  await assert.rejects(client.session({ signal: AbortSignal.abort(new Error('no')) }), /no/)
  await Promise.all([client.session(), client.session()])
  await assert.rejects(client.session(), (error) => {
    assert.ok(error instanceof CartageError)
    assert.deepEqual([error.status, error.code, error.retryAfterSeconds], [429, 'too-many-sessions', 5])
    return true
  })
})
