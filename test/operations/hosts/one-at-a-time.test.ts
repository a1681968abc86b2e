import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { advisoryLocks } from '../../../src/postgres/advisory-locks.ts'
import type { RunningService } from '../../../src/service/service.ts'
import { silentProxy } from '../../support/postgres/silent-proxy.ts'
import { startProxy } from '../../support/postgres/tcp-proxy.ts'
import { admin, isError, startHost } from '../../support/postgres/two-hosts.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { newInstallation } from '../../support/service/installation.ts'
import { eventually } from '../../support/service/setup.ts'

test('while a host is removed nothing is added, so what is dropped there is only of the removed one', async (t) => {
  const { service, cluster, namespace } = await house(t)
  const { hosts, close } = admin(service)
  t.after(close)
  const proxy = await silentProxy(t, cluster.url)
  await hosts.add({ name: 'second', url: proxy.url })
  proxy.silence('postgres', { andNew: true })
  const removal = hosts.remove('second')
  removal.catch(() => undefined)
  await eventually(async () => assert.equal((await hosts.list()).length, 1))
  await assert.rejects(hosts.add({ name: 'second', url: cluster.url }), isError(409))
  proxy.speak()
  await removal
  await hosts.add({ name: 'second', url: cluster.url })
  const { rows } = await runSql(
    { connectionString: cluster.url },
    'select datname from pg_database where datname like $1 order by 1',
    [`${namespace}%`],
  )
  assert.deepEqual(
    rows.map(({ datname }) => datname),
    [namespace, `${namespace}_template`],
  )
  await hosts.remove('second')
})

test('a host is not stored if the lock was lost while it was checked', async (t) => {
  const { service, cluster } = await house(t)
  const { hosts, close } = admin(service)
  t.after(close)
  const proxy = await silentProxy(t, cluster.url)
  proxy.silence('postgres', { andNew: true })
  const adding = hosts.add({ name: 'second', url: proxy.url })
  adding.catch(() => undefined)
  const { control } = service.services.databases
  await eventually(async () => {
    const { rowCount } = await control.query(
      `select pg_terminate_backend(pid) from pg_locks join pg_database d on d.oid = database
       where datname = current_database() and locktype = 'advisory' and classid = $1 and granted`,
      [advisoryLocks.hosts],
    )
    assert.equal(rowCount, 1)
  })
  proxy.speak()
  await assert.rejects(adding)
  assert.equal((await hosts.list()).length, 1)
})

test('a cluster is not added again under another name while its host does not answer', async (t) => {
  const { service, cluster } = await house(t)
  const { hosts, close } = admin(service)
  t.after(close)
  const proxy = await startProxy(t, cluster.url)
  await hosts.add({ name: 'second', url: proxy.url })
  proxy.leadTo('postgres://127.0.0.1:1')
  await assert.rejects(
    hosts.add({ name: 'again', url: cluster.url }),
    /'second' does not answer, and this cluster has a database of this installation/,
  )
  const other = await startHost(t)
  assert.equal((await hosts.add({ name: 'third', url: other.url })).name, 'third')
  await hosts.change('second', { url: cluster.url })
  for (const name of ['second', 'third']) await hosts.remove(name)
})

test('a host is not removed if a user comes there meanwhile', async (t) => {
  const { service, cluster } = await house(t)
  const { hosts, close } = admin(service)
  t.after(close)
  await hosts.add({ name: 'second', url: cluster.url })
  const { control } = service.services.databases
  const client = await control.connect()
  try {
    await client.query(
      `begin; insert into cartage.databases (host_id, name) select id, 'late' from cartage.hosts where name = 'second'`,
    )
    const removal = hosts.remove('second')
    removal.catch(() => undefined)
    await eventually(async () => {
      const { rowCount } = await control.query(
        'select from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())',
      )
      assert.equal(rowCount, 1)
    })
    await client.query('commit')
    await assert.rejects(removal, /has 1 databases of users/)
  } finally {
    client.release()
  }
  await control.query(`delete from cartage.databases where name = 'late'`)
  await hosts.remove('second')
})

type House = Readonly<{
  service: RunningService
  cluster: Awaited<ReturnType<typeof startHost>>
  namespace: string
}>

async function house(t: TestContext): Promise<House> {
  const { config, start } = await newInstallation(t)
  const { namespace } = config
  return { service: await start(), cluster: await startHost(t, namespace), namespace }
}
