import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { migrate, readMigrations } from '../../src/postgres/migrate.ts'
import { cartage } from '../support/http/call.ts'
import { withDatabase } from '../support/runner/namespace.ts'
import { laterName, migrationPath, releasedMigrations } from '../support/service/released.ts'
import { randomName, setup } from '../support/service/setup.ts'

test('a released migration stays unchanged', async () => {
  for (const { version, folder, name, checksum } of await releasedMigrations()) {
    const text = await readFile(migrationPath(folder, name), 'utf8').catch(() => '')
    assert.equal(
      createHash('sha256').update(text).digest('hex'),
      checksum,
      `migrations/${folder}/${name}.sql was released with ${version}, and installations have applied it: put it back as it was, and make the change in a new migration`,
    )
  }
})

test('a new migration comes after the released ones', async () => {
  const released = await releasedMigrations()
  for (const folder of ['control', 'tenant', 'host'] as const) {
    const names = released.filter((migration) => migration.folder === folder).map(({ name }) => name)
    const newest = names.sort().at(-1)!
    const files = (await readdir(dirname(migrationPath(folder, newest)))).map((file) => file.slice(0, -4))
    for (const name of files.filter((file) => !names.includes(file)))
      assert.ok(
        name > newest,
        `migrations/${folder}/${name}.sql must have a higher number than ${newest}, which is released`,
      )
  }
})

test('the database of a further host is upgraded from 0.1.0 with its marks', async (t) => {
  const client = await newDatabase(t, randomName('ct-host').replaceAll('-', '_'))
  const folder = dirname(migrationPath('host', ''))
  const today = await readMigrations(folder)
  const released = (await releasedMigrations()).filter(
    (migration) => migration.folder === 'host' && migration.version === '0.1.0',
  )
  await migrate(
    client,
    today.filter(({ name }) => released.some((migration) => migration.name === name)),
  )
  await client.query(`insert into cartage.flights (job_id, step, pid, backend_start, system_identifier)
    values (gen_random_uuid(), '0', 7, now(), 1)`)
  const later = {
    name: laterName,
    sql: 'alter table cartage.flights add column later integer default 7',
    checksum: 'x',
  }
  await migrate(client, [...today, later])
  const { rows } = await client.query('select pid, later from cartage.flights')
  assert.deepEqual(rows, [{ pid: 7, later: 7 }])
})

test('one file, the newest, defines all functions of the job queue', async () => {
  const migrations = await readMigrations(dirname(migrationPath('control', '')))
  const definedIn = (sql: string) =>
    [...sql.matchAll(/^create (?:or replace )?function cartage\.(\w+)/gm)].map(([, name]) => name!)
  const queue = migrations.filter(({ name }) => name.endsWith('-job-queue')).at(-1)!
  const functions = definedIn(queue.sql)
  for (const { name, sql } of migrations.filter(({ name }) => name > queue.name))
    assert.deepEqual(
      definedIn(sql).filter((found) => functions.includes(found)),
      [],
      name,
    )
  for (const called of ['enqueue_jobs', 'claim_jobs', 'write_jobs'])
    assert.ok(functions.includes(called), called)
})

