import assert from 'node:assert/strict'
import { access, chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AdminClient } from '../../../src/client/client.ts'
import type { RestoreDocument } from '../../../src/contract/documents.ts'
import { embeddedSuperuser, newDataDir } from '../../support/service/data-dir.ts'
import { accountsOf, startEmbedded } from '../../support/service/embedded-service.ts'
import { startCartage } from '../../support/service/processes.ts'
import { eventually } from '../../support/service/setup.ts'

test('a user of a backup becomes a new user by the admin API, and the operator reads its key', async (t) => {
  const { folder, backup, operator, clientOf, newUser, dataDir } = await startWithBackups(t)
  const alice = await newUser('alice')
  await alice.sql('create table t as select generate_series(1, 100) as n')
  await alice.keys.create({ name: 'reader', grants: [{ type: 'apis', apis: ['sql'] }] })
  await backup('b.tar.gz')
  await writeFile(join(folder, 'notes.txt'), 'not a backup')
  await mkdir(join(folder, 'folder'))
  const [only, ...others] = await operator.backups()
  assert.deepEqual([only?.file, only?.has_secret, others.length], ['b.tar.gz', false, 0])

  const wanted = { file: 'b.tar.gz', username: 'alice', as: 'alice2' }
  const refused = (change: object, status: number, reason: RegExp) =>
    assert.rejects(
      operator.restores.create({ ...wanted, ...change }),
      (error: Error & { status: number }) => {
        assert.equal(error.status, status, error.message)
        assert.match(error.message, reason)
        return true
      },
    )
  await refused({ file: 'c.tar' }, 404, /There is no backup 'c.tar'/)
  for (const file of ['../folder/b.tar.gz', '.', '..', '/etc/passwd', ''])
    await refused({ file }, 404, /There is no backup/)
  await refused({ file: 'notes.txt' }, 409, /is not a backup/)
  await refused({ file: 'folder' }, 409, /is not a backup/)
  await refused({ as: 'alice' }, 409, /already taken/)
  await refused({ as: 'A B' }, 422, /username/)
  await refused({ username: 'A B' }, 422, /username/)

  const nobody = await firstOf(2, () => operator.restores.create({ ...wanted, username: 'nobody' }))
  await refused({}, 409, /restores another user/)
  const failed = await ended(operator, nobody.id)
  assert.deepEqual([failed.phase, failed.error], ['failed', "The backup has no user 'nobody'"])
  assert.deepEqual(await accountsOf(t, dataDir), ['alice'])

  const { id, phase } = await operator.restores.create(wanted)
  assert.equal(phase, 'unpacking')
  const done = await ended(operator, id)
  assert.deepEqual([done.phase, done.error, done.progress, done.keys], ['done', null, 100, ['reader']])
  assert.equal(done.backup_of, only!.created_at)
  const { api_key: token } = await operator.users.readKey('alice2')
  assert.deepEqual((await clientOf('alice2', token).sql('select count(*) from t')).rows, [{ count: 100 }])
  assert.equal((await alice.sql('select 1')).total_rows, 1)
  assert.deepEqual(
    (await operator.restores.list()).map((each) => each.id),
    [id, nobody.id],
  )
  await assert.rejects(operator.restores.cancel(id), /is past its end: the user 'alice2' is made/)
  await requireRecorded(operator, [nobody.id, id])
  await assert.rejects(access(join(dataDir, 'restores/running')), { code: 'ENOENT' })
})

test('a restore that is cancelled, or whose process is killed, leaves no user and can be repeated', async (t) => {
  const { env, backup, operator, operatorAt, newUser, process, dataDir } = await startWithBackups(t)
  const alice = await newUser('alice')
  await alice.sql(`create function slow(n integer) returns boolean language sql as
      $$ select pg_catalog.pg_sleep(case when n = 1 then 6 else 0 end) is not null $$;
    create table t (n integer check (public.slow(n)));
    insert into t select generate_series(1, 100)`)
  await backup('b.tar')
  const superuser = await embeddedSuperuser(t, dataDir, 'postgres')
  const wanted = { file: 'b.tar', username: 'alice', as: 'new' }
  const begun = async (client: AdminClient) => {
    const { id } = await client.restores.create(wanted)
    await eventually(async () => {
      const { rows } = await superuser.query(
        `select from pg_stat_activity where wait_event = 'PgSleep' and application_name = 'cartage move'`,
      )
      assert.equal(rows.length, 1)
    }, 60_000)
    return id
  }
  const first = await begun(operator)
  assert.equal((await operator.restores.cancel(first)).phase, 'undoing')
  const cancelled = await ended(operator, first)
  assert.deepEqual([cancelled.phase, cancelled.error], ['failed', 'Cancelled by the operator'])
  assert.deepEqual(await accountsOf(t, dataDir), ['alice'])

  const second = await begun(operator)
  await process.kill()
  const again = await startCartage(t, ['serve'], env)
  const client = operatorAt(again.url)
  const killed = await ended(client, second)
  assert.deepEqual(
    [killed.phase, killed.error],
    ['failed', 'The process that carried it out has ended, or has lost the control database'],
  )
  await assert.rejects(access(join(dataDir, 'restores/running')), { code: 'ENOENT' })
  const third = await client.restores.create(wanted)
  assert.equal((await ended(client, third.id)).phase, 'done')
  assert.deepEqual(await accountsOf(t, dataDir), ['alice', 'new'])
})

/** Makes so many requests at once, of which one is accepted. */
async function firstOf<T>(count: number, request: () => Promise<T>): Promise<T> {
  const all = await Promise.allSettled(Array.from({ length: count }, request))
  const [made, ...others] = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  assert.deepEqual(others, [])
  return made!
}

/** Of the restores of alice as alice2 with these ids: the last has made a user, the others have failed. */
async function requireRecorded(operator: AdminClient, ids: readonly number[]): Promise<void> {
  const recorded = async (action: 'restore.requested' | 'user.restored') =>
    (await operator.audit({ account: 'alice2', action })).map(({ actor, details }) => [
      actor,
      details.id,
      details.file,
    ])
  const record = (id: number) => ['operator', id, 'b.tar.gz']
  assert.deepEqual(await recorded('restore.requested'), ids.map(record).reverse())
  assert.deepEqual(await recorded('user.restored'), [record(ids.at(-1)!)])
}

async function ended(client: AdminClient, id: number): Promise<RestoreDocument> {
  let restore!: RestoreDocument
  await eventually(async () => {
    restore = await client.restores.read(id)
    assert.notEqual(restore.ended_at, null, restore.phase)
  }, 120_000)
  return restore
}

/** An installation that sees a folder of backups. */
async function startWithBackups(t: TestContext) {
  const folder = await newDataDir(t)
  await chmod(folder, 0o755)
  const house = await startEmbedded(t, { CARTAGE_BACKUP_DIR: folder })
  const env = { CARTAGE_DATA_DIR: house.dataDir, CARTAGE_BACKUP_DIR: folder, CARTAGE_DEMO_USER: 'off' }
  const backup = async (name: string) => {
    const file = join(folder, name)
    const { code, err } = await house.run('backup', file, '--without-secret')
    assert.equal(code, 0, err)
    // The service runs as another user than the test.
    await chmod(file, 0o644)
  }
  return { ...house, env, folder, backup }
}
