import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartage } from '../../support/http/call.ts'
import { admin, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { eventually } from '../../support/service/setup.ts'

test('a host that is lost during a move can be removed, and its account deleted', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const alice = await newUser(service, 'alice')
  await alice.sql(`
    create function waits() returns boolean language sql as $$ select pg_catalog.pg_sleep(
      case when pg_catalog.current_setting('application_name') = 'cartage move' then 60 else 0 end) is not null $$;
    create table t (n int check (public.waits()));
    insert into t values (1)`)
  const { id } = await operator.users.move('alice', 'second')
  await eventually(async () => assert.equal((await operator.moves.read(id)).phase, 'copying'))
  await cluster.stop()
  await eventually(async () => assert.equal((await operator.moves.read(id)).phase, 'undoing'), 60_000)
  await eventually(async () => assert.deepEqual((await alice.sql('select n from t')).rows, [{ n: 1 }]))
  const env = {
    CARTAGE_DATABASE_URL: installation.keys.adminUrl,
    CARTAGE_SECRET: installation.keys.secret,
    CARTAGE_NAMESPACE: installation.config.namespace,
  }
  const cancelled = await cartage(env, 'move', 'cancel', String(id))
  assert.match(cancelled.out, /has left on second cannot be dropped now/, cancelled.err)
  assert.match((await cartage(env, 'host', 'remove', 'second')).err, /A user moves from or to the host/)
  assert.match((await cartage(env, 'host', 'remove', 'second', '--lost')).err, /add --yes to remove it/)
  const removed = await cartage(env, 'host', 'remove', 'second', '--lost', '--yes')
  assert.equal(removed.out, 'removed host second\n', removed.err)
  assert.equal((await operator.moves.read(id)).phase, 'failed')
  await operator.users.delete('alice')
})
