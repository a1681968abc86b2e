import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage } from '../../support/http/call.ts'
import { embeddedSuperuser, newDataDir } from '../../support/service/data-dir.ts'
import { startEmbedded } from '../../support/service/embedded-service.ts'
import { clientAt } from '../../support/service/empty-server.ts'
import { startCartage } from '../../support/service/processes.ts'

test('a restore ends a move that was unfinished in the backup, and its user is served', async (t) => {
  const { dataDir, operator, clientOf } = await startEmbedded(t)
  const { api_key: token } = await operator.users.create({ username: 'alice' })
  await clientOf('alice', token).sql('create table t as select 1 as n')
  const control = await embeddedSuperuser(t, dataDir, 'cartage')
  // The service does not touch the move while the user's lock is held.
  await control.query('select pg_advisory_lock(7238004, id) from cartage.users')
  await control.query(`begin;
    update cartage.users set is_moving = true, suspended_at = now(), suspended_reason = 'moves';
    select cartage.hold_jobs(id, true) from cartage.users;
    insert into cartage.moves (user_id, from_host_id, from_host, to_host_id, to_host, phase, stopped_at)
      select id, 1, 'local', 2, 'second', 'copying', now() from cartage.users;
    alter role cartage_u1 nologin;
    commit`)
  const file = join(await newDataDir(t), 'backup.tar')
  const env = { CARTAGE_BACKUP_PASSPHRASE: 'a long passphrase for tests' }
  assert.equal((await cartage({ ...env, CARTAGE_DATA_DIR: dataDir }, 'backup', file)).code, 0)

  const target = { ...env, CARTAGE_DATA_DIR: await newDataDir(t) }
  const restored = await cartage(target, 'restore', file)
  assert.equal(restored.code, 0, restored.err)
  const process = await startCartage(t, ['serve'], target)
  const alice = clientAt(t, process.url, 'alice', token)
  assert.deepEqual((await alice.sql('select n from t')).rows, [{ n: 1 }])
  const { job_id } = await alice.jobs.create('insert into t values (2)')
  assert.equal((await alice.jobs.finished(job_id)).status, 'done')
  const there = await embeddedSuperuser(t, target.CARTAGE_DATA_DIR, 'cartage')
  const { rows } = await there.query('select phase, error, ended_at is not null as ended from cartage.moves')
  assert.deepEqual(rows, [{ phase: 'failed', error: 'restored from a backup', ended: true }])
})
