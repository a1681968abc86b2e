import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  chmod,
  lchown,
  mkdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { tarEntry } from '../../../src/cli/backup/tar-entry.ts'
import { createLog } from '../../../src/log/log.ts'
import { startEmbeddedCluster } from '../../../src/postgres/cluster/embedded-cluster.ts'
import { type ClusterHome, openHome } from '../../../src/postgres/cluster/home.ts'
import { plainTar } from '../../../src/postgres/cluster/plain-tar.ts'
import { serverProcesses } from '../../../src/postgres/cluster/processes.ts'
import { shareCluster } from '../../../src/postgres/cluster/shared-cluster.ts'
import { cartage } from '../../support/http/call.ts'
import { newDataDir } from '../../support/service/data-dir.ts'
import { newInstallation } from '../../support/service/installation.ts'
import { madeDataDir } from '../../support/service/made-installation.ts'
import { startCartage, startProcess } from '../../support/service/processes.ts'
import { program } from '../../support/service/program.ts'

const skip = process.getuid?.() !== 0 && 'only root can give root up'
const log = createLog('silent')
const run = promisify(execFile)

test('started as root, the service and its PostgreSQL run as another user, and only root reads the secret', {
  skip,
}, async (t) => {
  const dataDir = await newDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  const service = await startCartage(t, ['serve', '--no-worker'], env)
  const { directory, identity } = await openHome(dataDir, log)
  const servers = serverProcesses(join(directory, 'data'))
  assert.ok(servers.length > 1)
  for (const pid of [service.pid, ...servers]) assert.deepEqual(await idsOf(pid), identity)
  assert.notEqual(identity?.uid, 0)
  for (const name of ['secret', 'admin-token']) {
    const { uid, mode } = await stat(join(dataDir, name))
    assert.deepEqual([uid, mode & 0o777], [0, 0o600], name)
  }
  const created = await cartage(env, 'user', 'create', 'alice')
  assert.equal(created.code, 0, created.err)
  assert.equal((await stat(join(dataDir, 'imports'))).uid, identity?.uid)
  const { api_key: token } = JSON.parse((await cartage(env, 'user', 'show', 'alice', '--key', '--json')).out)
  const upload = await fetch(`${service.url}/user/alice/api/v1/imports?filename=n.csv&api_key=${token}`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: 'n\n1\n',
  })
  assert.equal(upload.status, 200, await upload.text())
  assert.equal(await service.stop(), 0)
})

test('started as root, the service stores files of imports as the user it runs as', {
  skip,
}, async (t) => {
  const dataDir = await newDataDir(t)
  // As a killed start left it.
  await mkdir(join(dataDir, 'imports'), { mode: 0o700 })
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  const service = await startCartage(t, ['serve'], env)
  const { out } = await cartage(env, 'user', 'create', 'alice', '--json')
  const { api_key: token } = JSON.parse(out) as { api_key: string }
  const imports = `${service.url}/user/alice/api/v1/imports`
  const body = 'name\nHere\n'
  const sent = await fetch(`${imports}?filename=places.csv&api_key=${token}`, { method: 'POST', body })
  const { item_queue_id: id } = (await sent.json()) as { item_queue_id: string }
  assert.equal(sent.status, 200)
  const ended = await fetch(`${imports}/${id}?wait=30&api_key=${token}`)
  assert.equal(((await ended.json()) as { state: string }).state, 'complete')
  const { uid, mode } = await stat(join(dataDir, 'imports'))
  assert.deepEqual([uid, mode & 0o777], [(await idsOf(service.pid)).uid, 0o700])
  assert.equal(await service.stop(), 0)
})

test('started as root with an own PostgreSQL server, the service also gives up root', { skip }, async (t) => {
  const service = await startProcess(t, await newInstallation(t), ['serve', '--no-worker'])
  const { uid, gid } = await idsOf(service.pid)
  assert.ok(uid > 0 && gid > 0)
  assert.equal(await service.stop(), 0)
})

