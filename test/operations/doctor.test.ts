import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Config } from '../../src/config/config.ts'
import type { CheckDocument } from '../../src/contract/documents.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import type { Installation } from '../../src/hosts/installation.ts'
import { createLog } from '../../src/log/log.ts'
import { startEmbeddedCluster } from '../../src/postgres/cluster/embedded-cluster.ts'
import { hostFromUrl } from '../../src/postgres/hosts.ts'
import { deriveSecrets } from '../../src/secrets.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('a healthy installation passes every check', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  // Other tests create databases in this cluster for a while.
  await eventually(async () => {
    const checks = await examine(bundle)
    // The test cluster is fast and not durable, which the doctor reports.
    const { status, advice } = checks['host local: durability']!
    if (status !== 'ok') assert.match(advice, /^fsync, .*off: after a crash/)
    const troubled = Object.values(checks).filter((check) => check.status !== 'ok' && check.advice !== advice)
    assert.deepEqual(troubled, [])
  }, 60_000)
})

test('the doctor checks the disk that the cluster is on', async (t) => {
  const bundle = await setup(t)
  const dataDir = await mkdtemp(join(tmpdir(), 'data-'))
  const elsewhere = await mkdtemp(join(tmpdir(), 'cluster-'))
  await symlink(elsewhere, join(dataDir, 'postgres'))
  const { disk } = await examine(bundle, {}, { dataDir, databaseUrl: '' })
  assert.ok(disk?.advice.includes(` free under ${elsewhere}`), disk?.advice)
})

test('the doctor also checks the disk of a PostgreSQL on this machine that is not embedded', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { databaseUrl: _, ...config } = bundle.service.services.config
  const checks = await examine(bundle, {}, { ...config, databaseUrl: bundle.keys.adminUrl })
  const { rows } = await bundle.admin('show data_directory')
  assert.equal(checks.disk, undefined)
  assert.ok(
    checks['host local: disk']?.advice.includes(`under ${rows[0].data_directory}`),
    JSON.stringify(checks),
  )
  await startFarHost(t, bundle)
  assert.match((await examine(bundle))['host far: disk']!.advice, /under .*cartage-doctor-/)
})

test('a full disk is reported as full', async (t) => {
  const bundle = await setup(t)
  const folder = await mkdtemp(join(tmpdir(), 'full-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder])
  if (mounted.status !== 0) return t.skip(`no disk can be mounted here: ${mounted.stderr}`)
  t.after(() => spawnSync('umount', [folder]))
  const { disk } = await examine(bundle, {}, { dataDir: folder, databaseUrl: '' })
  assert.deepEqual(
    [disk?.status, disk?.advice.startsWith(`The disk under ${folder} is full: `)],
    ['fail', true],
  )
})

test('the doctor finds a tenant database that takes no connections', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { user, admin } = bundle
  const { database } = user.account
  const name = 'host local: connections of tenants'
  assert.equal((await examine(bundle))[name]?.status, 'ok')
  for (const closed of ['allow_connections false', 'connection limit 0']) {
    await admin(`alter database ${database} with ${closed}`)
    const { status, advice } = (await examine(bundle))[name]!
    assert.equal(status, 'fail', closed)
    assert.match(advice, new RegExp(`^These take none, so their users get 503: ${database}\\. `))
    await admin(`alter database ${database} with allow_connections true connection limit -1`)
  }
  assert.equal((await examine(bundle))[name]?.status, 'ok')
})

test('the doctor finds databases and roles without an account, and missing ones', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { user, admin } = bundle
  const { namespace } = bundle.service.services.installation
  await admin(`create role ${namespace}_u999_k1`)
  t.after(() => admin(`drop role ${namespace}_u999_k1`))
  const before = await examine(bundle)
  assert.equal(before['host local: roles']?.status, 'warn')
  assert.match(before['host local: roles']!.advice, /_u999_k1/)
  await admin(`alter role ${user.account.publicRole} rename to renamed_for_a_while`)
  t.after(() => admin('drop role if exists renamed_for_a_while'))
  const after = await examine(bundle)
  assert.equal(after['host local: roles']?.status, 'fail')
  assert.match(after['host local: roles']!.advice, new RegExp(`^Missing: ${user.account.publicRole}`))
  await admin(`alter role renamed_for_a_while rename to ${user.account.publicRole}`)
})

