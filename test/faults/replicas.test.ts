import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeReplica } from '../../src/hosts/replicas/remove-replica.ts'
import { grantsOf } from '../support/keys/keys-client.ts'
import {
  callerOf,
  paused,
  type Sql,
  setOn,
  startWithReplica,
  toReplica,
} from '../support/postgres/replica-world.ts'
import { newStandbyPair } from '../support/postgres/standby-pair.ts'
import { admin } from '../support/postgres/two-hosts.ts'
import { eventually } from '../support/service/setup.ts'

test('a request with read_from replica is answered by a replica, with its age', async (t) => {
  const { user } = await startWithReplica(t)
  const first = await user.sql('select pg_is_in_recovery() as replica', toReplica)
  assert.deepEqual(first.rows, [{ replica: true }])
  assert.match(first.age!, /^\d+$/)
  assert.ok(Number(first.age) <= 10_000)
  for (const headers of [undefined, { 'x-read-from': 'primary' }]) {
    const { rows, age } = await user.sql('select pg_is_in_recovery() as replica', headers)
    assert.deepEqual({ rows, age }, { rows: [{ replica: false }], age: null })
  }
  const { status, text } = await user.sql('select 1', { 'x-read-from': 'nowhere' })
  assert.equal(status, 400)
  assert.match(text, /X-Read-From must be replica or primary/)
})

test('every format, a long answer, bound values and a counted total come from the replica', async (t) => {
  const { user } = await startWithReplica(t)
  for (const path of [
    '?q=select+1+as+n&format=csv',
    '?q=select+1+as+n&format=arrow',
    '?q=select+1+as+n&format=xlsx',
    '?q=select+1+as+n&format=arraybuffer',
    '?q=select+repeat(%27x%27,1000)+from+generate_series(1,1000)',
    '?q=select+$1::postgis.geometry[]+is+null+as+n&params=[["POINT(1 1)"]]',
    '?q=select+generate_series(1,9)+as+n&rows_per_page=2&total=exact',
  ]) {
    const { status, age, text } = await user.send(path, toReplica)
    assert.deepEqual([status, age !== null], [200, true], `${path} ${text.slice(0, 200)}`)
  }
})

test('a write with read_from replica runs on the primary, once', async (t) => {
  const { user } = await startWithReplica(t)
  await user.sql('create table t (n int)')
  const writes = [
    'insert into t values (1)',
    'select 2; insert into t values (2)',
    'set default_transaction_read_only = off; insert into t values (3)',
    'create temp table own (n int); insert into t select count(*) + 4 from own',
    'create sequence s; select nextval($$s$$)',
    'begin isolation level serializable; insert into t values (5); commit',
    'do $$ begin insert into t values (6); exception when others then null; end $$',
    'with made as (insert into t values (7) returning n) select n from made',
  ]
  for (const text of writes) {
    const { status, age, text: told } = await user.sql(text, toReplica)
    assert.deepEqual([status, age], [200, null], told)
  }
  const { rows } = await user.sql('select n from t order by n')
  assert.deepEqual(rows, [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }, { n: 5 }, { n: 6 }, { n: 7 }])
})

test('the primary answers what the replica does not have yet', async (t) => {
  const { user, standby } = await startWithReplica(t)
  await paused(t, standby, async () => {
    await user.sql('create table late (n int)')
    const { status, rows, age } = await user.sql('select count(*) as n from late', toReplica)
    assert.deepEqual({ status, rows, age }, { status: 200, rows: [{ n: 0 }], age: null })
  })
})

test('a replica that lags more than allowed answers nothing until it has caught up', async (t) => {
  const { user, standby } = await startWithReplica(t, { replicaMaxLagMs: 2_000 })
  await paused(t, standby, async () => {
    await user.sql('create table written (n int)')
    const { age } = await user.sql('select 1', toReplica)
    assert.notEqual(age, null)
    await eventually(async () => assert.equal((await user.sql('select 1', toReplica)).age, null))
  })
  await eventually(async () => assert.notEqual((await user.sql('select 1', toReplica)).age, null))
})

