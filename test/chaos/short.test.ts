import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runShortChaos } from './short-chaos.ts'

test("whatever is killed, stopped, cut, held or promoted: no job is lost, nothing is applied twice, and a job's status is true", {
  timeout: 480_000,
}, async (t) => {
  const count = await runShortChaos(t, ['--seconds', '15'])
  assert.equal(count('violations'), 0)
  assert.ok(count('jobs') > 8)
  assert.ok(count('imports') > 3)
  assert.ok(count('due times of schedules') > 0)
  assert.ok(count('jobs told of by webhooks') >= count('jobs'), 'jobs of schedules are told of too')
})
