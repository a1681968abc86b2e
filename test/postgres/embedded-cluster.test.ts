import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { createLog } from '../../src/log/log.ts'
import { type EmbeddedCluster, startEmbeddedCluster } from '../../src/postgres/cluster/embedded-cluster.ts'
import { findBinaries } from '../../src/postgres/cluster/find-binaries.ts'
import { isAlive, serverProcesses } from '../../src/postgres/cluster/processes.ts'
import { runningClusterUrl } from '../../src/postgres/cluster/running-url.ts'
import { scriptArgs } from '../support/service/script.ts'
import { eventually } from '../support/service/setup.ts'

const log = createLog('silent')
const isRoot = process.getuid?.() === 0
const skip = (await findBinaries()).length === 0 && 'there is no PostgreSQL with PostGIS on this machine'

test('a cluster keeps its data, address and password over a restart', { skip }, async (t) => {
  const { start } = await setup(t)
  const first = await start()
  await ask(first.url, 'create table kept (n integer); insert into kept values (7)')
  await first.stop()
  assert.equal(isAlive(first.pid), false)

  const second = await start()
  assert.equal(second.url, first.url)
  assert.deepEqual(await ask(second.url, 'select n from kept'), [{ n: 7 }])
  assert.equal((await stat(join(second.directory, 'password'))).mode & 0o777, 0o600)
})