test('an idle primary does not make its replica look outdated', async (t) => {
  const { user } = await startWithReplica(t, { replicaMaxLagMs: 3_000 })
  const began = performance.now()
  while (performance.now() - began < 4_500) assert.notEqual((await user.sql('select 1', toReplica)).age, null)
})

test('a revoked grant applies at once in every process, before any replica has replayed it', async (t) => {
  const { user, standby, services } = await startWithReplica(t, {}, 2)
  await user.sql('create table t (n int)')
  const token = await user.createKey('reader', grantsOf({ t: ['select'] }))
  const asReader = services.map((service) => callerOf(service, user.username, token))
  for (const reader of asReader)
    await eventually(async () => assert.notEqual((await reader.sql('select * from t', toReplica)).age, null))
  await paused(t, standby, async () => {
    await user.changeKey('reader', { grants: grantsOf() })
    for (const reader of asReader) assert.equal((await reader.sql('select * from t', toReplica)).status, 403)
    // Other users of the host are not answered there either until the replica has replayed it.
    assert.equal((await user.sql('select * from t', toReplica)).age, null)
  })
  await eventually(async () => assert.notEqual((await user.sql('select * from t', toReplica)).age, null))
  for (const reader of asReader) assert.equal((await reader.sql('select * from t', toReplica)).status, 403)
})

test('a deleted key is refused at once, and its reads on a replica are ended', async (t) => {
  const { user, standby, services } = await startWithReplica(t, {}, 2)
  const token = await user.createKey('short', grantsOf())
  // In another process than the one that deletes the key.
  const reader = callerOf(services[1]!, user.username, token)
  await eventually(async () => assert.notEqual((await reader.sql('select 1', toReplica)).age, null))
  await paused(t, standby, async () => {
    const sleeping = reader.sql('select pg_sleep(60)', toReplica)
    await eventually(async () => {
      const { rowCount } = await standby(
        `select from pg_stat_activity where query like '%pg_sleep(60)%' and state = 'active' and pid <> pg_backend_pid()`,
      )
      assert.equal(rowCount, 1)
    })
    await user.deleteKey('short')
    assert.equal((await reader.sql('select 1', toReplica)).status, 401)
    assert.equal((await sleeping).status, 401)
  })
})

test('a statement that the replica cancels in favour of its replay is answered by the primary', async (t) => {
  const { user, standby } = await startWithReplica(t)
  await user.sql('create table t as select 1 as n')
  await setOn(t, standby, 'max_standby_streaming_delay', '0')
  await eventually(async () => assert.notEqual((await user.sql('select * from t', toReplica)).age, null))
  const before = await conflictsOf(standby)
  const asked = user.sql('select pg_sleep(1.5), n from t', toReplica)
  await eventually(async () => {
    const { rowCount } = await standby(
      `select from pg_stat_activity where query like '%pg_sleep(1.5)%' and wait_event = 'PgSleep'`,
    )
    assert.equal(rowCount, 1)
  })
  await user.sql('alter table t add column m int')
  const { status, rows, age, text } = await asked
  assert.deepEqual([status, rows?.length, age], [200, 1, null], text)
  await eventually(async () => assert.ok((await conflictsOf(standby)) > before))
})

test("the same limits apply on a replica: time, clean connections, a role's own settings", async (t) => {
  const { user } = await startWithReplica(t, { queryTimeoutMs: 700 })
  const slow = await user.sql('select pg_sleep(5)', toReplica)
  assert.deepEqual([slow.status, /700 ms/.test(slow.text)], [429, true])
  const set = await user.sql(`select set_config('own.setting', 'left', false)`, toReplica)
  assert.notEqual(set.age, null)
  const seen = await user.sql(`select current_setting('own.setting', true) as found`, toReplica)
  assert.ok(['', null].includes(seen.rows![0]!.found as string | null))
  await user.sql(
    `do $$ begin execute format('alter role %I set work_mem = %L', current_user, '64kB'); end $$`,
  )
  const own = await eventually(async () => {
    const answer = await user.sql('show work_mem', toReplica)
    assert.equal(answer.status, 200)
    return answer
  })
  assert.notEqual(own.rows![0]!.work_mem, '64kB')
})