test('a package in a folder only root can read is served completely by a service that is not root', {
  skip: skip || (!program[0]!.endsWith('bin/cartage.mjs') && 'dist/ is not of these sources: npm run build'),
}, async (t) => {
  const [closed, dataDir] = [await newDataDir(t), await madeDataDir(t)]
  const root = dirname(dirname(program[0]!))
  for (const name of ['bin', 'dist', 'migrations', 'package.json'])
    await run('cp', ['-a', join(root, name), closed])
  // The libraries that dist/ loads when it runs, with their dependencies.
  const libraries = await librariesOf(root, ['@fastify/swagger-ui', 'libpg-query'])
  const paths = [...libraries].map((name) => join('node_modules', name))
  await run('cp', ['-a', '--parents', ...paths, closed], { cwd: root })
  await chmod(closed, 0o700)
  await run('chmod', ['-R', 'go-rwx', join(closed, 'dist'), join(closed, 'migrations')])
  const service = await startCartage(
    t,
    ['serve', '--no-worker'],
    { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' },
    [join(closed, 'bin/cartage.mjs')],
  )
  assert.notEqual((await idsOf(service.pid)).uid, 0)
  const page = await (await fetch(`${service.url}/console/`)).text()
  const [asset] = /\/console\/assets\/[^"]+/.exec(page) ?? []
  const reference = ['/docs', '/docs/static/swagger-ui-bundle.js', '/docs/static/swagger-initializer.js']
  for (const path of [asset!, ...reference, '/openapi.json', '/cli/cartage', '/metrics', '/health/ready']) {
    const answer = await fetch(service.url + path)
    assert.equal(answer.status, 200, path)
    assert.ok((await answer.arrayBuffer()).byteLength > 0, path)
  }
  assert.equal(await service.stop(), 0)
})

test("root follows no link inside the cluster's folder, which another user owns", { skip }, async (t) => {
  const { dataDir, home, victim } = await madeCluster(t)
  const inData = ['cartage.conf', 'PG_VERSION', 'postmaster.pid'].map((name) => join('data', name))
  const beside = ['server.log', 'password', 'port', 'service.lock', 'members.lock', 'server.lock']
  for (const name of [...beside, 'data-directory', 'socket-directory', ...inData]) {
    const path = join(home.directory, name)
    await rename(path, `${path}.aside`).catch(() => undefined)
    await plantLink(home, victim.path, path)
    await startAndStop(dataDir)
    await victim.assertUntouched(name)
    await rm(path, { force: true })
    await rename(`${path}.aside`, path).catch(() => undefined)
  }
  await startAndStop(dataDir, 'it works without the links')
})

test('root follows no link in place of a folder of the cluster', { skip }, async (t) => {
  const { dataDir, home, victim } = await madeCluster(t)
  const aside = `${home.dataPath}.aside`
  await rename(home.dataPath, aside)
  const folder = dirname(victim.path)
  for (const name of ['cartage.conf', 'postmaster.pid', 'PG_VERSION'])
    await writeFile(join(folder, name), 'of root')
  await plantLink(home, folder, home.dataPath)
  await assert.rejects(startEmbeddedCluster({ dataDir, log }), /data is a link or not a plain file/)
  for (const name of ['cartage.conf', 'postmaster.pid', 'PG_VERSION'])
    assert.equal(await readFile(join(folder, name), 'utf8'), 'of root')
  // As after a killed initialisation.
  await rm(home.dataPath)
  await plantLink(home, folder, `${home.dataPath}.new`)
  await startAndStop(dataDir, 'it is made anew')
  assert.equal(await readFile(join(folder, 'cartage.conf'), 'utf8'), 'of root')
})

test('a backup with anything but plain files and folders is not restored', async (t) => {
  const folder = await newDataDir(t)
  const noted = {
    format: 1,
    version: '0.1.0',
    postgres: 15,
    namespace: 'cartage',
    created_at: new Date().toISOString(),
    has_secret: false,
  }
  const note = tarEntry('cartage.json', Buffer.from(JSON.stringify(noted)))
  const victim = join(folder, 'victim')
  await writeFile(victim, 'of root')
  const file = join(folder, 'crafted.tar')
  await writeFile(file, Buffer.concat([note, changed('cartage.conf', '2', victim)]))
  const target = await newDataDir(t)
  const { code, err } = await cartage({ CARTAGE_DATA_DIR: target }, 'restore', file)
  assert.equal(code, 1)
  assert.match(err, /^cartage: the backup is damaged.+its entry "cartage\.conf" is a symbolic link; .+\n$/)
  assert.equal(await readFile(victim, 'utf8'), 'of root')
})

test('links, devices, outside paths and broken headers are refused anywhere in a tar', async () => {
  const hidden = changed('hidden', '2', '/etc/passwd')
  const broken = tarEntry('broken', hidden)
  broken[150] = 0x39
  const plain = [tarEntry('a', Buffer.from('text')), changed('folder/', '5'), tarEntry('b', hidden)]
  const end = Buffer.alloc(1024)
  const refused = [
    ...['1', '2', '3', '4', '6', '7', 'x', 'g', 'L', 'K', 'S'].map((type) => changed('a', type, 'b')),
    ...['/etc/passwd', '../up', 'a/../../up', '../..'].map((name) => tarEntry(name, Buffer.from('x'))),
    broken,
  ]
  for (const pieceBytes of [100, 512, 100_000]) {
    const whole = Buffer.concat([...plain, end, hidden])
    assert.deepEqual(await passed(whole, pieceBytes), whole)
    for (const entry of refused)
      await assert.rejects(passed(Buffer.concat([...plain, entry, end]), pieceBytes), /the backup is damaged/)
  }
})

/** The user and group ids of a process, which must all be the same. */
async function idsOf(pid: number): Promise<{ uid: number; gid: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const numbers = (name: string) =>
    new Set(new RegExp(`^${name}:(.*)$`, 'm').exec(status)![1]!.match(/\d+/g)?.map(Number))
  const [uids, gids] = [numbers('Uid'), new Set([...numbers('Gid'), ...numbers('Groups')])]
  assert.deepEqual([uids.size, gids.size], [1, 1], status)
  return { uid: [...uids][0]!, gid: [...gids][0]! }
}

/** Names of libraries and of their dependencies. Nested libraries are copied with the folder they are in. */
async function librariesOf(root: string, names: readonly string[], known = new Set<string>()) {
  for (const name of names.filter((each) => !known.has(each))) {
    if (!existsSync(join(root, 'node_modules', name))) continue
    known.add(name)
    const text = await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8')
    const { dependencies = {} } = JSON.parse(text) as { dependencies?: Record<string, string> }
    await librariesOf(root, Object.keys(dependencies), known)
  }
  return known
}

/** A stopped cluster, and a file of root beside it. */
async function madeCluster(t: TestContext) {
  const dataDir = await madeDataDir(t)
  const home = await openHome(dataDir, log)
  const path = join(await realpath(await newDataDir(t)), 'victim')
  await writeFile(path, 'of root', { mode: 0o600 })
  const assertUntouched = async (name: string) => {
    const { uid, mode } = await stat(path)
    assert.deepEqual([await readFile(path, 'utf8'), uid, mode & 0o777], ['of root', 0, 0o600], name)
  }
  return { dataDir, home, victim: { path, assertUntouched } }
}

async function plantLink(home: ClusterHome, target: string, path: string): Promise<void> {
  await symlink(target, path)
  await lchown(path, home.identity!.uid, home.identity!.gid)
}

/** An obstacle may be refused, unless the start must work. */
async function startAndStop(dataDir: string, must?: string): Promise<void> {
  try {
    const cluster = await shareCluster({ dataDir, log, settings: { fsync: 'off' } })
    await cluster.stop()
  } catch (error) {
    if (must) throw new Error(must, { cause: error })
    assert.equal((error as Error).name, 'ClusterError', String((error as Error).stack))
  }
}

/** An entry of another kind. */
function changed(name: string, type: string, target = ''): Buffer {
  const entry = tarEntry(name, Buffer.alloc(0))
  entry.write(type, 156)
  entry.write(target, 157)
  entry.write(' '.repeat(8), 148)
  const sum = entry.reduce((total, byte) => total + byte, 0)
  entry.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return entry
}

async function passed(tar: Buffer, pieceBytes: number): Promise<Buffer> {
  async function* pieces() {
    for (let at = 0; at < tar.length; at += pieceBytes) yield tar.subarray(at, at + pieceBytes)
  }
  const out: Buffer[] = []
  for await (const piece of plainTar(pieces())) out.push(piece)
  return Buffer.concat(out)
}
