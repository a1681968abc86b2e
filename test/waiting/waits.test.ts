import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanInSteps } from '../../src/waiting/clean-in-steps.ts'
import { poll } from '../../src/waiting/poll.ts'
import { backoff, retry } from '../../src/waiting/retry.ts'
import { settlesWithin } from '../../src/waiting/settles-within.ts'

const failing = (times: number) => {
  let calls = 0
  const work = async () => {
    calls += 1
    if (calls <= times) throw new Error(`failure ${calls}`)
    return calls
  }
  return { work, calls: () => calls }
}

test('a failing attempt is retried as often as configured, and the last error is thrown', async () => {
  assert.equal(await retry(failing(2).work, { attempts: 3 }), 3)
  const { work, calls } = failing(9)
  await assert.rejects(retry(work, { attempts: 3 }), /failure 3/)
  assert.equal(calls(), 3)
})

test('a permanent error is thrown at once', async () => {
  const { work, calls } = failing(9)
  await assert.rejects(retry(work, { isTransient: () => false }), /failure 1/)
  assert.equal(calls(), 1)
})

test('a signal ends the retries, also during a pause', async () => {
  const stop = new AbortController()
  const { work, calls } = failing(Number.POSITIVE_INFINITY)
  const tried = retry(work, { pauseMs: () => 60_000, onRetry: () => stop.abort(), signal: stop.signal })
  await assert.rejects(tried, { name: 'AbortError' })
  assert.equal(calls(), 1)
})

test('pauses double up to the longest', () => {
  assert.deepEqual([1, 2, 3, 4, 50].map(backoff(20, 100)), [20, 40, 80, 100, 100])
})

test('a poll asks at least once, and returns undefined at its time limit', async () => {
  const { work, calls } = failing(0)
  const after = (count: number) => async () => ((await work()) < count ? undefined : 'there')
  assert.equal(await poll(after(4), { everyMs: 1, timeoutMs: -1 }), undefined)
  assert.equal(calls(), 1)
  assert.equal(await poll(after(4), { everyMs: 1, timeoutMs: 60_000 }), 'there')
  assert.equal(calls(), 4)
  assert.equal(await poll(async () => null, { everyMs: 1, timeoutMs: 60_000 }), null)
})

test('a promise rejected within the limit counts as settled in time', async () => {
  assert.equal(await settlesWithin(Promise.reject(new Error('no')), 60_000), true)
  assert.equal(await settlesWithin(new Promise(() => undefined), 1), false)
})

test('cleaning continues while something is left, unless it is stopped', async (t) => {
  // Its pauses keep no process alive.
  const alive = setInterval(() => undefined, 1_000)
  t.after(() => clearInterval(alive))
  let left = 2
  await cleanInSteps(
    async () => --left > 0,
    () => false,
  )
  assert.equal(left, 0)
  await cleanInSteps(
    async () => --left < 0,
    () => left < 0,
  )
  assert.equal(left, -1)
})
