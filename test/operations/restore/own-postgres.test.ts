import assert from 'node:assert/strict'
import { access, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tarEntry } from '../../../src/cli/backup/tar-entry.ts'
import { cartage } from '../../support/http/call.ts'
import { startHost } from '../../support/postgres/two-hosts.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { embeddedSuperuser, newDataDir } from '../../support/service/data-dir.ts'
import { startEmbedded } from '../../support/service/embedded-service.ts'
import { clientAt, emptyServer } from '../../support/service/empty-server.ts'
import { startCartage } from '../../support/service/processes.ts'
import { fillAccount, keySchema, lookOver } from '../../support/service/rich-account.ts'
import { eventually } from '../../support/service/setup.ts'

const passphrase = { CARTAGE_BACKUP_PASSPHRASE: 'a long passphrase for tests' }

test('a whole backup is restored into an own PostgreSQL server, under its own secret', async (t) => {
  const { dataDir, process: original, operator, clientOf } = await startEmbedded(t)
  const { api_key: token } = await operator.users.create({ username: 'alice' })
  const { api_key: bobsToken } = await operator.users.create({ username: 'bob' })
  const [alice, bob] = [clientOf('alice', token), clientOf('bob', bobsToken)]
  const { keyToken } = await fillAccount(alice)
  await clientOf('alice', keyToken).sql(keySchema)
  await alice.tables.setPrivacy('parts', 'PUBLIC')
  await bob.sql('create table worked (n integer)')
  await giveByHand(t, dataDir)
  const done = await bob.jobs.finished((await bob.jobs.create('insert into worked values (1)')).job_id)
  const { job_id: running } = await bob.jobs.create(['insert into worked values (2)', 'select pg_sleep(15)'])
  await eventually(async () => {
    assert.deepEqual((await bob.sql('select n from worked order by n')).rows, [{ n: 1 }, { n: 2 }])
  })
  const file = join(await newDataDir(t), 'backup.tar')
  const saved = await cartage({ CARTAGE_DATA_DIR: dataDir, ...passphrase }, 'backup', file)
  assert.equal(saved.code, 0, saved.err)
  const look = (url: string) =>
    lookOver(
      clientAt(t, url, 'alice', token),
      clientAt(t, url, 'alice', keyToken),
      clientAt(t, url, 'alice', 'default_public'),
    )
  const before = await look(original.url)
  operator.close()
  assert.equal(await original.stop(), 0)

  const env = await emptyServer(t)
  const restored = await cartage({ ...env, ...passphrase }, 'restore', file)
  assert.match(
    restored.out,
    /^restored the installation of \S+ with 2 users; its secret is CARTAGE_SECRET now\n$/,
    restored.err,
  )
  const told = restored.err.split('\n').filter((line) => line.includes('given by hand are not restored'))
  assert.equal(told.length, 1, restored.err)
  for (const text of [
    'REFERENCES on table public.cities to ',
    'EXECUTE on routine pg_catalog.pg_stat_file(pg_catalog.text) to ',
    'EXECUTE on routine pg_catalog.lo_create(pg_catalog.oid) to ',
  ])
    assert.ok(told[0]!.includes(text), told[0])
  await assert.rejects(access(join(env.CARTAGE_DATA_DIR, 'restore')), { code: 'ENOENT' })
  const again = await cartage({ ...env, ...passphrase }, 'restore', file)
  assert.deepEqual([again.code, /has a database cartage:/.test(again.err)], [1, true], again.err)

  const process = await startCartage(t, ['serve'], env)
  // Tokens stay valid under the new secret.
  assert.deepEqual(await look(process.url), before)
  const bobAgain = clientAt(t, process.url, 'bob', bobsToken)
  assert.deepEqual(await bobAgain.jobs.read(done.job_id), done)
  assert.equal((await bobAgain.jobs.finished(running)).status, 'done')
  assert.deepEqual((await bobAgain.sql('select n from worked order by n')).rows, [{ n: 1 }, { n: 2 }])
  const checked = await cartage(env, 'doctor')
  // The test's own server does not sync.
  assert.ok(!/^fail(?!.*: durability:)/m.test(checked.out), checked.out)
  assert.equal(await process.stop(), 0)
})

