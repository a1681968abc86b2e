import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { AdminClient } from '../../../src/client/admin-client.ts'
import { readConfig } from '../../../src/config/config.ts'
import { addHost } from '../../../src/hosts/add-host.ts'
import { openInstallation } from '../../../src/hosts/open-installation.ts'
import { createLog } from '../../../src/log/log.ts'
import { startService } from '../../../src/service/service.ts'
import { cartage } from '../../support/http/call.ts'
import { admin, isError, newUser, startHost } from '../../support/postgres/two-hosts.ts'
import { runSql, testKeys } from '../../support/runner/namespace.ts'
import { leftOn, untilEnded } from '../../support/service/moving.ts'
import { startProcess } from '../../support/service/processes.ts'

const namespace = 'managed'

test('the control database works with a login that is not a superuser: users are on other hosts and can move between them', async (t) => {
  const control = await managedServer(t, 'nocreatedb nocreaterole')
  await control.run(`create database ${namespace} owner keeper`)
  await control.run('grant pg_monitor to keeper')
  const { service, written } = await start(t, control.url(namespace))
  const operator = admin(service)
  t.after(() => operator.close())
  assert.match(written(), /takes no users. They need another host: cartage host add/)
  await assert.rejects(operator.users.create({ username: 'early' }), needsHost)
  await assert.rejects(
    operator.organizations.create({ name: 'o', owner: { username: 'o-owner' } }),
    needsHost,
  )
  await assert.rejects(operator.hosts.change('local', { accepts_users: true }), needsHost)
  assert.deepEqual(await localChecks(operator), ['users', 'durability'])
  const { installation } = service.services
  await addHost(installation, 'second', (await startHost(t, namespace)).url)
  await addHost(installation, 'third', (await startHost(t)).url)

  const client = await newUser(service, 'someone')
  await client.sql('create table t (n int, w text)')
  assert.equal((await client.copyFrom('copy t from stdin csv', '1,one\n2,two\n')).total_rows, 2)
  const { job_id } = await client.jobs.create("insert into t values (3, 'three')")
  assert.equal((await client.jobs.finished(job_id)).status, 'done')
  const { host } = await operator.users.read('someone')
  assert.equal(host, 'second')
  await assert.rejects(operator.users.move('someone', 'local'), isError(422))
  const { id } = await operator.users.move('someone', 'third')
  assert.equal((await untilEnded(operator, id)).phase, 'done')
  assert.equal(await text(await client.copyTo('copy t to stdout csv')), '1,one\n2,two\n3,three\n')

  const hosts = await operator.hosts.list()
  assert.deepEqual(
    hosts.map(({ name, control_only, accepts_users, databases }) => [
      name,
      control_only,
      accepts_users,
      databases,
    ]),
    [
      ['local', true, false, 0],
      ['second', false, true, 0],
      ['third', false, true, 1],
    ],
  )
  assert.deepEqual(await localChecks(operator), ['durability'])
  assert.deepEqual(await leftOn(control.superuserUrl, namespace), [])
  await operator.users.delete('someone')
})

test('the login of the control database creates it if it may; missing rights are reported, and no user is lost', async (t) => {
  const control = await managedServer(t, 'createdb nocreaterole')
  await control.run('grant connect on database postgres to keeper')
  const served = await startProcess(t, { config, keys: testKeys(control.url('postgres')) }, ['serve'], {
    CARTAGE_CONNECTIONS_PER_HOST: '1000',
  })
  assert.match(served.log(), /takes no users. They need another host: cartage host add/)
  assert.doesNotMatch(served.log(), /limits lowered/, 'those are for users')
  const env = {
    CARTAGE_DATABASE_URL: control.url('postgres'),
    CARTAGE_SECRET: testKeys('').secret,
    CARTAGE_NAMESPACE: namespace,
  }
  assert.match(
    (await cartage(env, 'host', 'list')).out,
    /^local \(0 databases\) at .*, only the control database$/m,
  )
  const refused = await cartage(env, 'user', 'create', 'early')
  assert.match(refused.err, /takes no users. They need another host: cartage host add/)
  const { rows } = await control.run(
    `select datname from pg_database where has_database_privilege('public', oid, 'connect') and datname <> 'template0'`,
  )
  assert.deepEqual(rows, [])

  await control.run('alter role keeper nocreatedb')
  const other = { ...env, CARTAGE_NAMESPACE: 'other' }
  const open = () => openInstallation({ ...config, namespace: 'other' }, keys, createLog('silent'))
  const keys = testKeys(control.url('postgres'))
  await assert.rejects(open(), {
    code: 'control-rights-missing',
    message: /may not create the database other/,
  })
  await control.run('create database other')
  await control.run('revoke connect on database other from public; grant connect on database other to keeper')
  await assert.rejects(open(), {
    code: 'control-rights-missing',
    message: /may not make tables in the database other/,
  })
  await control.run('revoke connect on database postgres from keeper')
  assert.match((await cartage(other, 'host', 'list')).err, /may not connect to a database there/)

  await control.run('grant connect on database postgres to keeper')
  await served.stop()
  await runSql(
    { connectionString: control.url(namespace) },
    `insert into cartage.databases (host_id, name) values (1, '${namespace}_u1')`,
  )
  const left = await cartage(env, 'host', 'list')
  assert.match(left.err, /its server has databases of users \(1\): .*cartage host drain local/)
})

const config = { ...readConfig({}), port: 0, namespace, logLevel: 'error' } as const

const needsHost = (error: unknown) =>
  isError(422)(error) && /They need another host: cartage host add/.test((error as Error).message)

/** A separate server with the login `keeper`, which is no superuser. */
async function managedServer(t: TestContext, rights: string) {
  const { url: superuserUrl } = await startHost(t)
  const run = (sql: string) => runSql({ connectionString: superuserUrl }, sql)
  await run(`create role keeper login nosuperuser ${rights} password 'secret'`)
  const url = (database: string) => {
    const address = new URL(superuserUrl)
    Object.assign(address, { username: 'keeper', password: 'secret', pathname: `/${database}` })
    return address.href
  }
  return { superuserUrl, run, url }
}

async function start(t: TestContext, url: string) {
  const lines: string[] = []
  const log = createLog('warn', { write: (line) => void lines.push(line) })
  const service = await startService(config, testKeys(url), { http: true, worker: true }, log)
  t.after(() => service.stop())
  return { service, written: () => lines.join('') }
}

/** What the doctor reports for the server of the control database. The test cluster is fast and not durable. */
async function localChecks(operator: AdminClient): Promise<readonly string[]> {
  const checks = await operator.doctor()
  const found = checks.filter(({ name, status }) => name.startsWith('host local') && status !== 'ok')
  return found.map(({ name }) => name.replace(/^host local: /, ''))
}
