import assert from 'node:assert/strict'
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { tarEntry } from '../../src/cli/backup/tar-entry.ts'
import { createAdminClient, createClient } from '../../src/client/client.ts'
import { beginCartage, cartage, installation } from '../support/http/call.ts'
import { newDataDir } from '../support/service/data-dir.ts'
import { madeDataDir } from '../support/service/made-installation.ts'
import { startCartage } from '../support/service/processes.ts'
import { eventually, setup } from '../support/service/setup.ts'

const passphrase = { CARTAGE_BACKUP_PASSPHRASE: 'a long passphrase for tests' }

test('a backup of a running installation, restored into an empty directory, is the same installation', async (t) => {
  const [dataDir, other] = [await madeDataDir(t), await newDataDir(t)]
  const file = join(other, 'backup.tar.gz')
  const original = await startCartage(t, ['serve'], { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' })
  const adminToken = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim()
  const operator = createAdminClient({ baseUrl: original.url, token: adminToken })
  const { api_key: token } = await operator.users.create({ username: 'alice', quota_in_bytes: 10 ** 9 })
  operator.close()
  const alice = createClient({ baseUrl: original.url, username: 'alice', token })
  await alice.sql(
    'create table places as select n, repeat(n::text, 50) as name from generate_series(1, 20000) n',
  )
  // Code that a superuser must never run: a restore that executes it would leave a trace or fail.
  await alice.sql(`create function trap(int) returns int immutable language plpgsql as
    $$ begin if current_user <> 'cartage_u1' then raise 'trap'; end if; return $1; end $$`)
  await alice.sql('create index on places (trap(n))')
  await alice.keys.create({ name: 'reader', grants: [{ type: 'apis', apis: ['sql'] }] })
  const job = await alice.jobs.finished((await alice.jobs.create('create table made as select 1')).job_id)
  await alice.sql('create table journal (n int)')
  const before = await stateOf(alice, job.job_id)

  const writing = keepWriting(alice)
  const saved = await cartage({ CARTAGE_DATA_DIR: dataDir, ...passphrase }, 'backup', file)
  assert.deepEqual([saved.out, saved.err], [`saved ${file}\n`, ''])
  await writing.stop()
  assert.equal((await cartage({ CARTAGE_DATA_DIR: dataDir, ...passphrase }, 'backup', file)).code, 2)
  const secret = await readFile(join(dataDir, 'secret'), 'utf8')
  alice.close()
  assert.equal(await original.stop(), 0)

  const target = await newDataDir(t)
  const wrong = await cartage(
    { CARTAGE_DATA_DIR: target, CARTAGE_BACKUP_PASSPHRASE: 'not that passphrase' },
    'restore',
    file,
  )
  assert.deepEqual(
    [wrong.code, wrong.err],
    [2, 'cartage: this passphrase does not open the secret in the backup\n'],
  )
  assert.deepEqual(await readdir(target), [])
  const restored = await cartage({ CARTAGE_DATA_DIR: target, ...passphrase }, 'restore', file)
  assert.deepEqual([restored.code, restored.err], [0, ''])
  assert.equal(await readFile(join(target, 'secret'), 'utf8'), secret)
  const again = await startCartage(t, ['serve'], { CARTAGE_DATA_DIR: target })
  const aliceAgain = createClient({ baseUrl: again.url, username: 'alice', token })
  assert.deepEqual(await stateOf(aliceAgain, job.job_id), before)
  assert.equal((await aliceAgain.sql('select count(*) from journal')).total_rows, 1)
  const next = await aliceAgain.jobs.finished((await aliceAgain.jobs.create('select 1')).job_id)
  assert.equal(next.status, 'done')
  aliceAgain.close()
  const twice = await cartage({ CARTAGE_DATA_DIR: target, ...passphrase }, 'restore', file)
  assert.equal(twice.code, 1)
  assert.match(twice.err, /^cartage: .+\n$/)
  assert.equal(await again.stop(), 0)
})

test('an own PostgreSQL cluster is backed up and restored the same way; a damaged file restores nothing', async (t) => {
  const house = await setup(t)
  await house.user.sql('create table t as select 42 as answer')
  const folder = await newDataDir(t)
  const file = join(folder, 'backup.tar')
  assert.match(
    (await cartage(installation(house), 'backup', file)).err,
    /^cartage: set CARTAGE_BACKUP_PASSPHRASE, or/,
  )
  const saved = await cartage(installation(house), 'backup', file, '--without-secret')
  assert.equal(saved.out, `saved ${file} without the secret: keep that elsewhere\n`, saved.err)
  const target = await newDataDir(t)
  const { CARTAGE_NAMESPACE, CARTAGE_SECRET } = installation(house)
  const env = { CARTAGE_DATA_DIR: target, CARTAGE_NAMESPACE }
  const torn = join(folder, 'torn.tar')
  await writeFile(torn, await readFile(file))
  await truncate(torn, 20 * 1024 ** 2)
  const refused = await cartage(env, 'restore', torn)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /^cartage: the backup is damaged, or cannot be used here: .+\n$/)
  assert.match((await cartage(env, 'user', 'list')).err, /there is no installation|There is no installation/)
  const restored = await cartage(env, 'restore', file)
  assert.match(restored.out, /\nits secret is not in the backup: put it into .+\/secret\n$/, restored.err)
  const process = await startCartage(t, ['serve', '--no-worker'], { ...env, CARTAGE_SECRET })
  const { username, masterToken: token } = house.user
  const client = createClient({ baseUrl: process.url, username, token })
  assert.deepEqual((await client.sql('select answer from t')).rows, [{ answer: 42 }])
  client.close()
  assert.equal(await process.stop(), 0)
})

test('a file that is no backup is refused with a sentence', async (t) => {
  const folder = await newDataDir(t)
  const note = {
    format: 1,
    version: '1.0.0',
    postgres: 15,
    namespace: 'cartage',
    created_at: '2026-05-01T00:00:00.000Z',
    has_secret: true,
  }
  const contents: Readonly<Record<string, Buffer>> = {
    'empty.tar': Buffer.alloc(0),
    'note.txt': Buffer.from('buy milk'),
    'broken.tar.gz': Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    'broken-note.tar': tarEntry('cartage.json', Buffer.from('{')),
    'broken-secret.tar': Buffer.concat([
      tarEntry('cartage.json', Buffer.from(JSON.stringify(note))),
      tarEntry('cartage.secret', Buffer.from('short')),
    ]),
  }
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content)
  const env = { CARTAGE_DATA_DIR: join(folder, 'data'), ...passphrase }
  for (const name of ['missing.tar', '.', ...Object.keys(contents)]) {
    const { code, err } = await cartage(env, 'restore', join(folder, name))
    assert.ok(code === 1 || code === 2, name)
    assert.match(err, /^cartage: .+\n$/, name)
  }
})

