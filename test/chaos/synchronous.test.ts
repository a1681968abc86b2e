import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runShortChaos } from './short-chaos.ts'

test('a job is done only if a promoted synchronous replica has its commit, whatever ended the wait for it', {
  timeout: 480_000,
}, async (t) => {
  const attacks = 'lacks the tail,waits for the replica,cut off the replica,kill -9 a worker'
  const count = await runShortChaos(t, ['--replication', 'synchronous', '--seconds', '25', '--only', attacks])
  assert.equal(count('violations'), 0)
  assert.ok(count('fail-overs') > 0)
  assert.ok(count('  end a commit that waits for the replica') > 0)
})
