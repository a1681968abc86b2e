import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runShortChaos } from './short-chaos.ts'

test('a job is done only if a promoted synchronous replica has its commit, however the wait for it ended', {
  timeout: 480_000,
}, async (t) => {
  const attacks = 'lacks the tail,waits for the replica,cut off the replica'
  const size = '--users 4 --jobs-per-user 2 --clients 16 --pause 500 --seconds 40'.split(' ')
  const count = await runShortChaos(t, ['--replication', 'synchronous', '--only', attacks, ...size])
  assert.equal(count('violations'), 0)
  assert.ok(count('fail-overs') > 0)
  assert.ok(count('  transactions in lost tails') > 0)
  assert.ok(count('  jobs cut while they waited for the replica') > 0)
})
