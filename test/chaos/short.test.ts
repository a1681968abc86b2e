import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { kindsNamed } from '../../chaos/attacks/attack.ts'
import { runChaos } from '../../chaos/chaos.ts'
import { describe } from '../../chaos/report.ts'

test('whatever is killed, stopped, cut, held or promoted: no job is lost, nothing happens twice, and what a job says is true', {
  timeout: 480_000,
}, async (t) => {
  const seed = randomInt(2 ** 31)
  t.diagnostic(
    `again with: npm run chaos -- --seed ${seed} --seconds 15 --users 2 --servers 2 --workers 2 --clients 8 --pause 150 --stall 5000`,
  )
  const report = await runChaos({
    seed,
    kills: Number.POSITIVE_INFINITY,
    seconds: 15,
    users: 2,
    servers: 2,
    workers: 2,
    jobsPerUser: 2,
    clients: 8,
    pauseMs: 150,
    longestStallMs: 5_000,
    only: kindsNamed([]),
  })
  for (const line of describe(report).split('\n')) t.diagnostic(line)
  assert.deepEqual(report.findings.violations, [])
  assert.ok(report.findings.jobs > 8)
})
