import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import pg from 'pg'
import { userByName } from '../../../src/auth/account-store.ts'
import { createClient } from '../../../src/client/client.ts'
import { doctor } from '../../../src/doctor/doctor.ts'
import { addHost } from '../../../src/hosts/add-host.ts'
import { admin, isError, newUser, startHost, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { startProcess } from '../../support/service/processes.ts'
import { eventually } from '../../support/service/setup.ts'

test('every process knows a new host at once, and new users are placed on the emptiest', async (t) => {
  const { service, installation, second } = await startWithTwoHosts(t)
  const other = await installation.start()
  const third = await startHost(t)
  const { namespace } = service.services.installation
  await runSql({ connectionString: third.url }, `create database "${namespace}"`)
  const host = await addHost(service.services.installation, 'third', third.url)
  const { rows: open } = await runSql(
    { connectionString: third.url },
    `select datname from pg_database where has_database_privilege('public', oid, 'connect') and datname <> 'template0'`,
  )
  assert.deepEqual(open, [], 'also one that was there before')
  assert.ok(other.services.databases.hosts.has(host.id))
  const placed = []
  for (const username of ['a', 'b', 'c', 'd']) {
    await newUser(other, username)
    placed.push((await userByName(other.services.databases.control, username))?.hostId)
  }
  assert.deepEqual(placed, [1, second, host.id, 1])
})

test('keys, SQL, copies and jobs work on a second host', async (t) => {
  const { service } = await startWithTwoHosts(t)
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  await client.sql('create table t (n int, w text)')
  assert.equal((await client.copyFrom('copy t from stdin csv', '1,one\n2,two\n')).total_rows, 2)
  assert.equal(await text(await client.copyTo('copy t to stdout csv')), '1,one\n2,two\n')
  const { job_id } = await client.jobs.create("insert into t values (3, 'three')")
  assert.equal((await client.jobs.finished(job_id)).status, 'done')
  const key = await client.keys.create({
    name: 'reader',
    grants: [
      { type: 'apis', apis: ['sql'] },
      { type: 'database', tables: [{ schema: 'public', name: 't', permissions: ['select'] }] },
    ],
  })
  const reader = createClient({ baseUrl: service.url, username: 'second', token: key.token })
  assert.deepEqual((await reader.sql('select count(*) as n from t')).rows, [{ n: 3 }])
  await assert.rejects(reader.sql('delete from t'), /permission denied/)
  await client.keys.delete('reader')
  await assert.rejects(reader.sql('select 1'), isError(401))
  await admin(service).users.delete('second')
  const { installation, config } = service.services
  const orphans = (await doctor(installation, { ...config, dataDir: tmpdir() })).filter(({ name }) =>
    /host second: (roles|databases)/.test(name),
  )
  assert.deepEqual(
    orphans.map(({ status, advice }) => [status, advice[0]]),
    [
      ['ok', '0'],
      ['ok', '0'],
    ],
  )
})

test('a statement that PostgreSQL refuses inside a transaction runs outside one on a second host', async (t) => {
  const { service } = await startWithTwoHosts(t)
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  await client.sql('create table t (n int)')
  const { job_id } = await client.jobs.create([
    'do $$ begin insert into t values (1); commit; insert into t values (2); end $$',
    'vacuum t',
    'insert into t values (3)',
  ])
  const { status, failed_reason } = await client.jobs.finished(job_id)
  assert.deepEqual({ status, failed_reason }, { status: 'done', failed_reason: undefined })
  assert.deepEqual((await client.sql('select n from t order by n')).rows, [{ n: 1 }, { n: 2 }, { n: 3 }])
})

test('an item that is one transaction by itself is retried on a second host, and can be cancelled meanwhile', async (t) => {
  const { service } = await startWithTwoHosts(t)
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  await client.sql(`create table t (n int); create sequence calls;
    create function call() returns void language plpgsql as $$
    begin
      if nextval('calls') <= 2 then raise exception 'not yet' using errcode = '40001'; end if;
    end $$`)
  const query = [
    'begin isolation level serializable; insert into t values (1); select call(); commit',
    'insert into t values (2)',
  ]
  const tried = await client.jobs.create(query, { retry: { attempts: 3, backoff_s: 0 } })
  const { status, failed_reason } = await client.jobs.finished(tried.job_id)
  assert.deepEqual({ status, failed_reason }, { status: 'done', failed_reason: undefined })
  assert.deepEqual((await client.sql('select n from t order by n')).rows, [{ n: 1 }, { n: 2 }])

  await client.sql('alter sequence calls restart')
  const waiting = await client.jobs.create(query, { retry: { attempts: 3, backoff_s: 600 } })
  await eventually(async () => {
    assert.deepEqual((await client.sql('select is_called from calls')).rows, [{ is_called: true }])
    assert.equal((await client.jobs.read(waiting.job_id)).status, 'pending')
  })
  assert.equal((await client.jobs.cancel(waiting.job_id)).status, 'cancelled')
  assert.equal((await client.sql('select from t')).total_rows, 2)
})

test('a job on a second host whose worker is killed continues and is applied exactly once', async (t) => {
  const { service, installation } = await startWithTwoHosts(t, { worker: false })
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  await client.sql('create table t (n int)')
  const doomed = await startProcess(t, installation, ['worker'])
  const { job_id } = await client.jobs.create([
    'insert into t values (1)',
    'insert into t select 2 from pg_sleep(4)',
    'insert into t values (3)',
  ])
  await eventually(async () => {
    const { query } = await client.jobs.read(job_id)
    assert.ok(Array.isArray(query) && query[1].status === 'running', JSON.stringify(query))
  })
  await doomed.kill()
  await startProcess(t, installation, ['worker'])
  assert.equal((await client.jobs.finished(job_id)).status, 'done')
  assert.deepEqual(
    (await client.sql<{ n: number }>('select n from t order by n')).rows.map(({ n }) => n),
    [1, 2, 3],
  )
})

test('a host that is down affects no user of the others, and is used again when it is back', async (t) => {
  const { service, installation, cluster } = await startWithTwoHosts(t)
  const first = await newUser(service, 'first')
  const second = await newUser(service, 'second')
  await cluster.stop()
  await assert.rejects(second.sql('select 1'), isError(503))
  const waiting = await second.jobs.create('create table made_later (n int)')

  const late = await installation.start()
  for (const url of [service.url, late.url]) {
    const ready = await fetch(`${url}/health/ready`)
    assert.equal(ready.status, 200)
    const { imports, ...verdicts } = (await ready.json()) as { imports: string }
    assert.match(imports, /GDAL/)
    assert.deepEqual(verdicts, {
      status: 'ok',
      control: 'ok',
      hosts: { local: 'ok', second: 'unreachable' },
      replication: {
        local: { role: 'primary', standbys: 0, synchronous: 0, lag_bytes: null, lag_ms: null },
      },
    })
  }
  assert.equal((await first.sql('select 1')).total_rows, 1)
  const { job_id } = await first.jobs.create('create table t (n int)')
  assert.equal((await first.jobs.finished(job_id)).status, 'done')
  await newUser(late, 'third')
  assert.equal((await userByName(late.services.databases.control, 'third'))?.hostId, 1)
  const checks = await doctor(late.services.installation, { ...late.services.config, dataDir: tmpdir() })
  assert.equal(checks.find(({ name }) => name === 'host second')?.status, 'fail')

  await cluster.restart()
  assert.equal((await second.jobs.finished(waiting.job_id)).status, 'done')
  assert.equal((await second.sql('select * from made_later')).total_rows, 0)
})

test('a host must be a separate cluster whose administrator is a superuser', async (t) => {
  const { service, installation, cluster } = await startWithTwoHosts(t)
  const { installation: opened } = service.services
  await assert.rejects(addHost(opened, 'again', cluster.url), /is the host 'second' already/)
  await assert.rejects(addHost(opened, 'again', installation.keys.adminUrl), /is the host 'local' already/)
  await assert.rejects(addHost(opened, 'local', cluster.url), /comes from the configuration/)
  await assert.rejects(addHost(opened, 'Upper', cluster.url), /lower-case/)
  await assert.rejects(addHost(opened, 'web', 'http://example.org'), /postgres:\/\//)
  const wrongPassword = cluster.url.replace(/:[^:@/]+@/, ':wrong@')
  await assert.rejects(
    addHost(opened, 'again', wrongPassword),
    /cannot be used: password authentication failed/,
  )
  await assert.rejects(
    addHost(opened, 'second', wrongPassword),
    /cannot be used: password authentication failed/,
  )
  const owner = new pg.Client(cluster.url)
  await owner.connect()
  await owner.query(`create role plain login createdb createrole password 'plain'`)
  await owner.end()
  const plain = cluster.url.replace(/\/\/[^@]+@/, '//plain:plain@')
  await assert.rejects(addHost(opened, 'second', plain), /is not a superuser/)
  await addHost(opened, 'second', cluster.url)
  await newUser(service, 'first')
  assert.equal((await (await newUser(service, 'second')).sql('select 1')).total_rows, 1)
})
