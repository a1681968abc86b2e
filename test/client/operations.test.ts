import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createAdminClient } from '../../src/client/client.ts'
import { operations } from '../../src/contract/operations.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { randomName, setup } from '../support/service/setup.ts'

/** Other ways to the same answer; the client needs one. */
const others = [
  'cancelJobByV4',
  'showUpload',
  'openExport',
  'copyTo',
  'queryByGet',
  'runQueryByGet',
  'openDashboardPage',
  'readTileSource',
  'readSqlSource',
  'createMapByGet',
  'openNamedMapByGet',
  'openMapPage',
  'whoAmIByV3',
  'downloadCommandLine',
]

test('the client has a function for every operation of the service', async () => {
  const folder = new URL('../../src/client/', import.meta.url)
  const files = (await readdir(folder, { recursive: true })).filter((name) =>
    /(-api|-client)\.ts$/.test(name),
  )
  // The client chooses the address of a job by its length.
  const paths = [...files, '../contract/job-items.ts']
  const texts = await Promise.all(paths.map((name) => readFile(new URL(name, folder), 'utf8')))
  const isUsed = (id: string) => texts.some((text) => text.includes(`'${id}'`))
  assert.deepEqual(
    Object.keys(operations).filter((id) => !isUsed(id)),
    others,
  )
})

test('the client reads tables, their privacy, the account and the health of the service', async (t) => {
  const client = clientOf(t, await setup(t))
  await client.sql('create table places (n int)')
  const [place] = (await client.tables.list({ order: 'name', per_page: 5 })).visualizations
  assert.deepEqual([place?.name, place?.privacy, place?.table.schema], ['places', 'PRIVATE', 'public'])
  assert.equal((await client.tables.setPrivacy('places', 'PUBLIC')).privacy, 'PUBLIC')
  assert.equal((await client.tables.read('places')).privacy, 'PUBLIC')
  assert.deepEqual((await client.tables.details('places')).geometry_types, [])
  await client.sql('create table passing (n int)')
  assert.equal((await client.tables.rename('passing', 'gone')).name, 'gone')
  await client.tables.delete('gone')
  const { result } = await client.tables.datasets()
  assert.deepEqual(
    result.map(({ name, privacy }) => [name, privacy]),
    [['places', 'public']],
  )
  const me = await client.me()
  assert.equal(me.user_data.table_count, 1)
  assert.deepEqual(await client.health.live(), { status: 'ok' })
  assert.equal((await client.health.ready()).control, 'ok')
  assert.match(await client.health.metrics(), /^# HELP /m)
})

test('the operator creates, changes and deletes accounts', async (t) => {
  const { url, keys } = await setup(t)
  const admin = createAdminClient({ baseUrl: url, token: keys.adminToken! })
  t.after(() => admin.close())
  const username = randomName('made')
  const { api_key } = await admin.users.create({ username, quota_in_bytes: 10_000_000 })
  assert.equal((await admin.users.readKey(username)).api_key, api_key)
  assert.equal((await admin.users.change(username, { quota_in_bytes: 1 })).quota_in_bytes, 1)
  assert.notEqual((await admin.users.regenerateKey(username)).api_key, api_key)
  assert.ok((await admin.users.list()).some((user) => user.username === username))
  const plan = `plan-${username}`
  await admin.plans.create({ name: plan, limits: { jobs_at_once: 2 } })
  assert.equal((await admin.plans.change(plan, { jobs_queued: 3 })).limits.jobs_queued, 3)
  assert.deepEqual((await admin.plans.read(plan)).limits, { jobs_at_once: 2, jobs_queued: 3 })
  assert.ok((await admin.plans.list()).some(({ name }) => name === plan))
  assert.equal((await admin.plans.delete(plan)).deleted, true)
  assert.equal((await admin.users.delete(username)).deleted, true)
  await assert.rejects(admin.users.read(username), { status: 404 })
  const name = randomName('org')
  await admin.organizations.create({ name, owner: { username: randomName('owner') } })
  assert.equal((await admin.organizations.read(name)).name, name)
  assert.ok((await admin.organizations.list()).some((organization) => organization.name === name))
  assert.equal((await admin.organizations.delete(name)).deleted, true)
})
