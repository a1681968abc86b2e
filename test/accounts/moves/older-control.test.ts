import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admin, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { runSql, withDatabase } from '../../support/runner/namespace.ts'
import { leftOn, untilEnded } from '../../support/service/moving.ts'

test('with a control database restored to before the switch, the service does not drop the moved account', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  await operator.hosts.change('second', { accepts_users: false })
  await newUser(service, 'alice')
  await operator.hosts.change('second', { accepts_users: true })
  const { id } = await operator.users.move('alice', 'second')
  assert.equal((await untilEnded(operator, id)).phase, 'done')
  const { namespace } = installation.config
  const arrived = await leftOn(cluster.url, namespace)
  assert.ok(arrived.includes(`${namespace}_u1`))

  await runSql(
    { connectionString: withDatabase(installation.keys.adminUrl, namespace) },
    `update cartage.databases set host_id = m.from_host_id from cartage.moves m;
     update cartage.moves set phase = 'copying', ended_at = null`,
  )
  assert.equal((await untilEnded(operator, id)).phase, 'failed')
  assert.deepEqual(await leftOn(cluster.url, namespace), arrived)
})