test('an interrupted backup leaves no part of its file', async (t) => {
  const house = await setup(t)
  const folder = await newDataDir(t)
  const args = ['backup', join(folder, 'backup.tar.gz'), '--without-secret']
  const { child, ended } = beginCartage(installation(house), args)
  await eventually(async () => assert.equal((await readdir(folder)).length, 1), 60_000)
  child.kill('SIGINT')
  const { code, err } = await ended
  assert.deepEqual(
    { code, err, left: await readdir(folder) },
    { code: 130, err: 'cartage: interrupted\n', left: [] },
  )
})

type User = ReturnType<typeof createClient>

/** What a user sees of its account. */
async function stateOf(user: User, jobId: string) {
  const rows = await user.sql(
    `select count(*) as rows, md5(string_agg(name, ',' order by n)) as hash from places`,
  )
  const tables = await user.sql(
    `select relname, relkind, pg_get_userbyid(relowner) as owner, relacl::text from pg_class
     where relnamespace = 'public'::regnamespace order by 1`,
  )
  const keys = (await user.keys.list()).result.map(({ _links, ...key }) => key)
  return { rows: rows.rows, tables: tables.rows, keys, job: await user.jobs.read(jobId) }
}

function keepWriting(user: User) {
  let isOver = false
  const loop = (async () => {
    while (!isOver) await user.sql('insert into journal values (1)')
  })()
  return {
    stop: async () => {
      isOver = true
      await loop
    },
  }
}
