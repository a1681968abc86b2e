import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { cartage } from '../../support/http/call.ts'
import { admin, isError, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { leftOn } from '../../support/service/moving.ts'
import { eventually } from '../../support/service/setup.ts'

test('the command drains a host: it says what is left and why, and the empty host can be removed', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  await operator.hosts.change('local', { accepts_users: false })
  const alice = await newUser(service, 'alice')
  await alice.sql('create table t as select generate_series(1, 10) as n')
  const bob = await newUser(service, 'bob')
  // The function finds its table by the search path, which a restore does not set.
  await bob.sql(`
    create table limits (most int); insert into limits values (100);
    create function fits(n int) returns boolean language plpgsql as $$ begin return n <= (select most from limits); end $$;
    create table t (n int check (fits(n))); insert into t values (1)`)
  const { owner } = await operator.organizations.create({ name: 'acme', owner: { username: 'boss' } })
  const boss = createClient({ baseUrl: service.url, username: 'boss', token: owner.api_key })
  await boss.sql('create table t as select 1 as n')
  const env = {
    CARTAGE_DATABASE_URL: installation.keys.adminUrl,
    CARTAGE_SECRET: installation.keys.secret,
    CARTAGE_NAMESPACE: installation.config.namespace,
  }
  const alone = await cartage(env, 'host', 'drain', 'second')
  assert.deepEqual([alone.code, /No other host that answers takes new users/.test(alone.err)], [1, true])
  assert.match((await cartage(env, 'host', 'drain', 'second', '--to', 'local')).err, /takes no new users/)
  assert.match((await cartage(env, 'host', 'drain', 'second', '--to', 'second')).err, /its own users/)
  assert.match((await cartage(env, 'host', 'drain', 'third')).err, /There is no host 'third'/)
  assert.equal((await operator.hosts.list())[1]!.accepts_users, true)

  await operator.hosts.change('local', { accepts_users: true })
  assert.match((await cartage(env, 'host', 'remove', 'second')).err, /cartage host drain second/)
  const first = await cartage(env, 'host', 'drain', 'second')
  assert.equal(first.code, 1)
  assert.match(first.out, /^left user bob: .*limits/m)
  assert.match(first.out, /^host second still has one account/m)
  assert.match(first.err, /^moved organization acme to local; not served for/m)
  assert.equal((await operator.hosts.list())[1]!.accepts_users, false)
  assert.deepEqual((await bob.sql('select n from t')).rows, [{ n: 1 }])

  await bob.sql('alter table t drop constraint t_n_check')
  const again = await cartage(env, 'host', 'drain', 'second', '--json')
  assert.equal(again.code, 0, again.err)
  const { moves, left } = JSON.parse(again.out)
  assert.deepEqual([moves.map((move: { username: string }) => move.username), left], [['bob'], []])
  assert.deepEqual(await leftOn(cluster.url, installation.config.namespace), [])
  const removed = await cartage(env, 'host', 'remove', 'second')
  assert.equal(removed.out, 'removed host second\n', removed.err)
  for (const [client, rows] of [[alice, 10] as const, [bob, 1] as const, [boss, 1] as const])
    assert.equal((await client.sql('select n from t')).rows.length, rows)
})

test('the service drains a host and reports the accounts that have no move', async (t) => {
  const { service } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  await operator.hosts.change('second', { accepts_users: false })
  for (const username of ['alice', 'bob']) await newUser(service, username)
  await operator.users.suspend('bob', 'unpaid')
  await operator.hosts.change('second', { accepts_users: true })
  const ends = async () =>
    (await operator.hosts.drain('local')).moves.map(({ username, to_host }) => [username, to_host])
  assert.deepEqual((await ends()).sort(), [
    ['alice', 'second'],
    ['bob', 'second'],
  ])
  // A repeated drain adds nothing.
  const { left } = await operator.hosts.drain('local', { to: 'second' })
  assert.deepEqual(left, [])
  assert.ok((await operator.moves.list()).length <= 2)
  await eventually(async () => assert.deepEqual(await ends(), []), 60_000)
  assert.deepEqual(
    (await operator.hosts.list()).map(({ databases }) => databases),
    [0, 2],
  )
  assert.equal((await operator.users.read('bob')).suspended_reason, 'unpaid')
  await assert.rejects(operator.hosts.drain('none'), isError(422))
  await assert.rejects(operator.hosts.drain('second', { to: 'local' }), /takes no new users/)
})