test('the doctor finds a secret that is not the one in use', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const checks = await examine(bundle, { secrets: deriveSecrets('quite another secret than before') })
  assert.equal(checks.secret?.status, 'fail')
})

test('the doctor finds more configured connections than the host allows', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const checks = await examine(bundle, {}, { connectionsPerHost: 5_000 })
  const { status, advice } = checks['host local: connections']!
  assert.equal(status, 'warn')
  assert.match(advice, /each lowered its limits to what was free when it started: raise max_connections/)
})

test('the doctor finds a database that every tenant could enter, and a password without a SCRAM verifier', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { user, admin } = bundle
  const open = `${bundle.service.services.installation.namespace}_open`
  await admin(`create database ${open}`)
  t.after(() => admin(`drop database ${open}`))
  await admin(`alter role ${user.account.publicRole} password 'md5${'0'.repeat(32)}'`)
  const checks = await examine(bundle)
  assert.deepEqual(
    [checks['host local: connect']?.status, checks['host local: passwords']?.status],
    ['warn', 'warn'],
  )
  assert.match(checks['host local: connect']!.advice, new RegExp(`may connect to .*${open}.*revoke connect`))
  await admin(`revoke connect on database ${open} from public`)
  assert.equal((await fetch(`${user.base}/api/v2/sql?q=select+1`)).status, 200)
  const after = await examine(bundle)
  assert.deepEqual(
    [after['host local: connect']?.status, after['host local: passwords']?.status],
    ['ok', 'ok'],
  )
})

test('the doctor finds a line of pg_hba.conf that does not require SCRAM', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const cluster = await startFarHost(t, bundle)
  const hba = join(cluster.directory, 'data/pg_hba.conf')
  const before = await readFile(hba, 'utf8')
  for (const [line, advice] of [
    ['local all all scram-sha-256', /proves it by SCRAM/],
    ['host all all 10.0.0.0/8 md5', /MD5/],
    ['host all all 10.0.0.0/8 password', /in clear/],
    ['local postgres somebody trust', /without a password/],
    ['host all all nonsense', /cannot be read/],
  ] as const) {
    await writeFile(hba, `${before}\n${line}\n`)
    assert.match((await examine(bundle))['host far: logins']!.advice, advice, line)
  }
})

test('the doctor finds a host where tenants could leave prepared transactions', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  await startFarHost(t, bundle, { max_prepared_transactions: '2' })
  const checks = await examine(bundle)
  assert.equal(checks['host local: prepared transactions']?.status, 'ok')
  assert.equal(checks['host far: prepared transactions']?.status, 'warn')
})

async function startFarHost(t: TestContext, { service }: Setup, settings: Record<string, string> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-doctor-'))
  await chmod(dataDir, 0o711)
  const cluster = await startEmbeddedCluster({
    dataDir,
    log: createLog('warn'),
    isEphemeral: true,
    settings: { fsync: 'off', ...settings },
  })
  const { hosts } = service.services.databases
  hosts.register(hostFromUrl(99, 'far', cluster.url))
  t.after(async () => {
    hosts.forget(99)
    await cluster.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  return cluster
}

async function examine(
  { service }: Setup,
  others: Partial<Installation> = {},
  changes: Partial<Config> = {},
): Promise<Record<string, CheckDocument>> {
  const { installation, config } = service.services
  const checks = await doctor({ ...installation, ...others }, { ...config, dataDir: tmpdir(), ...changes })
  return Object.fromEntries(checks.map((check) => [check.name, check]))
}
