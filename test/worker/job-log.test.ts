import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../src/log/log.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { itemsOf, jobApi, runJob } from '../support/jobs/job-api.ts'
import { setup } from '../support/service/setup.ts'

test('start and end of a job are logged with SQLSTATE and times, without its SQL', async (t) => {
  const { user, service } = await setup(t, { isIsolated: true })
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const worker = await startWorker({ ...service.services, log })
  t.after(() => worker.stop(1_000))
  const api = jobApi(user)
  const done = await runJob(api, 'create table hidden_name (n int)')
  const failed = await runJob(api, ['select 1', `select 'hidden value'::int`])
  await worker.stop(1_000)
  const told = lines.map((line) => JSON.parse(line)).filter(({ jobId }) => jobId !== undefined)
  assert.deepEqual(
    told.map(({ jobId, username, msg, status, sqlstate }) => [jobId, username, msg, status, sqlstate]),
    [
      [done.job_id, user.username, 'job started', undefined, undefined],
      [done.job_id, user.username, 'job ended', 'done', undefined],
      [failed.job_id, user.username, 'job started', undefined, undefined],
      [failed.job_id, user.username, 'job ended', 'failed', '22P02'],
    ],
  )
  for (const { msg, waitMs, runMs } of told) if (msg === 'job ended') assert.ok(waitMs >= 0 && runMs >= 0)
  assert.doesNotMatch(lines.join(''), /hidden/)
})

test('a failed job shows the SQLSTATE beside the reason, on the job and on its item', async (t) => {
  const { user } = await setup(t, { worker: true })
  const job = await runJob(jobApi(user), ['select 1', 'select 1/0'])
  assert.deepEqual([job.failed_reason, job.failed_sqlstate], ['division by zero', '22012'])
  assert.deepEqual(
    itemsOf(job).map(({ failed_sqlstate }) => failed_sqlstate),
    [undefined, '22012'],
  )
  const slow = await runJob(jobApi(user), { query: [{ query: 'select pg_sleep(60)', timeout: 50 }] })
  assert.equal(slow.failed_sqlstate, '57014')
})
