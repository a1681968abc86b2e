import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createUser } from '../../../src/accounts/create-user.ts'
import { createKey } from '../../../src/keys/create-key.ts'
import { newInstallation } from '../../support/service/installation.ts'

test('a process becomes ready whatever locks tenants hold in their databases', async (t) => {
  const installation = await newInstallation(t)
  const first = await installation.start()
  const { installation: opened, databases, secrets } = first.services
  const [victim, stranger] = await Promise.all(
    ['victim', 'stranger'].map((username) => createUser(opened, { username })),
  )
  const grants = { apis: [], services: [], hasTableMetadata: false, tables: [], schemas: [] }
  const key = await createKey(opened, victim!.account, { name: 'k', grants, defaultQuota: 0 })
  const { account } = stranger!
  const holder = new pg.Client({
    ...databases.hosts.get(1).addresses[0],
    database: account.database,
    user: account.masterRole,
    password: secrets.rolePassword(account.masterRole),
  })
  holder.on('error', () => undefined)
  await holder.connect()
  t.after(() => holder.end())
  await holder.query(`create table bait (id int); create policy p on bait to "${key.role}"`)
  await holder.query('begin; lock table bait')
  await holder.query('select pg_advisory_lock(7238001), pg_advisory_lock(7238003, hashtext($1))', [
    account.masterRole,
  ])
  // As after a death during its deletion: repair finds a role without a key.
  await databases.control.query('delete from cartage.api_keys where role_name = $1', [key.role])
  await databases.control.query('update cartage.databases set migrated_to = null')
  await first.stop()
  const before = Date.now()
  const second = await installation.start()
  assert.ok(Date.now() - before < 20_000, 'ready at once')
  assert.equal((await fetch(`${second.url}/health/ready`)).status, 200)
})