test('a replica that does not answer is left out, and used again when it is back', async (t) => {
  const { user, proxy, pair } = await startWithReplica(t)
  proxy.leadTo('postgres://nobody@127.0.0.1:1/')
  const { status, age } = await user.sql('select 1', toReplica)
  assert.deepEqual({ status, age }, { status: 200, age: null })
  proxy.leadTo(pair.standbyUrl)
  await eventually(async () => assert.notEqual((await user.sql('select 1', toReplica)).age, null))
})

test('a caller whose own request fails on a replica does not switch it off for others', async (t) => {
  const { user } = await startWithReplica(t)
  for (let count = 0; count < 3; count += 1) {
    await user.sql('select pg_terminate_backend(pg_backend_pid())', toReplica)
    assert.notEqual((await user.sql('select 1', toReplica)).age, null)
  }
})

test('a removed replica is not read any more', async (t) => {
  const { user, service } = await startWithReplica(t)
  await removeReplica(service.services.installation, 'east')
  const { rows, age } = await user.sql('select pg_is_in_recovery() as replica', toReplica)
  assert.deepEqual({ rows, age }, { rows: [{ replica: false }], age: null })
})

test('only a standby of the host can be added as its replica', async (t) => {
  const { service, pair } = await startWithReplica(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const replicas = operator.hosts.replicas('second')
  assert.deepEqual(
    (await replicas.list()).map(({ name, host }) => ({ name, host })),
    [{ name: 'east', host: 'second' }],
  )
  const refused = (added: Promise<unknown>, why: RegExp) =>
    assert.rejects(added, (error: Error & { status?: number }) => {
      assert.deepEqual([error.status, why.test(error.message)], [422, true], error.message)
      return true
    })
  await refused(replicas.add({ name: 'west', url: pair.primaryUrl }), /is not a standby: it takes writes/)
  await refused(
    operator.hosts.replicas('local').add({ name: 'west', url: pair.standbyUrl }),
    /is not a standby of the host 'local'/,
  )
  await refused(
    replicas.add({ name: 'east', url: pair.standbyUrl }),
    /There is a replica or a host 'east' already/,
  )
  await refused(replicas.add({ name: 'local', url: pair.standbyUrl }), /a host 'local' already/)
  await refused(replicas.add({ name: 'West!', url: pair.standbyUrl }), /lower-case/)
  await refused(
    replicas.add({ name: 'west', url: 'postgres://a@127.0.0.1:1/x' }),
    /127.0.0.1:1 cannot be used/,
  )
  await refused(replicas.add({ name: 'west', url: 'postgres://a@127.0.0.1:1,b:2/x' }), /must name one server/)
  await assert.rejects(replicas.remove('west'), { status: 404 })
  await assert.rejects(operator.hosts.replicas('nowhere').list(), { status: 404 })
  assert.deepEqual(await replicas.remove('east'), { name: 'east', deleted: true })
  assert.deepEqual(await replicas.list(), [])
})

test('a promoted replica is not read any more and gets no writes', async (t) => {
  const pair = await newStandbyPair('ct_promoted')
  const { user, standby } = await startWithReplica(t, {}, 1, pair)
  await user.sql('create table t (n int)')
  await eventually(async () => assert.notEqual((await user.sql('select * from t', toReplica)).age, null))
  await standby('select pg_promote(true, 20)')
  const text =
    'set default_transaction_read_only = off; insert into t values (1); select count(*)::int as n from t'
  const { status, rows, age } = await user.sql(text, toReplica)
  assert.deepEqual({ status, rows, age }, { status: 200, rows: [{ n: 1 }], age: null })
  assert.equal((await user.sql('select * from t')).rows!.length, 1)
  assert.equal((await user.sql('select * from t', toReplica)).age, null)
})

const conflictsOf = async (standby: Sql) =>
  Number((await standby('select sum(conflicts) as n from pg_stat_database')).rows[0].n)
