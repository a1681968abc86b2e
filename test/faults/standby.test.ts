import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { CartageError } from '../../src/client/cartage-error.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import { addHost } from '../../src/hosts/add-host.ts'
import { settleFlight } from '../../src/jobs/statement-outcome.ts'
import { createLog } from '../../src/log/log.ts'
import { type RunningService, startService } from '../../src/service/service.ts'
import { standbyPair } from '../support/postgres/standby-pair.ts'
import { startProxy, type TcpProxy } from '../support/postgres/tcp-proxy.ts'
import { newUser } from '../support/postgres/two-hosts.ts'
import { copyTemplate, runSql, testKeys } from '../support/runner/namespace.ts'
import { type Installation, newInstallation } from '../support/service/installation.ts'
import { program } from '../support/service/program.ts'
import { eventually } from '../support/service/setup.ts'

test('a host whose address leads to a standby is unavailable: 503, jobs wait, and nothing is lost', async (t) => {
  const { service, proxy, pair } = await startBehindProxy(t)
  const client = await newUserOnSecond(service, 'asks')
  await client.sql('create table t (n int)')

  proxy.leadTo(pair.standbyUrl)
  await eventually(() => assert.rejects(client.sql('select 1'), isUnavailable))
  for (const text of ['insert into t values (0)', 'select * from t', 'vacuum t']) {
    await assert.rejects(client.sql(text), isUnavailable, text)
  }
  await assert.rejects(client.copyFrom('copy t from stdin', '0\n'), isUnavailable)
  const insert = await client.jobs.create([
    'insert into t values (1)',
    'vacuum t',
    'insert into t values (2)',
  ])
  const vacuum = await client.jobs.create('vacuum t')
  await eventually(async () => {
    const ready = await fetch(`${service.url}/health/ready`)
    const { hosts, replication } = (await ready.json()) as Ready
    assert.deepEqual([ready.status, hosts.second, replication.second], [200, 'standby', { role: 'standby' }])
  })
  assert.match(await adviceOf(service, 'host second: role'), /^fail .* is a standby/)
  assert.equal((await client.jobs.read(insert.job_id)).status, 'pending')

  proxy.leadTo(pair.primaryUrl)
  assert.equal((await client.jobs.finished(insert.job_id)).status, 'done')
  assert.equal((await client.jobs.finished(vacuum.job_id)).status, 'done')
  assert.deepEqual((await client.sql('select n from t order by n')).rows, [{ n: 1 }, { n: 2 }])
  assert.match(await adviceOf(service, 'host second: role'), /^ok primary/)
  assert.match(await adviceOf(service, 'host second: replication'), /^ok 1 standbys, 0 of them synchronous/)
})

test("an error in a read-only transaction that the caller asked for is the caller's", async (t) => {
  const { service } = await startBehindProxy(t)
  const client = await newUserOnSecond(service, 'reads')
  const text = 'begin; set transaction read only; create table t (n int); commit'
  await assert.rejects(client.sql(text), (error) => {
    assert.deepEqual(factsOf(error), { status: 400, code: 'database', hasRetryAfter: false })
    return true
  })
})

test('a standby among the hosts stops no start and no command, and host add repairs it', async (t) => {
  const { service, installation, proxy, pair } = await startBehindProxy(t)
  const client = await newUserOnSecond(service, 'mended')
  proxy.leadTo(pair.standbyUrl)
  const late = await installation.start({ parts: { worker: true } })
  await eventually(() => assert.rejects(client.sql('select 1'), isUnavailable))
  assert.match(await cartage(installation, ['user', 'list']), /mended/)
  const addHostAt = (url: string) =>
    cartage(installation, ['host', 'add', 'second'], { CARTAGE_HOST_URL: url })
  assert.match(await addHostAt(pair.standbyUrl), /is a standby: give the address of its primary/)
  assert.match(await addHostAt(pair.primaryUrl), /host second is ready/)
  assert.equal((await client.sql('select 1 as n')).total_rows, 1)
  await late.stop()
})

test('a job whose administrator connects to a standby pauses before its next statement and runs it once', async (t) => {
  const { service, proxy, pair } = await startBehindProxy(t)
  const client = await newUserOnSecond(service, 'pauses')
  await client.sql('create table t (n int)')
  const { job_id } = await client.jobs.create(['select pg_sleep(1.5)', 'insert into t values (1)'])
  await eventually(async () => assert.equal((await client.jobs.read(job_id)).status, 'running'))
  proxy.leadTo(pair.standbyUrl, { keepsOpen: true })
  await runSql(
    { connectionString: pair.primaryUrl },
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cartage admin'`,
  )
  const before = proxy.flows().length
  // Several attempts to mark the second statement have reached the standby.
  await eventually(() => assert.ok(proxy.flows().length >= before + 6))
  assert.equal((await client.jobs.read(job_id)).status, 'running')
  proxy.leadTo(pair.primaryUrl, { keepsOpen: true })
  const { status, failed_reason } = await client.jobs.finished(job_id)
  assert.deepEqual({ status, failed_reason }, { status: 'done', failed_reason: undefined })
  assert.deepEqual((await client.sql('select n from t')).rows, [{ n: 1 }])
})

