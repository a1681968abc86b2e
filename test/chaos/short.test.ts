import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { runChaos } from '../../chaos/chaos.ts'
import { describe } from '../../chaos/report.ts'

test('whatever is killed, stopped or cut: no job is lost, nothing happens twice, and what a job says is true', {
  timeout: 240_000,
}, async (t) => {
  const seed = randomInt(2 ** 31)
  t.diagnostic(
    `again with: npm run chaos -- --seed ${seed} --seconds 15 --users 3 --servers 1 --workers 2 --clients 8`,
  )
  const report = await runChaos({
    seed,
    kills: Number.POSITIVE_INFINITY,
    seconds: 15,
    users: 3,
    servers: 1,
    workers: 2,
    clients: 8,
    pauseMs: 500,
  })
  for (const line of describe(report).split('\n')) t.diagnostic(line)
  assert.deepEqual(report.findings.violations, [])
  assert.ok(report.findings.jobs > 8)
})