test('jobs keep their labels and schedules when their list gets its own indexes', async (t) => {
  const client = await newDatabase(t, randomName('ct-labels').replaceAll('-', '_'))
  const today = await readMigrations(dirname(migrationPath('control', '')))
  const before = today.filter(({ name }) => name < '0022')
  await migrate(client, before)
  await client.query('set session_replication_role = replica')
  const add = async (status: string, tags: object) => {
    const { rows } = await client.query(
      `insert into cartage.jobs (user_id, host_id, id, definition, status, finished_at)
       values (1, 1, gen_random_uuid(), $1, $2, case when $2 <> 'pending' then now() end) returning id`,
      [{ form: 'string', items: [{ statement: 'select 1' }], ...tags }, status],
    )
    return rows[0].id as string
  }
  const done = await add('done', { labels: ['a', 'b'], schedule: 's' })
  const pending = await add('pending', { labels: ['a'] })
  const bare = await add('failed', { labels: [] })
  const plain = await add('done', {})
  await client.query('set session_replication_role = origin')
  await migrate(client, today)
  const { rows: jobs } = await client.query('select id, labels, schedule from cartage.jobs')
  const tagsOf = (id: string) => {
    const { labels, schedule } = jobs.find((job) => job.id === id)
    return [labels?.sort(), schedule]
  }
  assert.deepEqual([done, pending, bare, plain].map(tagsOf), [
    [['a', 'b'], 's'],
    [['a'], null],
    [undefined, null],
    [undefined, null],
  ])
  const { rows: labels } = await client.query(
    'select label, schedule, status, job_id from cartage.job_labels order by label, schedule',
  )
  assert.deepEqual(labels, [
    { label: 'a', schedule: '', status: 'done', job_id: done },
    { label: 'a', schedule: 's', status: 'done', job_id: done },
    { label: 'b', schedule: '', status: 'done', job_id: done },
    { label: 'b', schedule: 's', status: 'done', job_id: done },
  ])
})

const unreleased = {
  'that has no checksums': `create table cartage.migrations (name text primary key, applied_at timestamptz default now());
    insert into cartage.migrations (name) values ('0001-accounts'), ('0002-jobs')`,
  'that has other migrations': `create table cartage.migrations (
      name text primary key, checksum text not null, applied_at timestamptz default now());
    insert into cartage.migrations (name, checksum) values ('0001-accounts', 'a'), ('0002-jobs', 'b')`,
}
for (const [kind, table] of Object.entries(unreleased)) {
  test(`an installation of an unreleased version ${kind} is refused in one sentence, and nothing changes`, async (t) => {
    const { keys } = await setup(t)
    const namespace = randomName('ct-old').replaceAll('-', '_')
    const client = await newDatabase(t, namespace)
    await client.query(`create schema cartage; create table cartage.users (id integer); ${table}`)
    const before = await snapshot(client, namespace)
    const env = {
      CARTAGE_DATABASE_URL: keys.adminUrl,
      CARTAGE_SECRET: keys.secret,
      CARTAGE_NAMESPACE: namespace,
    }
    for (const command of [['serve', '--no-worker'], ['worker'], ['doctor'], ['user', 'list']]) {
      const { code, err } = await cartage({ ...env, CARTAGE_PORT: '0' }, ...command)
      assert.equal(
        err,
        'cartage: This installation was made by a version of Cartage before 0.1.0, the first release, and cannot be upgraded: export its tables with that version, then import them into a new installation\n',
      )
      assert.equal(code, 1)
    }
    assert.deepEqual(await snapshot(client, namespace), before)
  })
}

/** A database that is dropped with the test, and a superuser session in it. */
async function newDatabase(t: TestContext, name: string): Promise<pg.Client> {
  const { admin, keys } = await setup(t)
  await admin(`create database ${name} template template0`)
  const client = new pg.Client({ connectionString: withDatabase(keys.adminUrl, name) })
  client.on('error', () => undefined)
  t.after(async () => {
    await client.end()
    await admin(`drop database if exists ${name} with (force)`)
  })
  await client.connect()
  return client
}

/** Every object of the database, the rows of its migrations, and the databases and roles of the namespace. */
async function snapshot(client: pg.Client, namespace: string): Promise<unknown> {
  const { rows } = await client.query(
    `select classid::regclass::text, identity from pg_depend, pg_identify_object(classid, objid, objsubid)
       where classid <> 0 and not (schema ~ '^pg_' and schema is not null)
     union select 'migration', to_jsonb(migrations)::text from cartage.migrations
     union select 'database', datname || coalesce(datacl::text, '') from pg_database where datname ~ $1
     union select 'role', rolname from pg_roles where rolname ~ $1 order by 1, 2`,
    [`^${namespace}`],
  )
  return rows
}
