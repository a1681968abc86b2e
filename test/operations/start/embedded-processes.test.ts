import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAdminClient, createClient } from '../../../src/client/client.ts'
import { createLog } from '../../../src/log/log.ts'
import { openHome } from '../../../src/postgres/cluster/home.ts'
import { takeLock } from '../../../src/postgres/cluster/lock.ts'
import { findPostmaster } from '../../../src/postgres/cluster/postmaster.ts'
import { runningClusterUrl } from '../../../src/postgres/cluster/running-url.ts'
import { shareCluster } from '../../../src/postgres/cluster/shared-cluster.ts'
import { cartage, installation } from '../../support/http/call.ts'
import { newDataDir } from '../../support/service/data-dir.ts'
import { madeDataDir } from '../../support/service/made-installation.ts'
import { startCartage } from '../../support/service/processes.ts'
import { program } from '../../support/service/program.ts'
import { eventually, randomName, setup } from '../../support/service/setup.ts'

test('processes share an embedded cluster; it outlives the process that started it, and stops with the last', async (t) => {
  const dataDir = await newDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  const first = await startCartage(t, ['serve', '--no-worker'], env)
  const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim()
  const admin = createAdminClient({ baseUrl: first.url, token })
  const { api_key } = await admin.users.create({ username: 'alice' })
  admin.close()
  const [second, worker] = await Promise.all([
    startCartage(t, ['serve', '--no-worker'], env),
    startCartage(t, ['worker'], env),
  ])
  const alice = createClient({ baseUrl: second.url, username: 'alice', token: api_key })
  t.after(() => alice.close())
  assert.equal((await alice.jobs.finished((await alice.jobs.create('select 1')).job_id)).status, 'done')
  assert.equal(await first.stop(), 0)
  assert.equal((await alice.sql('select 1')).total_rows, 1)
  assert.equal((await alice.jobs.finished((await alice.jobs.create('select 1')).job_id)).status, 'done')
  const listed = await cartage(env, 'user', 'list')
  assert.deepEqual([listed.out, listed.err], ['alice\n', ''])
  const mistyped = await cartage({ CARTAGE_DATA_DIR: `${dataDir}x` }, 'user', 'list')
  assert.equal(mistyped.code, 1)
  assert.ok(mistyped.err.startsWith(`cartage: there is no installation in ${dataDir}x: `), mistyped.err)
  assert.match(mistyped.err, new RegExp(`; running on this machine: .*${dataDir}(,|\n$)`))
  assert.ok(!existsSync(`${dataDir}x`))
  assert.deepEqual([await worker.stop(), await second.stop()], [0, 0])
  assert.equal(await runningClusterUrl(dataDir, createLog('silent')), undefined)
})

test('a process continues when the one that kept the cluster is killed', async (t) => {
  const dataDir = await madeDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir }
  const first = await startCartage(t, ['serve', '--no-worker'], env)
  const second = await startCartage(t, ['serve', '--no-worker'], env)
  await first.kill()
  await eventually(async () => assert.equal((await fetch(`${second.url}/health/ready`)).status, 200))
  assert.equal(await second.stop(), 0)
  assert.equal(await runningClusterUrl(dataDir, createLog('silent')), undefined)
})

test('five concurrent commands on a stopped installation all succeed and leave it stopped', async (t) => {
  const dataDir = await madeDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  for (let round = 0; round < 2; round++) {
    const calls = Array.from({ length: 5 }, () => cartage(env, 'user', 'list'))
    assert.deepEqual(await Promise.all(calls), Array(5).fill({ code: 0, out: '', err: '' }))
    assert.equal(await runningClusterUrl(dataDir, createLog('silent')), undefined)
  }
})

test('a process that starts while the last one stops finds PostgreSQL or starts it', async (t) => {
  const dataDir = await madeDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  let running = await startCartage(t, ['serve', '--no-worker'], env)
  for (const beforeMs of [0, 200, 400]) {
    const next = startCartage(t, ['serve', '--no-worker'], env)
    await sleep(beforeMs)
    assert.equal(await running.stop(), 0)
    running = await next
    assert.equal((await fetch(`${running.url}/health/ready`)).status, 200)
  }
  assert.equal(await running.stop(), 0)
})

test('a starting process counts as a member: another one that stops meanwhile leaves PostgreSQL running', async (t) => {
  const dataDir = await madeDataDir(t)
  const options = { dataDir, log: createLog('silent'), settings: { fsync: 'off' } }
  const first = await shareCluster(options)
  const home = await openHome(dataDir, options.log)
  const starting = await takeLock(home, home.membersLockPath, 'shared', 0)
  const before = await findPostmaster(home)
  await first.stop()
  assert.deepEqual([await findPostmaster(home), Boolean(before)], [before, true])
  const second = await shareCluster(options)
  await starting!.release()
  await second.stop()
  assert.equal(await findPostmaster(home), undefined)
})

test('a server that refuses the login is named and not stopped', async (t) => {
  const dataDir = await madeDataDir(t)
  const service = await startCartage(t, ['serve', '--no-worker'], { CARTAGE_DATA_DIR: dataDir })
  await service.kill()
  const password = join(dataDir, 'postgres/password')
  const right = await readFile(password, 'utf8')
  await writeFile(password, 'another')
  const { code, err } = await cartage({ CARTAGE_DATA_DIR: dataDir }, 'user', 'list')
  assert.equal(code, 1)
  assert.match(err, /^cartage: a PostgreSQL server \(process \d+\) runs on .+ and refuses our login: .+\n$/)
  await writeFile(password, right)
  assert.ok(await runningClusterUrl(dataDir, createLog('silent')))
  assert.equal((await cartage({ CARTAGE_DATA_DIR: dataDir }, 'user', 'list')).code, 0)
  assert.equal(await runningClusterUrl(dataDir, createLog('silent')), undefined)
})

test('only serve creates an installation in an own PostgreSQL server', async (t) => {
  const house = await setup(t)
  const namespace = randomName('ct').replaceAll('-', '_')
  const env = { ...installation(house), CARTAGE_NAMESPACE: namespace }
  for (const command of [['user', 'list'], ['worker'], ['doctor']]) {
    const { code, err } = await cartage(env, ...command)
    assert.equal(code, 1)
    assert.match(
      err,
      new RegExp(`^cartage: There is no installation '${namespace}' in this PostgreSQL: .+\n$`),
    )
  }
  const { rowCount } = await house.admin('select from pg_database where starts_with(datname, $1)', [
    namespace,
  ])
  assert.equal(rowCount, 0)
})

test('without a terminal on stdout everything is JSON without a key: `cartage user show` prints the key', async (t) => {
  const dataDir = await newDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_LOG_LEVEL: 'warn' }
  const child = spawn(process.execPath, [...program, 'serve'], {
    env: { PATH: process.env.PATH, CARTAGE_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  const told = await eventually(() => {
    const found = lines.find((line) => line.includes('Cartage listens on'))
    assert.ok(found)
    return JSON.parse(found)
  }, 60_000)
  assert.deepEqual(
    [told.user, told.base, told.readKey],
    ['demo', `${told.url}/user/demo`, 'cartage user show demo --key'],
  )
  const shown = await cartage(env, 'user', 'show', 'demo', '--key', '--json')
  const { api_key: key } = JSON.parse(shown.out)
  const answer = await fetch(`${told.base}/api/v2/sql?q=select+current_user&api_key=${key}`)
  assert.equal(answer.status, 200)
  for (const line of lines) assert.equal(typeof JSON.parse(line), 'object')
  assert.ok(!lines.join('\n').includes(key))
  child.kill('SIGTERM')
  await once(child, 'exit')
})
