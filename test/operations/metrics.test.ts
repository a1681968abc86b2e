import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../src/metrics.ts'
import { basic, eventually, setup } from '../setup.ts'

test('requests are counted by the pattern of their route, their status and the type of their key', async (t) => {
  const { url, user } = await setup(t, { isIsolated: true })
  await fetch(`${user.base}/api/v2/sql?q=select+1`, { headers: basic(user.username, user.masterToken) })
  await fetch(`${user.base}/no/such/thing?api_key=${user.masterToken}`)
  await fetch(`${url}/${'x'.repeat(500)}`)
  await eventually(async () => {
    const text = await scrape(url)
    assert.match(
      text,
      /cartage_requests_total\{method="GET",route="\/user\/:name\/api\/v2\/sql",status="200",key_type="master"\} 1\n/,
    )
    assert.match(text, /cartage_requests_total\{method="GET",route="none",status="404",key_type="none"\} 2\n/)
    assert.match(text, /cartage_request_seconds_bucket\{le="60|le="0.005",.*route="none"/)
  })
})

test('no token and no name of an account reaches the metrics', async (t) => {
  const { url, user } = await setup(t, { isIsolated: true })
  await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${user.masterToken}`)
  await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=wrong-token-here`)
  const text = await scrape(url)
  for (const secret of [user.username, user.masterToken, 'wrong-token-here']) {
    assert.ok(!text.includes(secret), secret)
  }
})

test('the metrics show pools, the lag of the event loop and memory', async (t) => {
  const { url } = await setup(t, { isIsolated: true })
  const text = await scrape(url)
  for (const pool of ['control', 'admin', 'sql', 'copy', 'job']) {
    for (const figure of ['open', 'idle', 'waiting', 'destroyed_total']) {
      assert.match(text, new RegExp(`^cartage_pool_${figure}\\{pool="${pool}"\\} \\d+$`, 'm'))
    }
  }
  assert.match(text, /^nodejs_eventloop_lag_p99_seconds /m)
  assert.match(text, /^process_resident_memory_bytes /m)
})

test('a control database that does not answer hides only the figures of the queue', async () => {
  const metrics = createMetrics()
  metrics.watchQueue(() => Promise.reject(new Error('unreachable')))
  metrics.jobFinished({ status: 'failed', waitMs: 20, runMs: 3_000 })
  metrics.jobTakenOver()
  metrics.copyFinished({ direction: 'from', isComplete: true, bytes: 1_000, rows: 10, ms: 100 })
  metrics.copyFinished({ direction: 'to', isComplete: false, bytes: 500, rows: 0, ms: 100 })
  const { text } = await metrics.render()
  assert.match(text, /^cartage_jobs_finished_total\{status="failed"\} 1$/m)
  assert.match(text, /^cartage_job_wait_seconds_bucket\{le="0.05"\} 1$/m)
  assert.match(text, /^cartage_job_run_seconds_bucket\{le="1"\} 0$/m)
  assert.match(text, /^cartage_jobs_taken_over_total 1$/m)
  assert.match(text, /^cartage_copies_total\{direction="to",outcome="failed"\} 1$/m)
  assert.match(text, /^cartage_copy_rows_total\{direction="from"\} 10$/m)
  assert.match(text, /^cartage_copy_bytes_per_second_bucket\{le="10000",direction="from"\} 1$/m)
  assert.doesNotMatch(text, /^cartage_jobs\{/m)
})

async function scrape(url: string): Promise<string> {
  const response = await fetch(`${url}/metrics`)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  return response.text()
}
