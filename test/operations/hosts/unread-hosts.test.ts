import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { addHost } from '../../../src/hosts/add-host.ts'
import { loadUnread } from '../../../src/hosts/load-hosts.ts'
import { connectInstallation } from '../../../src/hosts/open-installation.ts'
import { prepareHosts, prepareLater } from '../../../src/hosts/prepare-hosts.ts'
import { createLog } from '../../../src/log/log.ts'
import { admin, isError, startHost } from '../../support/postgres/two-hosts.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { newDataDir } from '../../support/service/data-dir.ts'
import { newInstallation } from '../../support/service/installation.ts'
import { eventually } from '../../support/service/setup.ts'

test('a cluster is not added again while the address of its host cannot be read, and its databases stay', async (t) => {
  const { service, start, cluster, certificate, namespace } = await house(t)
  const databases = async () => {
    const { rows } = await runSql(
      { connectionString: cluster.url },
      'select datname from pg_database where datname like $1 order by 1',
      [`${namespace}%`],
    )
    return rows.map(({ datname }) => datname)
  }
  await rm(certificate)
  const { hosts, close } = admin(await start())
  t.after(close)
  const again = { name: 'again', url: cluster.url }
  await assert.rejects(
    hosts.add(again),
    /The address of the host 'second' cannot be read here .* so it may be that host/,
  )
  const fresh = await startHost(t)
  assert.equal((await hosts.add({ name: 'third', url: fresh.url })).name, 'third')

  const { control } = service.services.databases
  const addByHand = () =>
    control.query(
      'insert into cartage.hosts (id, name, sealed_url) overriding system value values (98, $1, $2)',
      [again.name, service.services.secrets.seal(again.url)],
    )
  const both = [namespace, `${namespace}_template`]
  await addByHand()
  await hosts.remove('again')
  assert.deepEqual(await databases(), both, 'they may be those of the host that cannot be read')
  await addByHand()
  await writeFile(certificate, '')
  await hosts.remove('again')
  assert.deepEqual(await databases(), both, 'they are those of the other host')
  await assert.rejects(hosts.add(again), /This cluster is the host 'second' already/)
  for (const name of ['second', 'third']) await hosts.remove(name)
  assert.deepEqual(await databases(), [])
})

test('a host stays in use while the file of its address is missing, and is used everywhere once it is back', async (t) => {
  const { service, start, certificate } = await house(t)
  const operator = admin(service)
  t.after(operator.close)
  await operator.hosts.change('local', { accepts_users: false })
  const { api_key: token } = await operator.users.create({ username: 'first' })
  await rm(certificate)
  const other = await start()
  const [here, there] = [service, other].map(({ url: baseUrl }) => {
    const client = createClient({ baseUrl, username: 'first', token, retries: 0 })
    t.after(() => client.close())
    return client
  })
  // Every process reads the addresses again.
  await operator.users.create({ username: 'second' })
  assert.equal((await here!.sql('select 1')).total_rows, 1)
  await assert.rejects(there!.sql('select 1'), isError(503))
  await writeFile(certificate, '')
  await eventually(async () => assert.equal((await there!.sql('select 1')).total_rows, 1), 20_000)
})

test('a host whose address could not be read at the start is prepared once it can be read', async (t) => {
  const { config, keys, cluster, certificate, namespace } = await house(t)
  await rm(certificate)
  const { installation } = await connectInstallation(config, keys, createLog('silent'))
  t.after(() => installation.databases.close())
  const left = await prepareHosts(installation)
  assert.equal(left.length, 1)
  await runSql({ connectionString: cluster.url }, `grant connect on database "${namespace}" to public`)
  const patience = AbortSignal.timeout(20_000)
  const prepared = prepareLater(installation, left, patience, 10)
  await writeFile(certificate, '')
  await loadUnread(installation)
  await prepared
  assert.equal(patience.aborted, false)
  const { rows } = await runSql(
    { connectionString: cluster.url },
    `select has_database_privilege('public', $1, 'connect') as "isOpen"`,
    [namespace],
  )
  assert.deepEqual(rows, [{ isOpen: false }])
})

/** The address of the second host names a file, which is there. */
async function house(t: TestContext) {
  const { config, keys, start } = await newInstallation(t)
  const { namespace } = config
  const cluster = await startHost(t, namespace)
  const certificate = join(await newDataDir(t), 'root.pem')
  await writeFile(certificate, '')
  const service = await start()
  const address = `${cluster.url}&sslrootcert=${certificate}`
  await addHost(service.services.installation, 'second', address)
  return { config, keys, start, service, cluster, certificate, namespace }
}
