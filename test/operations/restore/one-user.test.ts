import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Client } from '../../../src/client/client.ts'
import { beginCartage } from '../../support/http/call.ts'
import { embeddedSuperuser, newDataDir } from '../../support/service/data-dir.ts'
import { startEmbedded } from '../../support/service/embedded-service.ts'
import { fillAccount, keySchema } from '../../support/service/rich-account.ts'
import { eventually } from '../../support/service/setup.ts'

test('one user of a backup becomes a new user, with its data, grants and keys, while the service goes on', async (t) => {
  const { dataDir, operator, clientOf, newUser, run } = await startEmbedded(t)
  const { api_key: token } = await operator.users.create({ username: 'alice', quota_in_bytes: 2 * 10 ** 7 })
  const alice = clientOf('alice', token)
  const { keyToken } = await fillAccount(alice)
  await clientOf('alice', keyToken).sql(keySchema)
  await alice.tables.setPrivacy('parts', 'PUBLIC')
  // A user of the backup that has the id of the new one.
  const bob = await newUser('bob')
  await bob.sql('create table other as select 1 as n')
  const file = join(await newDataDir(t), 'backup.tar')
  assert.equal((await run('backup', file, '--without-secret')).code, 0)
  await operator.users.delete('bob')
  const before = await lookOver(alice, clientOf('alice', keyToken), clientOf('alice', 'default_public'))
  await alice.sql('drop table cities cascade')

  const serving = keepAsking(alice)
  const restored = await run('restore', file, '--user', 'alice', '--as', 'alice2', '--json')
  assert.equal(restored.code, 0, restored.err)
  await serving.stop()
  const { api_key: newToken, keys } = JSON.parse(restored.out) as { api_key: string; keys: string[] }
  assert.deepEqual(keys, ['reporter'])
  assert.notEqual(newToken, token)

  const again = clientOf('alice2', newToken)
  const { token: newKeyToken } = await again.keys.read('reporter')
  assert.notEqual(newKeyToken, keyToken)
  const reporter = clientOf('alice2', newKeyToken)
  assert.deepEqual(await lookOver(again, reporter, clientOf('alice2', 'default_public')), before)
  await reporter.sql(`insert into cities (name, size) values ('Ulm', 5)`)
  await assert.rejects(reporter.sql('delete from cities'), /permission denied/)
  await assert.rejects(
    again.sql(`create table much as select md5(n::text) from generate_series(1, 500000) n`),
    /[Qq]uota/,
  )
  const job = await again.jobs.finished((await again.jobs.create('create table made as select 1')).job_id)
  assert.equal(job.status, 'done')
  // The old one is as it was, and its keys open nothing of the new one.
  await assert.rejects(alice.sql('select from cities'), /does not exist/)
  await assert.rejects(clientOf('alice2', token).sql('select 1'), /Unauthorized|permission|denied|not/i)
  await assert.rejects(access(join(dataDir, 'restore')), { code: 'ENOENT' })
  const superuser = await embeddedSuperuser(t, dataDir, 'postgres')
  const { rows: movers } = await superuser.query(`select from pg_roles where rolname ~ '_mover$'`)
  assert.deepEqual(movers, [])
  const [record] = await operator.audit({ account: 'alice2', action: 'user.created' })
  assert.equal(record?.details.restored_from, 'alice')
  assert.equal((await run('doctor')).code, 0)
})

test('what cannot be restored is refused in a sentence, and leaves no user', async (t) => {
  const { dataDir, operator, newUser, run } = await startEmbedded(t)
  const alice = await newUser('alice')
  await operator.organizations.create({ name: 'acme', owner: { username: 'boss' } })
  // PostgreSQL cannot restore it: the function finds its table only by the search path.
  await alice.sql(`create table limits as select 5 as most;
    create function fits(n integer) returns boolean language sql as $$ select n <= most from limits $$;
    create table t (n integer check (fits(n)));
    insert into t values (1)`)
  const file = join(await newDataDir(t), 'backup.tar.gz')
  assert.equal((await run('backup', file, '--without-secret')).code, 0)
  const restore = async (...args: readonly string[]) => {
    const { code, err } = await run('restore', file, ...args)
    return `${code} ${err
      .split('\n')
      .filter((line) => !isProgress(line))
      .join(' ')}`
  }
  assert.match(await restore('--user', 'alice'), /^2 cartage: --user and --as belong together/)
  assert.match(await restore('--as', 'alice'), /^2 cartage: --user and --as belong together/)
  assert.match(await restore('--user', 'alice', '--as', 'boss'), /^1 cartage: .*'boss' is already taken/)
  assert.match(await restore('--user', 'alice', '--as', 'acme'), /^1 cartage: .*'acme' is already taken/)
  assert.match(await restore('--user', 'alice', '--as', 'A B'), /^1 cartage: .*username/)
  assert.match(
    await restore('--user', 'nobody', '--as', 'new'),
    /^1 cartage: The backup has no user 'nobody'/,
  )
  assert.match(await restore('--user', 'boss', '--as', 'new'), /^1 cartage: .*organization 'acme'/)
  assert.match(await restore('--user', 'alice', '--as', 'new'), /^1 cartage: pg_restore failed: .*limits/)
  assert.equal((await run('user', 'list')).out, 'alice\nboss (acme)\n')
  assert.deepEqual(await accountsOf(t, dataDir), ['alice', 'boss'])
})

