import assert from 'node:assert/strict'
import { chmod } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { createAdminClient, createClient } from '../../../src/client/client.ts'
import { embeddedSuperuser, newDataDir } from '../../support/service/data-dir.ts'
import { type RunningProcess, startCartage } from '../../support/service/processes.ts'
import { laterName, makeDataDirOf, makeLaterVersion } from '../../support/service/released.ts'

// The tokens and the secret of test/operations/released/0.1.0, whose records have their hashes.
const secrets = {
  CARTAGE_SECRET: 'the-secret-of-the-upgrade-test-0.1.0',
  CARTAGE_ADMIN_TOKEN: 'the-admin-token-of-the-upgrade-test',
}
const tokens = {
  alice: 'cartage_fnwKPxqM0dUntTo_nNHNr2gzAEXFnAgh-fZN6iGPEOs57f6ec1a',
  aliceReader: 'cartage_6TvJA_IaJYKH6DlKsmZAwOUwH3Z-ppCKIcv9l8f3zRYa3d70f45',
  olga: 'cartage_x9HOdBomu1fW8L9oOv5jtVFsOtChlFX5bC9wMJ2IGCAa05da428',
  max: 'cartage_utycMWpJjsxGdy8nDYcILpgrp9FqMqZOZYGKr5O0nwYa3de0be6',
  maxWriter: 'cartage_2xeiKcuNbbj0LZ0kITVN6fpYXLH9vieB2RWQZm887XAa79946c9',
}
const doneJob = '710fadf6-fa23-4df0-be69-14011000cb9f'
const pendingJob = 'd3d4ddd7-d1a2-4cb7-89ab-7718f63954dd'

const later = {
  control: 'alter table cartage.users add column later integer not null default 7;',
  tenant: 'alter table cartage.accounts add column later integer not null default 7;',
  host: 'alter table cartage.flights add column later integer not null default 7;',
}

test('a data directory of 0.1.0 is upgraded with all its contents', async (t) => {
  const dataDir = await newDataDir(t)
  await makeDataDirOf('0.1.0', dataDir)
  const service = await startLater(t, dataDir)
  const house = { ...callers(t, service.url), url: service.url }
  await t.test('every database has the later migration', (t) => everyDatabaseIsLater(t, dataDir))
  await t.test('master keys work, and the rows are there', () => masterKeysWork(house))
  await t.test('regular keys may do what they were granted, and no more', () => regularKeysWork(house))
  await t.test('a table that is created again gets its grants back', () => grantsComeBack(house))
  await t.test('the waiting job runs, and the done one still is', () => jobsGoOn(house))
  await t.test('users, members and keys can be added and removed', () => accountsChange(house))
  assert.equal(await service.stop(), 0)
})

async function everyDatabaseIsLater(t: TestContext, dataDir: string): Promise<void> {
  for (const [database, table] of [
    ['cartage', 'users'],
    ['cartage_template', 'accounts'],
    ['cartage_u1', 'accounts'],
    ['cartage_o1', 'accounts'],
  ] as const) {
    const client = await embeddedSuperuser(t, dataDir, database)
    const { rows: names } = await client.query('select max(name) as newest from cartage.migrations')
    assert.deepEqual(names, [{ newest: laterName }], database)
    const { rows: values } = await client.query(`select distinct later from cartage.${table}`)
    if (database !== 'cartage_template') assert.deepEqual(values, [{ later: 7 }], database)
  }
}

async function masterKeysWork({ rows }: House): Promise<void> {
  assert.deepEqual(
    await rows(
      'alice',
      tokens.alice,
      'select name, ST_AsText(the_geom) as at, the_geom_webmercator is not null as is_on_map from places order by 1',
    ),
    [
      { name: 'Here', at: 'POINT(2 1)', is_on_map: true },
      { name: 'There', at: 'POINT(4 2)', is_on_map: true },
    ],
  )
  assert.deepEqual(await rows('olga', tokens.olga, 'select a from shared order by a'), [{ a: 1 }, { a: 2 }])
}

async function regularKeysWork({ as }: House): Promise<void> {
  const reader = as('alice', tokens.aliceReader)
  assert.equal((await reader.sql('select from places')).total_rows, 2)
  await assert.rejects(reader.sql(`insert into places (name) values ('x')`), { status: 403 })
  const writer = as('max', tokens.maxWriter)
  await writer.sql(`insert into notes (text) values ('by the key')`)
  assert.equal((await writer.sql('select from olga.shared')).total_rows, 2)
  await assert.rejects(writer.sql('delete from notes'), { status: 403 })
  const { result } = await as('alice', tokens.alice).keys.list({ type: 'regular' })
  assert.deepEqual(
    result.map(({ name, token }) => [name, token]),
    [['reader', tokens.aliceReader]],
  )
}

async function grantsComeBack({ as, rows }: House): Promise<void> {
  await as('alice', tokens.alice).sql('drop table places; create table places as select 1 as a')
  assert.deepEqual(await rows('alice', tokens.aliceReader, 'select * from places'), [{ a: 1 }])
}

async function jobsGoOn({ as }: House): Promise<void> {
  const max = as('max', tokens.max)
  assert.equal((await max.jobs.finished(pendingJob)).status, 'done')
  assert.equal((await max.sql(`select from notes where text = 'by the job'`)).total_rows, 1)
  assert.equal((await as('alice', tokens.alice).jobs.read(doneJob)).status, 'done')
}

async function accountsChange({ as, rows, url }: House): Promise<void> {
  const admin = createAdminClient({ baseUrl: url, token: secrets.CARTAGE_ADMIN_TOKEN })
  const { api_key } = await admin.users.create({ username: 'nora', organization: 'acme' })
  assert.deepEqual(await rows('nora', api_key, 'select 1 as a'), [{ a: 1 }])
  await as('max', tokens.max).keys.delete('writer')
  await admin.users.delete('max')
  admin.close()
}

type House = ReturnType<typeof callers> & Readonly<{ url: string }>

function callers(t: TestContext, url: string) {
  const as = (username: string, token: string) => {
    const client = createClient({ baseUrl: url, username, token })
    t.after(() => client.close())
    return client
  }
  const rows = async (username: string, token: string, statement: string) =>
    (await as(username, token).sql(statement)).rows
  return { as, rows }
}

/** Starts the next version on a data directory. */
async function startLater(t: TestContext, dataDir: string): Promise<RunningProcess> {
  const folder = await newDataDir(t)
  // The service does not read its files as root.
  await chmod(folder, 0o755)
  const program = await makeLaterVersion(folder, later)
  const env = { ...secrets, CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  return startCartage(t, ['serve'], env, program)
}