/** Of alice: to a role that is none of hers, by that role to hers, and what only an operator can give. */
async function giveByHand(t: TestContext, dataDir: string): Promise<void> {
  const control = await embeddedSuperuser(t, dataDir, 'cartage')
  const { rows } = await control.query<{ role: string }>(
    `select master_role as role from cartage.users where username = 'alice'`,
  )
  const { role } = rows[0]!
  const superuser = await embeddedSuperuser(t, dataDir, role)
  await superuser.query(`create role watcher;
    grant usage on schema public to watcher;
    grant references on public.cities to watcher with grant option;
    set role watcher;
    grant references on public.cities to ${role}_public;
    reset role;
    grant execute on function pg_catalog.lo_create(oid) to ${role};
    grant execute on function pg_catalog.pg_stat_file(text) to ${role}`)
}

async function tornCopy(file: string): Promise<string> {
  const torn = `${file}.torn`
  await writeFile(torn, await readFile(file))
  await truncate(torn, 20 * 1024 ** 2)
  return torn
}

test('a server that cannot take the backup is refused with a sentence and stays unchanged', async (t) => {
  const { dataDir, operator, newUser } = await startEmbedded(t)
  const alice = await newUser('alice')
  await alice.sql('create table t as select 1 as n')
  const folder = await newDataDir(t)
  const file = join(folder, 'backup.tar')
  assert.equal((await cartage({ CARTAGE_DATA_DIR: dataDir, ...passphrase }, 'backup', file)).code, 0)
  const { url: further } = await startHost(t)
  const added = await cartage(
    { CARTAGE_DATA_DIR: dataDir, CARTAGE_HOST_URL: further },
    'host',
    'add',
    'second',
  )
  assert.equal(added.code, 0, added.err)
  await operator.organizations.create({ name: 'acme', owner: { username: 'boss' } })
  const withMembers = join(folder, 'members.tar')
  await cartage({ CARTAGE_DATA_DIR: dataDir, ...passphrase }, 'backup', withMembers)
  const env = await emptyServer(t)
  const admin = { connectionString: env.CARTAGE_DATABASE_URL }
  const names = async () =>
    (
      await runSql(
        admin,
        `select rolname::text as name from pg_roles union all select datname from pg_database order by 1`,
      )
    ).rows
  const untouched = await names()
  const restore = async (change: Record<string, string> = {}, from = file, ...more: readonly string[]) => {
    const { code, err } = await cartage({ ...env, ...passphrase, ...change }, 'restore', from, ...more)
    return `${code} ${err.split('\n').filter((line) => !/^cartage: (unpacking|copying)/.test(line))}`
  }
  assert.match(await restore({ CARTAGE_NAMESPACE: 'other' }), /^2 cartage: .*set CARTAGE_NAMESPACE=cartage/)
  assert.match(
    await restore({ CARTAGE_BACKUP_PASSPHRASE: 'not that passphrase' }),
    /^2 .*does not open the secret/,
  )
  assert.match(await restore({}, withMembers), /^1 cartage: The backup has further hosts \(second\)/)
  assert.match(
    await restore({}, withMembers, '--with-hosts'),
    /^1 cartage: The backup has the organization 'acme'/,
  )
  assert.match(await restore({}, await tornCopy(file)), /^1 cartage: the backup is damaged/)
  const newer = join(folder, 'newer.tar')
  await writeFile(newer, tarEntry('cartage.json', Buffer.from(JSON.stringify(note))))
  assert.match(await restore({}, newer), /^1 cartage: .*version \d+, which is older than 99 of the backup/)
  assert.deepEqual(await names(), untouched)

  await runSql(admin, `create role plain login createdb createrole password 'secret'`)
  const plain = new URL(env.CARTAGE_DATABASE_URL)
  plain.username = 'plain'
  plain.password = 'secret'
  await runSql(admin, 'grant connect on database postgres to plain')
  assert.match(await restore({ CARTAGE_DATABASE_URL: plain.href }), /^1 cartage: .*not a superuser/)
  await runSql(admin, 'create role cartage_u7_public')
  assert.match(await restore(), /^1 cartage: .*a database or role cartage_u7_public/)
})

const note = {
  format: 1,
  version: '9.0.0',
  postgres: 99,
  namespace: 'cartage',
  created_at: '2026-05-01T00:00:00.000Z',
  has_secret: false,
}
