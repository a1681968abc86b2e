import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '../../../src/log/log.ts'
import { openHome } from '../../../src/postgres/cluster/home.ts'
import { serverProcesses } from '../../../src/postgres/cluster/processes.ts'
import { newDataDir } from '../../support/service/data-dir.ts'
import { madeDataDir } from '../../support/service/made-installation.ts'
import { startCartage } from '../../support/service/processes.ts'
import { program } from '../../support/service/program.ts'

const log = createLog('silent')
const moments = 13

test('SIGTERM at any moment of a start ends it quietly, PostgreSQL included', async (t) => {
  const dataDir = await madeDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  const began = performance.now()
  const first = await startCartage(t, ['serve'], env)
  const startMs = performance.now() - began
  await first.stop()
  const { dataPath } = await openHome(dataDir, log)
  for (let moment = 0; moment < moments; moment++) {
    const { end, err, tookMs } = await startAndTell(env, (startMs * moment) / (moments - 1))
    const where = `moment ${moment}: ${err}`
    assert.ok(end === 0 || end === 'SIGTERM', `${end} at ${where}`)
    assert.equal(err, '', where)
    assert.ok(tookMs < 5_000, `${tookMs} ms at ${where}`)
    assert.deepEqual(serverProcesses(dataPath), [], where)
  }
})

test('SIGTERM during the very first start ends it quietly, and the next start works', async (t) => {
  const dataDir = await newDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, CARTAGE_DEMO_USER: 'off' }
  for (const afterMs of [600, 1_500]) {
    const { end, err } = await startAndTell(env, afterMs)
    assert.ok(end === 0 || end === 'SIGTERM', `${end} after ${afterMs} ms: ${err}`)
    assert.equal(err, '')
  }
  assert.equal(await (await startCartage(t, ['serve'], env)).stop(), 0)
})

test('SIGTERM ends a start that waits for a silent database at once', async (t) => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  const env = {
    CARTAGE_DATABASE_URL: `postgres://postgres:x@127.0.0.1:${port}/postgres?sslmode=disable`,
    CARTAGE_SECRET: 'a secret of thirty-two characters and more',
  }
  for (const command of ['serve', 'worker']) {
    const reached = once(silent, 'connection')
    const { end, err, tookMs } = await startAndTell(env, reached, command)
    assert.deepEqual([end, err], [0, ''], command)
    assert.ok(tookMs < 2_500, `${tookMs} ms`)
  }
})

/** Starts a process and stops it at that moment; returns how it ended, its error output and the time it took. */
async function startAndTell(
  env: Readonly<Record<string, string>>,
  moment: number | Promise<unknown>,
  command = 'serve',
) {
  const child = spawn(process.execPath, [...program, command], {
    env: { PATH: process.env.PATH, CARTAGE_PORT: '0', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = Promise.all([once(child, 'close'), text(child.stderr)])
  await (typeof moment === 'number' ? sleep(moment) : moment)
  const told = performance.now()
  child.kill('SIGTERM')
  const [[code, signal], err] = await ended
  return { end: (code ?? signal) as number | string, err, tookMs: performance.now() - told }
}
