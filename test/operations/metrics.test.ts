import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createClient } from '../../src/client/client.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { basic, eventually, setup } from '../support/service/setup.ts'

test('requests are counted by the pattern of their route, their status and the type of their key', async (t) => {
  const { url, user } = await setup(t, { isFresh: true })
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

test('request times are in cumulative buckets, with sum and count', async () => {
  const metrics = createMetrics()
  const request = { method: 'GET', route: '/user/:name/api/v2/sql', status: 200, keyType: 'master' } as const
  for (const seconds of [0.001, 0.002, 0.004, 5_000]) metrics.requestFinished({ ...request, seconds })
  metrics.requestFinished({ ...request, method: 'POST', status: 'aborted', keyType: 'none', seconds: 1 })
  const { text } = await metrics.render()
  for (const line of [
    'cartage_request_seconds_bucket{le="0.002",method="GET",route="/user/:name/api/v2/sql"} 2',
    'cartage_request_seconds_bucket{le="0.005",method="GET",route="/user/:name/api/v2/sql"} 3',
    'cartage_request_seconds_bucket{le="3600",method="GET",route="/user/:name/api/v2/sql"} 3',
    'cartage_request_seconds_bucket{le="+Inf",method="GET",route="/user/:name/api/v2/sql"} 4',
    'cartage_request_seconds_sum{method="GET",route="/user/:name/api/v2/sql"} 5000.007',
    'cartage_request_seconds_count{method="GET",route="/user/:name/api/v2/sql"} 4',
    'cartage_request_seconds_count{method="POST",route="/user/:name/api/v2/sql"} 1',
    'cartage_requests_total{method="GET",route="/user/:name/api/v2/sql",status="200",key_type="master"} 4',
    'cartage_requests_total{method="POST",route="/user/:name/api/v2/sql",status="aborted",key_type="none"} 1',
    '# TYPE cartage_request_seconds histogram',
    '# TYPE cartage_requests_total counter',
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line)
  }
})

test('no token and no name of an account appears in the metrics', async (t) => {
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

test('the metrics show what tenants can use up of a host', async (t) => {
  const { url } = await setup(t)
  const text = await scrape(url)
  assert.match(text, /^cartage_host_notify_queue_ratio\{host="local"\} \d(\.\d+)?(e-\d+)?$/m)
  assert.match(text, /^cartage_host_xid_age\{host="local"\} [1-9]\d*$/m)
  assert.match(text, /^cartage_host_oldest_snapshot_seconds\{host="local"\} \d+(\.\d+)?(e-\d+)?$/m)
})

test('jobs and copies are counted by outcome', async (t) => {
  const { url, user } = await setup(t, { worker: true, isFresh: true })
  const client = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  await client.sql('create table t (n int)')
  const { job_id } = await client.jobs.create('select 1/0')
  assert.equal((await client.jobs.finished(job_id)).status, 'failed')
  await client.copyFrom('copy t from stdin', '1\n2\n3\n')
  await text(await client.copyTo('copy t to stdout'))
  await assert.rejects(client.copyFrom('copy t from stdin', 'x\n'))
  client.close()
  await eventually(async () => {
    const figures = await scrape(url)
    for (const line of [
      'cartage_jobs{state="pending"} 0',
      'cartage_jobs{state="running"} 0',
      'cartage_jobs_finished_total{status="failed"} 1',
      'cartage_job_run_seconds_count 1',
      'cartage_copies_total{direction="from",outcome="complete"} 1',
      'cartage_copies_total{direction="from",outcome="failed"} 1',
      'cartage_copies_total{direction="to",outcome="complete"} 1',
      'cartage_copy_rows_total{direction="from"} 3',
      'cartage_copy_rows_total{direction="to"} 3',
    ]) {
      assert.ok(figures.includes(`\n${line}\n`), line)
    }
    assert.match(figures, /^cartage_copy_bytes_total\{direction="from"\} [1-9]/m)
  })
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