test('a restore that was killed leaves no user, and can be repeated', async (t) => {
  const { dataDir, newUser, clientOf, run } = await startEmbedded(t)
  const alice = await newUser('alice')
  await alice.sql(`create function slow(n integer) returns boolean language sql as
      $$ select pg_catalog.pg_sleep(case when n = 1 then 4 else 0 end) is not null $$;
    create table t (n integer check (public.slow(n)));
    insert into t select generate_series(1, 100)`)
  const file = join(await newDataDir(t), 'backup.tar')
  assert.equal((await run('backup', file, '--without-secret')).code, 0)
  const superuser = await embeddedSuperuser(t, dataDir, 'postgres')
  const args = ['restore', file, '--user', 'alice', '--as', 'new']
  const { child, ended } = beginCartage({ CARTAGE_DATA_DIR: dataDir }, args)
  await eventually(async () => {
    const { rows } = await superuser.query(
      `select usename from pg_stat_activity where wait_event = 'PgSleep' and application_name = 'cartage move'`,
    )
    // Its own role, no superuser.
    assert.deepEqual(rows, [{ usename: 'cartage_u2' }])
  }, 60_000)
  child.kill('SIGKILL')
  await ended
  assert.equal((await run('user', 'list')).out, 'alice\n')
  const again = await run(...args, '--json')
  assert.equal(again.code, 0, again.err)
  const { api_key: token } = JSON.parse(again.out) as { api_key: string }
  assert.deepEqual((await clientOf('new', token).sql('select count(*) from t')).rows, [{ count: 100 }])
  assert.deepEqual(await accountsOf(t, dataDir), ['alice', 'new'])
})

const isProgress = (line: string) => /^cartage: (unpacking|copying)/.test(line)

/** The users that there are, in any state; and no database or role of another. */
async function accountsOf(t: Parameters<typeof embeddedSuperuser>[0], dataDir: string) {
  const control = await embeddedSuperuser(t, dataDir, 'cartage')
  const { rows } = await control.query<{ username: string; master_role: string }>(
    'select username, master_role from cartage.users order by username',
  )
  const { rows: left } = await control.query<{ name: string }>(
    `select rolname::text as name from pg_roles where rolname ~ '^cartage_u[0-9]+' and regexp_replace(rolname, '^(cartage_u[0-9]+).*', '\\1') <> all ($1)
     union all select datname from pg_database where datname ~ '^cartage_u' and datname <> all ($1)`,
    [rows.map(({ master_role }) => master_role)],
  )
  assert.deepEqual(left, [])
  return rows.map(({ username }) => username)
}

/** All that the user, its key and strangers see. */
async function lookOver(user: Client, reporter: Client, stranger: Client) {
  const read = async (client: Client, names: readonly string[]) =>
    Promise.all(
      names.map(async (name) => (await client.sql(`select * from ${name} t order by t::text`)).rows),
    )
  const tables = ['cities', 'archive."old ""cities"""', 'parts', 'big_cities', 'size_sums', 'notes']
  const shared = ['reports', 'report_sums', 'few_reports', 'cities']
  return {
    own: await read(user, [...tables, 'reports']),
    keys: await read(reporter, shared),
    strangers: (await stranger.sql('select * from parts order by id')).rows,
    ticket: (await user.sql('select last_value from tickets')).rows,
    grants: (await user.keys.read('reporter')).grants,
    tables: (await user.tables.list()).visualizations.map(({ name, privacy }) => [name, privacy]),
  }
}

function keepAsking(user: Client) {
  let isOver = false
  const loop = (async () => {
    while (!isOver) await user.sql('select 1')
  })()
  return {
    stop: async () => {
      isOver = true
      await loop
    },
  }
}
