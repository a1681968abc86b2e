import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobApi } from '../support/jobs/job-api.ts'
import { setup } from '../support/service/setup.ts'

test('a request that waits for a job is answered in time even when the clock is set back', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const { job_id } = await api.submit('select 1')
  const began = performance.now()
  const waiting = api.call('GET', `${api.path(job_id)}?wait=1`)
  const wallClock = Date.now.bind(Date)
  const later = setTimeout(() => t.mock.method(Date, 'now', () => wallClock() - 3_600_000), 300)
  t.after(() => clearTimeout(later))
  const answer = await Promise.race([waiting, new Promise((_, reject) => setTimeout(reject, 8_000).unref())])
  assert.equal((answer as { status: number }).status, 200)
  assert.ok(performance.now() - began > 900)
})
