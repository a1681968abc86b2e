import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createUser } from '../../../src/accounts/create-user.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { newInstallation } from '../../support/service/installation.ts'

test('databases created by an operator or a restore are closed to PUBLIC at the start', async (t) => {
  const { config, keys, start } = await newInstallation(t)
  const { namespace } = config
  await run(keys.adminUrl, `create database "${namespace}"`)
  const { services, stop } = await start()
  assert.deepEqual(await openTo(keys.adminUrl, namespace), [])
  const { account } = await createUser(services.installation, { username: 'alice' })
  const { addresses } = services.databases.hosts.get(account.hostId)
  const password = services.secrets.rolePassword(account.masterRole)
  await assert.rejects(
    runSql({ ...addresses[0], database: namespace, user: account.masterRole, password }, 'select 1'),
    (error: pg.DatabaseError) => error.code === '42501',
  )
  // As a restore without access lists leaves them.
  for (const name of [account.database, `${namespace}_template`]) {
    await run(keys.adminUrl, `grant connect on database "${name}" to public`)
  }
  await stop()
  await start()
  assert.deepEqual(await openTo(keys.adminUrl, namespace), [])
})

test('a tenant that locks the row of its database does not block a start', async (t) => {
  const { config, keys, start } = await newInstallation(t)
  const { services, stop } = await start()
  const { account } = await createUser(services.installation, { username: 'alice' })
  await stop()
  await run(keys.adminUrl, `grant connect on database "${account.database}" to public`)
  const holder = new pg.Client({ connectionString: keys.adminUrl })
  holder.on('error', () => undefined)
  await holder.connect()
  t.after(() => holder.end())
  await holder.query(`begin; alter database "${account.database}" connection limit 7`)
  const began = Date.now()
  const second = await start()
  assert.ok(Date.now() - began < 15_000, 'ready soon')
  assert.deepEqual(await openTo(keys.adminUrl, config.namespace), [account.database])
  await holder.query('rollback')
  await second.stop()
  await start()
  assert.deepEqual(await openTo(keys.adminUrl, config.namespace), [])
})

const run = (connectionString: string, text: string) => runSql({ connectionString }, text)

/** Databases of the installation that PUBLIC may connect to. */
async function openTo(connectionString: string, namespace: string): Promise<readonly string[]> {
  const { rows } = await runSql(
    { connectionString },
    `select datname from pg_database where datname like $1 and has_database_privilege('public', oid, 'connect')`,
    [`${namespace.replaceAll('_', '\\_')}%`],
  )
  return rows.map(({ datname }) => datname)
}
