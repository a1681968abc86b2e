import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '../../../src/log/log.ts'
import { openHome } from '../../../src/postgres/cluster/home.ts'
import { takeLock } from '../../../src/postgres/cluster/lock.ts'
import { isAlive, serverProcesses } from '../../../src/postgres/cluster/processes.ts'
import { newDataDir } from '../../support/service/data-dir.ts'
import { madeDataDir } from '../../support/service/made-installation.ts'
import { startCartage } from '../../support/service/processes.ts'
import { program } from '../../support/service/program.ts'
import { scriptArgs } from '../../support/service/script.ts'

const log = createLog('silent')

// A process in another pid namespace sees no process of this one and, in another IPC namespace, none of its memory, as
// in a second container on the same volume.
const skip = process.getuid?.() !== 0 && 'only root can make a pid namespace'

test('a second PostgreSQL does not start on live files, whatever it can see of the first', {
  skip,
}, async (t) => {
  const dataDir = await madeDataDir(t)
  const keeper = await holdCluster(t, dataDir)
  const { dataPath } = await openHome(dataDir, log)
  // Its keeper is dead, and its pid means nothing in the other container.
  keeper.child.kill('SIGKILL')
  await once(keeper.child, 'exit')
  const before = await readFile(join(dataPath, 'postmaster.pid'), 'utf8')
  const servers = serverProcesses(dataPath).filter((pid) => pid === keeper.pid)
  const { code, err } = await inContainer([...scriptArgs('test/support/postgres/hold-cluster.ts'), dataDir])
  assert.equal(code, 1)
  assert.match(err, /a PostgreSQL server that is not visible here, perhaps in another container, runs on/)
  assert.equal(await readFile(join(dataPath, 'postmaster.pid'), 'utf8'), before)
  assert.deepEqual([servers, isAlive(keeper.pid)], [[keeper.pid], true])
})

test("a server started by hand, without the service's lock, keeps a second one away too", {
  skip,
}, async (t) => {
  const dataDir = await madeDataDir(t)
  const keeper = await holdCluster(t, dataDir)
  keeper.child.kill('SIGKILL')
  await once(keeper.child, 'exit')
  const { serverLockPath } = await openHome(dataDir, log)
  await rm(serverLockPath)
  const { code, err } = await inContainer([...scriptArgs('test/support/postgres/hold-cluster.ts'), dataDir])
  assert.equal(code, 1)
  assert.match(err, /runs on/)
  assert.equal(isAlive(keeper.pid), true)
})

test('a command in another container joins the cluster, and takes it over if it is left alone', {
  skip,
}, async (t) => {
  const dataDir = await madeDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  const service = await startCartage(t, ['serve', '--no-worker'], env)
  const beside = await inContainer([...program, 'user', 'list'], env)
  assert.deepEqual([beside.code, beside.err], [0, ''])
  assert.equal((await fetch(`${service.url}/health/ready`)).status, 200)
  assert.equal(await service.stop(), 0)
  const after = await inContainer([...program, 'user', 'list'], env)
  assert.deepEqual([after.code, after.err], [0, ''])
  assert.deepEqual(serverProcesses((await openHome(dataDir, log)).dataPath), [])
})

test('of many processes that find the lock of a dead one, only one at a time takes it', async (t) => {
  const home = await openHome(await newDataDir(t), log)
  let holders = 0
  let turns = 0
  const compete = async () => {
    const lock = await takeLock(home, home.lockPath, 'exclusive', turns % 2 === 0 ? 0 : 2_000)
    if (!lock) return
    holders++
    turns++
    assert.equal(holders, 1)
    await sleep(1)
    assert.equal(holders, 1)
    holders--
    await lock.release()
  }
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 6 }, compete))
  assert.ok(turns >= 5)
})

async function inContainer(node: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const args = ['--pid', '--ipc', '--fork', '--mount-proc', '--kill-child', process.execPath, ...node]
  const child = spawn('unshare', args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 60_000,
  })
  const [[code], err] = await Promise.all([once(child, 'close'), text(child.stderr)])
  return { code: code as number | null, err }
}

async function holdCluster(t: TestContext, dataDir: string) {
  const child = spawn(process.execPath, [...scriptArgs('test/support/postgres/hold-cluster.ts'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  const { pid } = JSON.parse(String(line)) as { pid: number }
  t.after(async () => {
    child.kill('SIGKILL')
    if (isAlive(pid)) process.kill(pid, 'SIGQUIT')
    while (isAlive(pid)) await sleep(20)
  })
  return { child, pid }
}
