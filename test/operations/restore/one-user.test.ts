import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Client } from '../../../src/client/client.ts'
import { embeddedSuperuser, newDataDir } from '../../support/service/data-dir.ts'
import { accountsOf, startEmbedded } from '../../support/service/embedded-service.ts'
import { fillAccount, keySchema, lookOver } from '../../support/service/rich-account.ts'

test('one user of a backup becomes a new user with its data, grants and keys, while the service runs', async (t) => {
  const { dataDir, operator, clientOf, newUser, run } = await startEmbedded(t)
  const { api_key: token } = await operator.users.create({ username: 'alice', quota_in_bytes: 2 * 10 ** 7 })
  await operator.users.change('alice', { limits: { jobs_at_once: 1 } })
  const alice = clientOf('alice', token)
  const { keyToken } = await fillAccount(alice)
  await clientOf('alice', keyToken).sql(keySchema)
  await alice.tables.setPrivacy('parts', 'PUBLIC')
  // This user of the backup has the id that the new one gets.
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
  // The old user is unchanged, and its keys do not work for the new one.
  await assert.rejects(alice.sql('select from cities'), /does not exist/)
  await assert.rejects(clientOf('alice2', token).sql('select 1'), /Unauthorized|permission|denied|not/i)
  await assert.rejects(access(join(dataDir, 'restore')), { code: 'ENOENT' })
  const superuser = await embeddedSuperuser(t, dataDir, 'postgres')
  const control = await embeddedSuperuser(t, dataDir, 'cartage')
  const { rows: queues } = await control.query(
    `select most_running from cartage.job_queues q join cartage.users u on u.id = q.user_id
     where u.username = 'alice2' and not q.is_import`,
  )
  assert.deepEqual(queues, [{ most_running: 1 }])
  const { rows: movers } = await superuser.query(`select from pg_roles where rolname ~ '_mover$'`)
  assert.deepEqual(movers, [])
  const [record] = await operator.audit({ account: 'alice2', action: 'user.created' })
  assert.equal(record?.details.restored_from, 'alice')
  for (const action of ['restore.requested', 'user.restored'] as const) {
    const [said, ...others] = await operator.audit({ account: 'alice2', action })
    assert.deepEqual([said?.details.from, said?.details.file, others.length], ['alice', 'backup.tar', 0])
  }
  assert.equal((await run('doctor')).code, 0)
})

test('a user that cannot be restored is refused with a sentence, and no user is left', async (t) => {
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
  // Before the backup is unpacked.
  assert.doesNotMatch((await run('restore', file, '--user', 'alice', '--as', 'acme')).err, /unpacking/)
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

const isProgress = (line: string) => /^cartage: (unpacking|copying)/.test(line)

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