test('a commit that no synchronous standby confirms in time has an unknown outcome', async (t) => {
  const { service, pair } = await startBehindProxy(t, { queryTimeoutMs: 1_000 })
  const client = await newUserOnSecond(service, 'waits')
  await client.sql('create table t (n int)')
  const primary = (text: string) => runSql({ connectionString: pair.primaryUrl }, text)
  const waitFor = async (standby: string) => {
    await primary(`alter system set synchronous_standby_names = '${standby}'`)
    await primary('select pg_reload_conf()')
    const shown = () => primary('show synchronous_standby_names')
    await eventually(async () => assert.equal((await shown()).rows[0].synchronous_standby_names, standby))
  }
  try {
    await waitFor('nobody')
    await assert.rejects(client.sql('insert into t values (1)'), (error) => {
      const facts = { status: 503, code: 'statement-outcome-unknown', hasRetryAfter: false }
      assert.deepEqual(factsOf(error), facts)
      return true
    })
    assert.match(await adviceOf(service, 'host second: replication'), /^fail .*every commit waits/)
  } finally {
    await waitFor('')
  }
  assert.deepEqual((await client.sql('select n from t')).rows, [{ n: 1 }])
})

test('a control database that leads to a standby makes the process not ready until it leads to the primary', async (t) => {
  const { service, proxy, pair } = await startWhollyBehindProxy(t)
  const client = await newUser(service, 'alone')
  proxy.leadTo(pair.standbyUrl)
  await eventually(() => assert.rejects(client.sql('select 1'), isUnavailable))
  await eventually(async () => {
    const ready = await fetch(`${service.url}/health/ready`)
    assert.deepEqual([ready.status, ((await ready.json()) as Ready).control], [503, 'standby'])
  })
  await assert.rejects(client.jobs.create('select 1'), isUnavailable)
  proxy.leadTo(pair.primaryUrl)
  await eventually(async () => assert.equal((await client.sql('select 1')).total_rows, 1))
  const { job_id } = await client.jobs.create('create table t (n int)')
  assert.equal((await client.jobs.finished(job_id)).status, 'done')
})

test('a statement lost in a fail-over does not count as having ended its own backend', async (t) => {
  const { service, second, proxy, pair } = await startBehindProxy(t)
  const { databases } = service.services
  const { rows } = await runSql(
    { connectionString: pair.primaryUrl },
    `select pg_backend_pid() as pid, clock_timestamp()::text as "backendStart", pg_current_xact_id()::text as xid`,
  )
  await pair.failOver()
  proxy.leadTo(pair.standbyUrl)
  const settle = () => settleFlight(databases, second, '00000000-0000-4000-8000-000000000000', rows[0]!)
  assert.deepEqual(await eventually(settle), { kind: 'aborted', isServerRestarted: true })
})

type Ready = Readonly<{
  control: string
  hosts: Readonly<Record<string, string>>
  replication: Readonly<Record<string, unknown>>
}>

/** A control database elsewhere, and a second host behind a proxy that leads to the primary. */
async function startBehindProxy(t: TestContext, config: Partial<Config> = {}) {
  const pair = await standbyPair()
  const proxies: TcpProxy[] = []
  // Before its users are removed.
  t.after(() => proxies[0]?.leadTo(pair.primaryUrl))
  const installation = await newInstallation(t)
  const proxy = await startProxy(t, pair.primaryUrl)
  proxies.push(proxy)
  await copyTemplate(pair.primaryUrl, pair.namespace, installation.config.namespace)
  const service = await installation.start({ parts: { worker: true }, config })
  const { id: second } = await addHost(service.services.installation, 'second', proxy.url)
  return { service, installation, second, proxy, pair }
}

/** The control database and all users behind such a proxy. */
async function startWhollyBehindProxy(t: TestContext) {
  const pair = await standbyPair()
  const proxy = await startProxy(t, pair.primaryUrl)
  const config = { ...readConfig({}), port: 0, namespace: pair.namespace, logLevel: 'error' } as const
  const parts = { http: true, worker: true }
  const service = await startService(config, testKeys(proxy.url), parts, createLog('error'))
  t.after(() => service.stop())
  return { service, proxy, pair }
}

/** New users are placed on the emptiest host: the first one beside the control database. */
async function newUserOnSecond(service: RunningService, username: string) {
  await newUser(service, 'elsewhere')
  return newUser(service, username)
}

async function adviceOf({ services }: RunningService, check: string): Promise<string> {
  const checks = await doctor(services.installation, { ...services.config, dataDir: tmpdir() })
  const { status, advice } = checks.find(({ name }) => name === check)!
  return `${status} ${advice}`
}

const factsOf = (error: unknown) => {
  const { status, code, retryAfterSeconds } = error as CartageError
  return { status, code, hasRetryAfter: retryAfterSeconds !== undefined }
}

function isUnavailable(error: unknown): boolean {
  assert.deepEqual(factsOf(error), { status: 503, code: 'database-unavailable', hasRetryAfter: true })
  return true
}

/** What a command prints, whatever its exit code. */
async function cartage(
  { config, keys }: Installation,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const known = {
    PATH: process.env.PATH,
    CARTAGE_DATABASE_URL: keys.adminUrl,
    CARTAGE_SECRET: keys.secret,
    CARTAGE_NAMESPACE: config.namespace,
  }
  const run = promisify(execFile)(process.execPath, [...program, ...command], { env: { ...known, ...env } })
  const { stdout, stderr } = await run.catch((failed: { stdout: string; stderr: string }) => failed)
  return `${stdout}${stderr}`
}
