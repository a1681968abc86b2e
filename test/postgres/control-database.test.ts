import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createLog } from '../../src/log/log.ts'
import { prepareControlDatabase } from '../../src/postgres/control/control-database.ts'
import { openDatabases } from '../../src/postgres/databases.ts'
import { newInstallation } from '../support/service/installation.ts'
import { basic, randomName, setup } from '../support/service/setup.ts'

test('processes that start at the same moment on a new installation all start', async (t) => {
  const { service, keys, admin } = await setup(t)
  const { config, secrets } = service.services
  for (let turn = 0; turn < 6; turn++) {
    const namespace = randomName('ct-start').replaceAll('-', '_')
    t.after(() => admin(`drop database if exists ${namespace} with (force)`))
    const processes = Array.from({ length: 12 }, () =>
      openDatabases({ ...config, namespace }, keys.adminUrl, secrets, createLog('silent')),
    )
    try {
      await Promise.all(processes.map((databases) => prepareControlDatabase(databases, namespace, [])))
    } finally {
      await Promise.all(processes.map((databases) => databases.close()))
    }
  }
})

test('a process with a different text of an applied migration does not start, and names the migration', async (t) => {
  const installation = await newInstallation(t)
  await (await installation.start()).stop()
  const { admin } = await setup(t)
  const change = async (sql: string) => (await admin(sql, [], installation.config.namespace)).rows[0]
  const { name } = await change(
    `update cartage.migrations set checksum = 'x' || checksum
     where name = (select max(name) from cartage.migrations) returning name`,
  )
  await assert.rejects(installation.start(), {
    code: 'migration-altered',
    message: new RegExp(`^The migration ${name} has changed since it was applied to this database`),
  })
  await change('update cartage.migrations set checksum = substr(checksum, 2) where length(checksum) = 65')
  await (await installation.start()).stop()
})

test('a control session has its limits, isolation level and no JIT, whatever was set for the database and role', async (t) => {
  const installation = await newInstallation(t)
  const { namespace } = installation.config
  await (await installation.start()).stop()
  const { admin } = await setup(t)
  const settings = {
    default_transaction_isolation: 'serializable',
    default_transaction_read_only: 'on',
    lock_timeout: '0',
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
    synchronous_commit: 'off',
    jit: 'on',
    tcp_keepalives_idle: '7200',
    tcp_user_timeout: '0',
  }
  for (const [name, value] of Object.entries(settings)) {
    await admin(`alter database "${namespace}" set ${name} = '${value}'`)
  }
  const { databases } = (await installation.start()).services
  const { rows } = await databases.control.query<{ name: string; setting: string }>(
    'select name, setting from pg_settings where name = any ($1)',
    [Object.keys(settings)],
  )
  assert.deepEqual(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])), {
    default_transaction_isolation: 'read committed',
    default_transaction_read_only: 'off',
    lock_timeout: '3000',
    statement_timeout: '5000',
    idle_in_transaction_session_timeout: '60000',
    synchronous_commit: 'on',
    jit: 'off',
    tcp_keepalives_idle: '5',
    tcp_user_timeout: '15000',
  })
})

test('with every control connection taken, callers get 503 with Retry-After and not 500', async (t) => {
  const { service, user } = await setup(t, { isIsolated: true, config: { connectionWaitMs: 3_000 } })
  const { control } = service.services.databases
  const taken = []
  while (control.totalCount < control.options.max || control.idleCount > 0)
    taken.push(await control.connect())
  const refused = await fetch(`${user.base}/api/v2/sql/job/${randomUUID()}?wait=5`, {
    headers: basic(user.username, user.masterToken),
  })
  for (const client of taken) client.release()
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.deepEqual(await refused.json(), {
    error: ['No database connection became free within 3000 ms'],
    code: 'connections-exhausted',
  })
})