test('a cluster has PostGIS, UTF-8 and durable commits', { skip }, async (t) => {
  const { dataDir } = await setupEmpty(t)
  const cluster = await startEmbeddedCluster({ dataDir, log })
  t.after(() => cluster.stop())
  await ask(cluster.url, 'create extension postgis')
  const [settings] = await ask(
    cluster.url,
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
            current_setting('server_encoding') as encoding, current_setting('max_connections') as connections`,
  )
  assert.deepEqual(settings, { fsync: 'on', commit: 'on', encoding: 'UTF8', connections: '200' })
})

test('a cluster can only be entered with its password', { skip }, async (t) => {
  const { start } = await setup(t)
  const { url } = await start()
  await assert.rejects(ask(withLogin(url, 'postgres', 'wrong'), 'select 1'), { code: '28P01' })
})

test('a cluster listens on no port, only on a socket that its own user can reach', { skip }, async (t) => {
  const { start } = await setup(t)
  const cluster = await start()
  const [address] = await ask(
    cluster.url,
    `select current_setting('listen_addresses') as open, inet_server_port() as port`,
  )
  assert.deepEqual(address, { open: '', port: null })
  assert.equal((await stat(cluster.directory)).mode & 0o077, 0)
  const socket = await stat(join(cluster.directory, '.s.PGSQL.5432'))
  assert.deepEqual([socket.isSocket(), socket.mode & 0o077], [true, 0])
})

test('a data directory whose path is too long for a socket has it in a private folder', {
  skip,
}, async (t) => {
  const root = await makeFolder()
  t.after(() => rm(root, { recursive: true, force: true }))
  const dataDir = join(root, 'long'.repeat(30))
  const first = await startEmbeddedCluster({ dataDir, log, settings: { fsync: 'off' } })
  await first.stop()
  const cluster = await startEmbeddedCluster({ dataDir, log, isEphemeral: true, settings: { fsync: 'off' } })
  t.after(() => cluster.stop())
  assert.equal(cluster.url, first.url)
  assert.deepEqual(await ask(cluster.url, 'select 1 as n'), [{ n: 1 }])
  const folder = decodeURIComponent(new URL(cluster.url).hostname)
  assert.equal((await stat(folder)).mode & 0o077, 0)
  assert.equal(await runningClusterUrl(dataDir, log), cluster.url)
  await cluster.stop()
  await assert.rejects(stat(folder), { code: 'ENOENT' })
})

test('a tenant that sets a password still cannot enter another database of the cluster', {
  skip,
}, async (t) => {
  const { start } = await setup(t)
  const { url } = await start()
  await ask(url, "create role tenant login password 'tenant'")
  for (const database of ['postgres', 'template1']) {
    const way = new URL(withLogin(url, 'tenant', 'tenant'))
    way.pathname = `/${database}`
    await assert.rejects(ask(way.href, 'select 1'), { code: '42501' }, database)
  }
})

test('a tenant cannot write into the log of the server', { skip }, async (t) => {
  const { start } = await setup(t)
  const cluster = await start()
  await ask(
    cluster.url,
    "create role tenant login password 'tenant'; grant connect on database postgres to tenant",
  )
  const tenantUrl = withLogin(cluster.url, 'tenant', 'tenant')
  await ask(tenantUrl, "do $$ begin raise log 'tenant was here'; end $$")
  await assert.rejects(ask(tenantUrl, "select 'tenant was here'::integer"))
  assert.doesNotMatch(await readFile(join(cluster.directory, 'server.log'), 'utf8'), /tenant was here/)
})

test('a server whose service was killed is taken over by the next start', { skip }, async (t) => {
  const { dataDir, start } = await setup(t)
  const service = await holdCluster(t, dataDir)
  await ask(service.url, 'create table kept as select 7 as n')
  service.child.kill('SIGKILL')
  await once(service.child, 'exit')
  assert.equal(isAlive(service.pid), true)

  const cluster = await start()
  assert.equal(cluster.pid, service.pid)
  assert.deepEqual(await ask(cluster.url, 'select n from kept'), [{ n: 7 }])
  await cluster.stop()
  assert.equal(isAlive(service.pid), false)
})

test('a second service on one data directory is refused, with the process that has it', {
  skip,
}, async (t) => {
  const { dataDir, start } = await setup(t)
  const service = await holdCluster(t, dataDir)
  await assert.rejects(start(), {
    name: 'ClusterError',
    message: new RegExp(`another Cartage process \\(${service.child.pid}\\) uses this data directory`),
  })
  assert.deepEqual(await ask(service.url, 'select 1 as n'), [{ n: 1 }])
})

test('the content of a lock file blocks nobody: only a living process does', { skip }, async (t) => {
  const { start } = await setup(t)
  const first = await start()
  const lockPath = join(first.directory, 'service.lock')
  await first.stop()
  for (const text of ['', '{"pid":', JSON.stringify({ pid: process.pid, host: hostname() })]) {
    await writeFile(lockPath, text)
    const cluster = await start()
    await cluster.stop()
  }
  const files = ['data', 'password', 'server.lock', 'server.log', 'service.lock']
  assert.deepEqual((await readdir(first.directory)).sort(), files)
})

test('a pid file that names another program does not keep the server from starting', { skip }, async (t) => {
  const { start } = await setup(t)
  const first = await start()
  const pidPath = join(first.directory, 'data/postmaster.pid')
  const pidFile = await readFile(pidPath, 'utf8')
  await first.stop()
  const { uid, gid } = await stat(first.directory)
  const stranger = spawn('sleep', ['60'], isRoot ? { uid, gid } : {})
  t.after(() => stranger.kill())

  await writeFile(pidPath, pidFile.replace(/^\d+/, String(stranger.pid)))
  const second = await start()
  assert.deepEqual(await ask(second.url, 'select 1 as n'), [{ n: 1 }])
  assert.equal(isAlive(stranger.pid as number), true)
})

test('a killed server restarts at the same address, and its old backends are ended', {
  skip,
  timeout: 60_000,
}, async (t) => {
  const { start } = await setup(t)
  const cluster = await start()
  const killed = cluster.pid
  const endless = ask(cluster.url, 'do $$ begin loop null; end loop; end $$').catch((error) => error)
  await eventually(async () => {
    const busy = await ask(
      cluster.url,
      "select pid from pg_stat_activity where query like '%loop null%' and pid <> pg_backend_pid()",
    )
    assert.equal(busy.length, 1)
  })
  process.kill(killed, 'SIGKILL')
  await endless
  await eventually(async () => assert.notEqual(cluster.pid, killed))
  assert.deepEqual(await ask(cluster.url, 'select 1 as n'), [{ n: 1 }])
  await cluster.stop()
  assert.deepEqual(serverProcesses(join(cluster.directory, 'data')), [])
})

test('a cluster whose port was taken meanwhile moves to another', { skip }, async (t) => {
  const { dataDir } = await setup(t)
  const start = () => startEmbeddedCluster({ dataDir, log, isOnTcp: true, settings: { fsync: 'off' } })
  const first = await start()
  await first.stop()
  const squatter = createServer().listen(first.port, '127.0.0.1')
  t.after(() => squatter.close())
  await once(squatter, 'listening')

  const second = await start()
  t.after(() => second.stop())
  assert.notEqual(second.port, first.port)
  assert.deepEqual(await ask(second.url, 'select 1 as n'), [{ n: 1 }])
})

test('an initialisation that was killed starts again from the beginning', { skip }, async (t) => {
  const { dataDir, start } = await setupEmpty(t)
  await mkdir(join(dataDir, 'postgres/data.new'), { recursive: true })
  await writeFile(join(dataDir, 'postgres/data.new/PG_VERSION'), 'half-made')
  await writeFile(join(dataDir, 'postgres/password'), 'of the one that was not finished')
  const cluster = await start()
  assert.deepEqual(await ask(cluster.url, 'select 1 as n'), [{ n: 1 }])
})

test('a start that is given up leaves no server behind', { skip }, async (t) => {
  const { dataDir, start } = await setup(t)
  const first = await start()
  await first.stop()
  const giveUp = new AbortController()
  const given = startEmbeddedCluster({ dataDir, log, signal: giveUp.signal })
  setTimeout(() => giveUp.abort(), 40)
  await given.then(
    (cluster) => cluster.stop(),
    (error) => assert.equal(error.name, 'AbortError'),
  )
  assert.deepEqual(serverProcesses(join(first.directory, 'data')), [])
  await (await start()).stop()
})

test('an ephemeral cluster leaves nothing behind', { skip }, async (t) => {
  const { dataDir } = await setupEmpty(t)
  const cluster = await startEmbeddedCluster({
    dataDir,
    log,
    isEphemeral: true,
    settings: { fsync: 'off' },
  })
  await cluster.stop()
  assert.equal(isAlive(cluster.pid), false)
  assert.deepEqual(await readdir(dataDir), [])
})

test('a data directory that the user postgres cannot reach points to one under /var/lib', {
  skip: skip || !isRoot,
}, async (t) => {
  const { dataDir, start } = await setupEmpty(t)
  await chmod(join(dataDir, '..'), 0o700)
  const first = await start()
  t.after(() => rm(first.directory, { recursive: true, force: true }))
  assert.match(first.directory, /^\/var\/lib\/cartage\//)
  assert.equal((await lstat(join(dataDir, 'postgres'))).isSymbolicLink(), true)
  await ask(first.url, 'create table kept as select 7 as n')
  await first.stop()

  const second = await start()
  assert.equal(second.directory, first.directory)
  assert.deepEqual(await ask(second.url, 'select n from kept'), [{ n: 7 }])
})

/** A data directory with a stopped new cluster, in a path with blanks. */
async function setup(t: TestContext) {
  const { dataDir, start } = await setupEmpty(t)
  made ??= makeCluster()
  await promisify(execFile)('cp', ['-a', await made, dataDir])
  return { dataDir, start }
}

async function setupEmpty(t: TestContext) {
  const root = await makeFolder()
  const dataDir = join(root, 'data')
  const started: EmbeddedCluster[] = []
  t.after(async () => {
    for (const cluster of started) await cluster.stop()
    await rm(root, { recursive: true, force: true })
  })
  const start = async () => {
    const cluster = await startEmbeddedCluster({ dataDir, log, settings: { fsync: 'off' } })
    started.push(cluster)
    return cluster
  }
  return { dataDir, start }
}

let made: Promise<string> | undefined

after(async () => {
  if (made) await rm(dirname(await made), { recursive: true, force: true })
})

// Creating a cluster takes longer than all its tests: it is created once and copied.
async function makeCluster(): Promise<string> {
  const dataDir = join(await makeFolder(), 'data')
  const cluster = await startEmbeddedCluster({ dataDir, log, settings: { fsync: 'off' } })
  await cluster.stop()
  return dataDir
}

function withLogin(url: string, user: string, password: string): string {
  return Object.assign(new URL(url), { username: user, password }).href
}

async function makeFolder(): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'cartage cluster ')))
  await chmod(root, 0o755)
  return root
}

async function holdCluster(
  t: TestContext,
  dataDir: string,
): Promise<{ child: ChildProcess; url: string; pid: number }> {
  const child = spawn(process.execPath, [...scriptArgs('test/support/postgres/hold-cluster.ts'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  const { url, pid } = JSON.parse(String(line)) as { url: string; pid: number }
  t.after(() => {
    child.kill('SIGKILL')
    if (isAlive(pid)) process.kill(pid, 'SIGQUIT')
  })
  return { child, url, pid }
}

async function ask(url: string, statement: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query(statement)).rows
  } finally {
    await client.end().catch(() => undefined)
  }
}
