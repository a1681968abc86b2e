import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { addHost } from '../../src/hosts/add-host.ts'
import { createLog } from '../../src/log/log.ts'
import { startEmbeddedCluster } from '../../src/postgres/cluster/embedded-cluster.ts'
import { endless, jobApi, runJob, statusesOf } from '../support/jobs/job-api.ts'
import { untilRunning } from '../support/postgres/running-statement.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

const options = { worker: true } as const

test('a user can be deleted while its job runs, and the worker continues', async (t) => {
  const bundle = await setup(t, options)
  const { user, createUser, service, admin } = bundle
  const { job_id } = await jobApi(user).submit([endless, 'select 1'])
  await untilRunning(bundle, job_id)
  await deleteUser(service.services.installation, user.username)
  const { rowCount } = await admin('select from pg_stat_activity where datname = $1', [user.account.database])
  assert.equal(rowCount, 0)
  assert.equal((await runJob(jobApi(await createUser()), 'select 1')).status, 'done')
})

test('a job whose database is gone fails, and the error does not name the database', async (t) => {
  const bundle = await setup(t, options)
  const { user, createUser, admin } = bundle
  const api = jobApi(user)
  const { job_id } = await api.submit({ query: [endless, 'select 1'], onerror: 'select 2' })
  await untilRunning(bundle, job_id)
  await admin(`drop database "${user.account.database}" with (force)`)
  const job = await api.ended(job_id)
  assert.equal(job.status, 'failed')
  assert.equal(job.failed_reason, 'The database of the user no longer exists')
  assert.deepEqual(statusesOf(job), ['failed', 'skipped'])
  assert.equal(job.fallback_status, 'failed')
  assert.equal((await runJob(api, 'select 1')).failed_reason, job.failed_reason)
  assert.equal((await runJob(jobApi(await createUser()), 'select 1')).status, 'done')
})

test('a job whose role is gone fails', async (t) => {
  const { user, admin } = await setup(t, options)
  const { masterRole, database } = user.account
  await admin(`drop owned by "${masterRole}" cascade`, [], database)
  await admin(`drop role "${masterRole}"`)
  const job = await runJob(jobApi(user), 'select 1')
  assert.equal(job.status, 'failed')
  assert.equal(job.failed_reason, 'The database role of the user no longer exists')
  await admin(`create role "${masterRole}"`)
})

/** A second cluster that can be cut off: connections go through a port of the test. */
async function removableHost({ service }: Setup) {
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-host-'))
  await chmod(dataDir, 0o711)
  const settings = { fsync: 'off', full_page_writes: 'off' }
  const cluster = await startEmbeddedCluster({
    dataDir,
    log: createLog('warn'),
    isEphemeral: true,
    isOnTcp: true,
    settings,
  })
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(cluster.port, '127.0.0.1')
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  const listen = (port: number) => new Promise<void>((done) => proxy.listen(port, '127.0.0.1', done))
  const takeAway = () => {
    for (const socket of sockets) socket.destroy()
    return new Promise((done) => proxy.close(done))
  }
  // After the users on that host were deleted.
  after(async () => {
    await takeAway()
    await cluster.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  await listen(0)
  const { port } = proxy.address() as AddressInfo
  const url = new URL(cluster.url)
  url.port = String(port)
  const host = await addHost(service.services.installation, 'removable', url.href)
  return { host, takeAway, bringBack: () => listen(port) }
}

test('jobs of a host that is down wait for it and delay no others', async (t) => {
  const bundle = await setup(t, { ...options, config: { jobsPerWorker: 2 } })
  const { user, createUser } = bundle
  const { host, takeAway, bringBack } = await removableHost(bundle)
  const there = await createUser()
  assert.equal(there.account.hostId, host.id)
  const api = jobApi(there)
  assert.equal((await runJob(api, 'create table ledger (item int)')).status, 'done')
  const running = await api.submit([
    'insert into ledger values (0)',
    'insert into ledger values (1); select pg_sleep(1)',
    'insert into ledger values (2)',
  ])
  await eventually(async () =>
    assert.deepEqual(statusesOf(await api.read(running.job_id)).slice(0, 2), ['done', 'running']),
  )
  await takeAway()
  const waiting = await Promise.all(
    [3, 4, 5].map((item) => api.submit(`insert into ledger values (${item})`)),
  )
  for (let jobs = 0; jobs < 5; jobs++) {
    assert.equal((await runJob(jobApi(user), 'select 1')).status, 'done')
  }
  for (const { job_id } of waiting) assert.equal((await api.read(job_id)).status, 'pending')
  assert.equal((await api.read(running.job_id)).status, 'running')
  const cancel = await api.call('DELETE', api.path(running.job_id))
  assert.equal(cancel.status, 503, 'nobody can say whether it was stopped')
  await bringBack()
  assert.deepEqual(statusesOf(await api.ended(running.job_id)), ['done', 'done', 'done'])
  for (const { job_id } of waiting) assert.equal((await api.ended(job_id)).status, 'done')
  const { rows } = await there.sql('select item from ledger order by item')
  assert.deepEqual(
    rows.map(({ item }) => item),
    [0, 1, 2, 3, 4, 5],
  )
})
