import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { cartage } from '../../support/http/call.ts'
import { admin, isError, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { runSql, withDatabase } from '../../support/runner/namespace.ts'
import { leftOn, slowTable, untilEnded } from '../../support/service/moving.ts'
import { eventually } from '../../support/service/setup.ts'

test('a move can be cancelled before its switch and leaves nothing behind; later the cancel is refused', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const alice = await newUser(service, 'alice')
  await alice.sql(slowTable)
  const { id } = await operator.users.move('alice', 'second')
  await eventually(async () => assert.equal((await operator.moves.read(id)).phase, 'copying'))
  await newUser(service, 'bob')
  const hosts = await operator.hosts.list()
  const bobsHost = hosts.find(({ name, databases }) => databases === (name === 'local' ? 2 : 1))!.name
  const bobs = await operator.users.move('bob', bobsHost === 'local' ? 'second' : 'local')
  assert.equal(bobs.phase, 'waiting')
  // A move that has not begun ends at once.
  assert.deepEqual(await operator.moves.cancel(bobs.id).then(({ phase, error }) => [phase, error]), [
    'failed',
    'Cancelled by the operator',
  ])
  assert.ok(['undoing', 'failed'].includes((await operator.moves.cancel(id)).phase))
  const move = await untilEnded(operator, id, 20_000)
  assert.deepEqual([move.phase, move.error], ['failed', 'Cancelled by the operator'])
  assert.deepEqual((await alice.sql('select n from t')).rows, [{ n: 1 }])
  const { namespace } = installation.config
  assert.ok(!(await leftOn(installation.keys.adminUrl, namespace)).some((name) => name.endsWith('_mover')))
  assert.ok(!(await leftOn(cluster.url, namespace)).some((name) => name.startsWith(`${namespace}_u1`)))
  // A repeated cancel changes nothing.
  assert.deepEqual(await operator.moves.cancel(id), move)
  await assert.rejects(operator.moves.cancel(4711), isError(404))

  await alice.sql('drop table t')
  const done = await untilEnded(operator, (await operator.users.move('alice', 'second')).id)
  assert.equal(done.phase, 'done')
  await assert.rejects(
    operator.moves.cancel(done.id),
    /past its switch: the user 'alice' went to the host 'second'/,
  )
  const actions = (await operator.audit({ account: 'alice' })).map(({ action }) => action)
  assert.equal(actions.filter((action) => action === 'move.cancelled').length, 1)
})

test('the command cancels a move of another process and waits until it is undone', async (t) => {
  const { service, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const alice = await newUser(service, 'alice')
  await alice.sql(slowTable)
  const env = {
    CARTAGE_DATABASE_URL: installation.keys.adminUrl,
    CARTAGE_SECRET: installation.keys.secret,
    CARTAGE_NAMESPACE: installation.config.namespace,
  }
  const { id } = await operator.users.move('alice', 'second')
  await eventually(async () => assert.equal((await operator.moves.read(id)).phase, 'copying'))
  const { out, err } = await cartage(env, 'move', 'cancel', String(id))
  assert.equal(out, `cancelled move ${id}: user alice did not go to second\n`, err)
  assert.deepEqual((await alice.sql('select n from t')).rows, [{ n: 1 }])
  const again = await cartage(env, 'move', 'cancel', String(id))
  assert.deepEqual([again.code, again.out], [0, out], again.err)
  assert.match((await cartage(env, 'move', 'cancel', 'x')).err, /There is no move x/)
})

test('a move cannot be cancelled during its switch', async (t) => {
  const { service, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  await newUser(service, 'alice')
  const { adminUrl } = installation.keys
  const control = new pg.Client({ connectionString: withDatabase(adminUrl, installation.config.namespace) })
  await control.connect()
  control.on('error', () => undefined)
  // The switch waits for this row after its decision.
  await control.query('begin; select from cartage.databases for no key update')
  const { id } = await operator.users.move('alice', 'second')
  const waits = (statement: string) =>
    eventually(async () => {
      const { rows } = await runSql(
        { connectionString: adminUrl },
        `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock' and query ~ $2`,
        [installation.config.namespace, statement],
      )
      assert.equal(rows.length, 1)
    }, 60_000)
  await waits('update cartage.databases')
  const cancelled = operator.moves.cancel(id)
  cancelled.catch(() => undefined)
  await waits('cartage.moves')
  await control.query('commit')
  await control.end()
  await assert.rejects(cancelled, isError(409))
  assert.equal((await untilEnded(operator, id)).phase, 'done')
})
