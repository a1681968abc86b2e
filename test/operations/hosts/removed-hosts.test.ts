import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addHost } from '../../../src/hosts/add-host.ts'
import { openInstallation } from '../../../src/hosts/open-installation.ts'
import { prepareLater } from '../../../src/hosts/prepare-hosts.ts'
import { createLog } from '../../../src/log/log.ts'
import { cartage } from '../../support/http/call.ts'
import { admin, startHost, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { newInstallation } from '../../support/service/installation.ts'
import { setup } from '../../support/service/setup.ts'

test('a cluster of another installation with the same name cannot be added as a host', async (t) => {
  const { config, keys, start } = await newInstallation(t)
  const cluster = await startHost(t)
  const elsewhere = await openInstallation(config, { ...keys, adminUrl: cluster.url }, createLog('error'))
  await elsewhere.databases.close()
  const { installation } = (await start()).services
  await assert.rejects(addHost(installation, 'second', cluster.url), /already has another installation/)
  assert.equal(installation.databases.hosts.all().length, 1)
})

test('a removed host keeps nothing of the service', async (t) => {
  const { installation, cluster } = await startWithTwoHosts(t)
  const databases = async () => {
    const { rows } = await runSql(
      { connectionString: cluster.url },
      'select datname from pg_database order by 1',
    )
    return rows.map(({ datname }) => datname)
  }
  const { namespace } = installation.config
  assert.deepEqual(await databases(), [
    namespace,
    `${namespace}_template`,
    'postgres',
    'template0',
    'template1',
  ])
  const env = {
    CARTAGE_DATABASE_URL: installation.keys.adminUrl,
    CARTAGE_SECRET: installation.keys.secret,
    CARTAGE_NAMESPACE: namespace,
  }
  const removed = await cartage(env, 'host', 'remove', 'second')
  assert.equal(removed.out, 'removed host second\n', removed.err)
  assert.deepEqual(await databases(), ['postgres', 'template0', 'template1'])
})

test('a host whose databases cannot be dropped is removed all the same', async (t) => {
  const { service, installation, cluster } = await startWithTwoHosts(t)
  const template = `${installation.config.namespace}_template`
  // PostgreSQL drops no such database.
  await runSql({ connectionString: cluster.url }, `alter database "${template}" is_template true`)
  const { hosts, close } = admin(service)
  t.after(close)
  assert.deepEqual(await hosts.remove('second'), { name: 'second', deleted: true })
  assert.equal((await hosts.list()).length, 1)
})

test('a new host is added if not every process can be told of it at once', async (t) => {
  const { start, config } = await newInstallation(t)
  const service = await start()
  const cluster = await startHost(t, config.namespace)
  const { control } = service.services.databases
  await control.query(`create or replace function cartage.tell(channel text, message text) returns void
    language plpgsql as $$ begin if message <> '' then raise 'not told'; end if; end $$`)
  const { hosts, close } = admin(service)
  t.after(close)
  assert.equal((await hosts.add({ name: 'second', url: cluster.url })).name, 'second')
  // Work may go on at the old address, so the change must be repeated.
  await assert.rejects(hosts.change('second', { url: cluster.url }), /not told/)
})

test('requests do not wait for a host that was removed before it was prepared', async (t) => {
  const { service } = await setup(t)
  const patience = AbortSignal.timeout(5_000)
  await prepareLater(service.services.installation, [987_654], patience, 10)
  assert.equal(patience.aborted, false)
})
