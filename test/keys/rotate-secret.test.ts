import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { rotateSecret } from '../../src/keys/rotate-secret.ts'
import { createLog } from '../../src/log.ts'
import { firstHostId } from '../../src/postgres/hosts.ts'
import { deriveSecrets } from '../../src/secrets.ts'
import { startService } from '../../src/service.ts'
import { type Setup, setup, type TestUser } from '../setup.ts'
import { grantsOf, keysClient, roleOf } from './keys-client.ts'

const newSecret = 'another secret for tests, as long as it must be'

/** The service as it is started after a rotation. */
async function withNewSecret(t: TestContext, { service, keys, user }: Setup) {
  const config = service.services.config
  const started = await startService(
    config,
    { ...keys, secret: newSecret },
    { http: true, worker: false },
    createLog('error'),
  )
  t.after(() => started.stop())
  return { ...user, base: `${started.url}/user/${user.username}` } as TestUser
}

const statusOf = async (user: TestUser, token: string) =>
  (await fetch(`${user.base}/api/v2/sql?q=select+1+as+one&api_key=${token}`)).status

test('after a rotation every token works as before under the new secret, and no more under the old one', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  const made = await keysClient(user).make('k')
  const counts = await rotateSecret(service.services.accounts, deriveSecrets(newSecret))
  assert.deepEqual(counts, { keys: 3, hosts: 0, roles: 3 })
  assert.equal(await statusOf(user, made.token), 401)
  const there = await withNewSecret(t, context)
  const { body } = await keysClient(there).list()
  assert.deepEqual(
    (body.result as { token: string }[]).map((key) => key.token),
    [user.masterToken, 'default_public', made.token],
  )
  assert.equal(await statusOf(there, made.token), 200)
  assert.equal(await statusOf(there, 'default_public'), 200)
  assert.equal((await keysClient(there).create('new', grantsOf())).status, 201)
})

test('a rotation ends the old passwords of all roles', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  await keysClient(user).make('k')
  const fresh = deriveSecrets(newSecret)
  const roles = [user.account.masterRole, user.account.publicRole, await roleOf(context, user, 'k')]
  const logIn = async (role: string, password: string) => {
    const { address } = service.services.databases.hosts.get(user.account.hostId)
    const client = new pg.Client({ ...address, user: role, password, database: user.account.database })
    client.on('error', () => undefined)
    await client.connect()
    await client.end()
  }
  await rotateSecret(service.services.accounts, fresh)
  for (const role of roles) {
    await logIn(role, fresh.rolePassword(role))
    await assert.rejects(logIn(role, service.services.secrets.rolePassword(role)), { code: '28P01' })
  }
})

test('a rotation that was cut short can be repeated', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  const { accounts, databases } = service.services
  const { token } = await keysClient(user).make('k')
  const fresh = deriveSecrets(newSecret)
  await rotateSecret(accounts, fresh)
  await rotateSecret(accounts, fresh)
  assert.equal(await statusOf(await withNewSecret(t, context), token), 200)
  await databases.control.query(`update cartage.api_keys set token_encrypted = '\\x00' where name = 'k'`)
  await assert.rejects(
    rotateSecret(accounts, fresh),
    /neither the old nor the new secret opens the token of key/,
  )
})

test('the connection strings of further hosts move too', async (t) => {
  const { service } = await setup(t, { isIsolated: true })
  const { accounts, databases, secrets } = service.services
  const fresh = deriveSecrets(newSecret)
  // The same cluster by another name: it may have been heard of before the secret moves, and then must answer.
  const { address, adminRole, adminPassword } = databases.hosts.get(firstHostId)
  const url = `postgres://${adminRole}:${encodeURIComponent(adminPassword)}@${address.host}:${address.port}/postgres`
  await databases.control.query(`insert into cartage.hosts (name, sealed_url) values ('far', $1)`, [
    secrets.seal(url),
  ])
  t.after(() => databases.control.query(`delete from cartage.hosts where name = 'far'`))
  assert.equal((await rotateSecret(accounts, fresh)).hosts, 1)
  const { rows } = await databases.control.query(`select sealed_url from cartage.hosts where name = 'far'`)
  assert.equal(fresh.open(rows[0].sealed_url), url)
})
