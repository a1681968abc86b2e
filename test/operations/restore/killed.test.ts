import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { beginCartage, cartage } from '../../support/http/call.ts'
import { runSql, withDatabase } from '../../support/runner/namespace.ts'
import { embeddedSuperuser, newDataDir } from '../../support/service/data-dir.ts'
import { accountsOf, startEmbedded } from '../../support/service/embedded-service.ts'
import { clientAt, emptyServer } from '../../support/service/empty-server.ts'
import { startCartage } from '../../support/service/processes.ts'
import { eventually } from '../../support/service/setup.ts'

const passphrase = { CARTAGE_BACKUP_PASSPHRASE: 'a long passphrase for tests' }

test('an interrupted or killed restore of one user leaves no user, and can be repeated', async (t) => {
  const { dataDir, newUser, clientOf, run } = await startEmbedded(t)
  const alice = await newUser('alice')
  await alice.sql(`create function slow(n integer) returns boolean language sql as
      $$ select pg_catalog.pg_sleep(case when n = 1 then 6 else 0 end) is not null $$;
    create table t (n integer check (public.slow(n)));
    insert into t select generate_series(1, 100)`)
  const file = join(await newDataDir(t), 'backup.tar')
  assert.equal((await run('backup', file, '--without-secret')).code, 0)
  const superuser = await embeddedSuperuser(t, dataDir, 'postgres')
  const args = ['restore', file, '--user', 'alice', '--as', 'new']
  const stoppedBy = async (name: NodeJS.Signals, role: string) => {
    const { child, ended } = beginCartage({ CARTAGE_DATA_DIR: dataDir }, args)
    await eventually(async () => {
      const { rows } = await superuser.query(
        `select usename from pg_stat_activity where wait_event = 'PgSleep' and application_name = 'cartage move'`,
      )
      // Runs as its own role, no superuser.
      assert.deepEqual(rows, [{ usename: role }])
    }, 60_000)
    child.kill(name)
    return ended
  }
  const interrupted = await stoppedBy('SIGINT', 'cartage_u2')
  assert.deepEqual([interrupted.code, /^cartage: interrupted$/m.test(interrupted.err)], [130, true])
  assert.deepEqual(await accountsOf(t, dataDir), ['alice'])
  await assert.rejects(access(join(dataDir, 'restore')), { code: 'ENOENT' })
  await stoppedBy('SIGKILL', 'cartage_u3')
  assert.equal((await run('user', 'list')).out, 'alice\n')
  await access(join(dataDir, 'restore'))
  assert.match((await run('repair')).out, /^removed what a restore has left that was killed$/m)
  await assert.rejects(access(join(dataDir, 'restore')), { code: 'ENOENT' })
  const again = await run(...args, '--json')
  assert.equal(again.code, 0, again.err)
  const { api_key: token } = JSON.parse(again.out) as { api_key: string }
  assert.deepEqual((await clientOf('new', token).sql('select count(*) from t')).rows, [{ count: 100 }])
  assert.deepEqual(await accountsOf(t, dataDir), ['alice', 'new'])
})

test('a killed restore serves nothing, and can be repeated', async (t) => {
  const { dataDir, operator, clientOf } = await startEmbedded(t)
  const { api_key: token } = await operator.users.create({ username: 'alice' })
  const alice = clientOf('alice', token)
  await alice.sql(`create function slow(n integer) returns boolean language sql as
      $$ select pg_catalog.pg_sleep(case when n = 1 then 15 else 0 end) is not null $$;
    create table t (n integer check (public.slow(n)));
    insert into t select generate_series(1, 100)`)
  const file = join(await newDataDir(t), 'backup.tar.gz')
  assert.equal((await cartage({ CARTAGE_DATA_DIR: dataDir, ...passphrase }, 'backup', file)).code, 0)
  const env = await emptyServer(t)
  const admin = { connectionString: env.CARTAGE_DATABASE_URL }
  // A database of another installation.
  await runSql(admin, 'create database cartage_restore')
  const { child, ended } = beginCartage({ ...env, ...passphrase }, ['restore', file])
  await eventually(async () => {
    const { rows } = await runSql(
      admin,
      `select usename::text from pg_stat_activity where wait_event = 'PgSleep'`,
    )
    // Runs as its own role, no superuser.
    assert.deepEqual(rows, [{ usename: 'cartage_u1' }])
  }, 60_000)
  const second = await cartage(
    { ...env, ...passphrase, CARTAGE_DATA_DIR: await newDataDir(t) },
    'restore',
    file,
  )
  assert.match(second.err, /Another restore into this PostgreSQL is running/)
  child.kill('SIGKILL')
  await ended
  const served = await cartage(env, 'serve')
  assert.notEqual(served.code, 0)
  assert.match(served.err + served.out, /A restore into this PostgreSQL has not ended/)
  const agent = keepWatching(withDatabase(env.CARTAGE_DATABASE_URL, 'cartage-restore'))
  const again = await cartage({ ...env, ...passphrase }, 'restore', file)
  assert.ok((await agent.stop()) > 1, 'the agent was connected to the draft')
  assert.equal(again.code, 0, again.err)
  const others = await runSql(admin, `select from pg_database where datname = 'cartage_restore'`)
  assert.equal(others.rowCount, 1)
  const process = await startCartage(t, ['serve', '--no-worker'], env)
  const aliceAgain = clientAt(t, process.url, 'alice', token)
  assert.deepEqual((await aliceAgain.sql('select count(*) from t')).rows, [{ count: 100 }])
})

/** Like a program that watches all databases of a server. Counts how often its session was ended. */
function keepWatching(connectionString: string) {
  let [isOver, ended] = [false, 0]
  const loop = (async () => {
    while (!isOver) {
      const { code } = (await runSql({ connectionString }, 'select pg_sleep(120)').catch(
        (error) => error,
      )) as {
        code?: string
      }
      if (code === '57P01') ended += 1
      await sleep(100)
    }
  })()
  return {
    stop: async () => {
      isOver = true
      await loop
      return ended
    },
  }
}
