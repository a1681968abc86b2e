import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartage } from '../../support/http/call.ts'
import { newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'

test('the command moves a user and prints the phases and how long the user was not served', async (t) => {
  const { service, installation } = await startWithTwoHosts(t)
  const alice = await newUser(service, 'alice')
  await alice.sql('create table t as select 1 as n')
  const env = {
    CARTAGE_DATABASE_URL: installation.keys.adminUrl,
    CARTAGE_SECRET: installation.keys.secret,
    CARTAGE_NAMESPACE: installation.config.namespace,
  }
  const closed = await cartage(env, 'host', 'set', 'second', '--no-new-users')
  assert.equal(closed.out, 'host second takes no new users\n', closed.err)
  const refused = await cartage(env, 'user', 'move', 'alice', 'second')
  assert.deepEqual([refused.code, /takes no new users/.test(refused.err)], [1, true], refused.err)
  assert.match((await cartage(env, 'host', 'list')).out, /^second .*, no new users$/m)
  assert.equal((await cartage(env, 'host', 'set', 'second')).code, 2)
  await cartage(env, 'host', 'set', 'second', '--new-users')
  const moved = await cartage(env, 'user', 'move', 'alice', 'second')
  assert.match(moved.out, /^moved user alice from local to second; not served for \d+\.\d s\n$/, moved.err)
  assert.match(moved.err, /copying/)
  assert.deepEqual((await alice.sql('select n from t')).rows, [{ n: 1 }])
  assert.match((await cartage(env, 'move', 'list')).out, /^1 {2}alice from local to second: done 100 %\n$/)
})
