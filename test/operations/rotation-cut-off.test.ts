import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { createAdminClient } from '../../src/client/client.ts'
import { createLog } from '../../src/log/log.ts'
import { startEmbeddedCluster } from '../../src/postgres/cluster/embedded-cluster.ts'
import { deriveSecrets } from '../../src/secrets.ts'
import { embeddedSuperuser } from '../support/service/data-dir.ts'
import { madeDataDir } from '../support/service/made-installation.ts'
import { startCartage } from '../support/service/processes.ts'
import { program } from '../support/service/program.ts'
import { eventually } from '../support/service/setup.ts'

test('a rotation that is killed before its decision has not happened', async (t) => {
  const { dataDir, token } = await newEmbedded(t)
  const before = await readFile(join(dataDir, 'secret'), 'utf8')
  // It stages the new secret, then waits to write into this table.
  await killRotation(t, dataDir, 'cartage', 'lock table cartage.audit in share mode', async () => {
    await eventually(() => assert.ok(existsSync(join(dataDir, 'secret.next'))))
  })
  assert.equal(await demoStatus(t, dataDir, token), 200)
  assert.equal(await readFile(join(dataDir, 'secret'), 'utf8'), before)
  assert.ok(!existsSync(join(dataDir, 'secret.next')))
})

test('a rotation that is killed after its decision is completed by the next start', async (t) => {
  const { dataDir, token } = await newEmbedded(t)
  const before = await readFile(join(dataDir, 'secret'), 'utf8')
  await killRotation(
    t,
    dataDir,
    'cartage',
    'alter role cartage_u1 connection limit -1',
    async () => undefined,
  )
  assert.equal(await readFile(join(dataDir, 'secret'), 'utf8'), before)
  assert.equal(await demoStatus(t, dataDir, token), 200)
  assert.notEqual(await readFile(join(dataDir, 'secret'), 'utf8'), before)
  assert.ok(!existsSync(join(dataDir, 'secret.next')))
})

/** An embedded installation that was started once, and the master token of its first user. */
async function newEmbedded(t: TestContext) {
  const dataDir = await madeDataDir(t)
  const first = await startCartage(t, ['serve'], { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' })
  const admin = createAdminClient({ baseUrl: first.url, token: await adminToken(dataDir) })
  const { api_key: token } = await admin.users.create({ username: 'demo' })
  admin.close()
  assert.equal(await first.stop(), 0)
  return { dataDir, token }
}

const adminToken = async (dataDir: string) => (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim()

/** Kills `cartage secret rotate` while it waits for a lock held by the test. */
async function killRotation(
  t: TestContext,
  dataDir: string,
  database: string,
  obstacle: string,
  isThere: () => Promise<void>,
): Promise<void> {
  const cluster = await startEmbeddedCluster({ dataDir, log: createLog('error') })
  try {
    const holder = await embeddedSuperuser(t, dataDir, database)
    const watcher = await embeddedSuperuser(t, dataDir, database)
    await holder.query('begin')
    await holder.query(obstacle)
    const child = spawn(process.execPath, [...program, 'secret', 'rotate'], {
      env: { PATH: process.env.PATH, CARTAGE_DATA_DIR: dataDir },
      stdio: 'inherit',
    })
    const gone = once(child, 'exit')
    await eventually(() => isWaiting(watcher), 60_000)
    await isThere()
    child.kill('SIGKILL')
    await gone
    await holder.query('rollback')
    await Promise.all([holder.end(), watcher.end()])
  } finally {
    await cluster.stop()
  }
}

async function isWaiting(watcher: pg.Client): Promise<void> {
  const { rowCount } = await watcher.query(
    `select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'into cartage.audit|alter role'`,
  )
  assert.equal(rowCount, 1)
}

/** Checks a request with the token at the next start, and that the role has the password of the secret in use. */
async function demoStatus(t: TestContext, dataDir: string, token: string): Promise<number> {
  const next = await startCartage(t, ['serve', '--no-worker'], { CARTAGE_DATA_DIR: dataDir })
  const { status } = await fetch(`${next.url}/user/demo/api/v2/sql?q=select+1&api_key=${token}`)
  const superuser = await embeddedSuperuser(t, dataDir, 'cartage')
  const { rows } = await superuser.query('select verifier from cartage.server_secret')
  const secret = (await readFile(join(dataDir, 'secret'), 'utf8')).trim()
  assert.deepEqual(rows, [{ verifier: deriveSecrets(secret).verifier }])
  const { rows: hosts } = await superuser.query('select has_old_passwords as behind from cartage.hosts')
  assert.deepEqual(hosts, [{ behind: false }])
  await superuser.end()
  assert.equal(await next.stop(), 0)
  return status
}
