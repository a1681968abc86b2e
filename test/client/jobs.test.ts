import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CartageError, type JobDocument, JobError } from '../../src/client/client.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { untilRunning } from '../support/postgres/running-statement.ts'
import { setup } from '../support/service/setup.ts'

test('the client waits for a job and reports its changes', async (t) => {
  const client = clientOf(t, await setup(t, { worker: true }))
  const seen: JobDocument[] = []
  const job = await client.jobs.run(['create table t (n int)', 'select pg_sleep(2)'], {
    onChange: (document) => seen.push(document),
  })
  assert.equal(job.status, 'done')
  assert.deepEqual(seen.at(-1), job)
  assert.ok(seen.some(({ status }) => status === 'running'))
  assert.deepEqual((await client.sql('select count(*) as n from t')).rows, [{ n: 0 }])
})

test('a failed job is thrown with its reason and its document', async (t) => {
  const client = clientOf(t, await setup(t, { worker: true }))
  await assert.rejects(client.jobs.run('select 1/0'), (error: unknown) => {
    assert.ok(error instanceof JobError && error instanceof CartageError)
    assert.deepEqual([error.code, error.sqlstate, error.job.status], ['job-failed', '22012', 'failed'])
    assert.match(error.message, /^The job \S+ is failed: division by zero$/)
    return true
  })
})

test('an abort cancels the job in the database', async (t) => {
  const bundle = await setup(t, { worker: true })
  const client = clientOf(t, bundle)
  const stop = new AbortController()
  let id = ''
  const run = client.jobs.run('select pg_sleep(60)', {
    signal: stop.signal,
    onChange: ({ job_id }) => {
      id = job_id
    },
  })
  const stopped = assert.rejects(run, { message: 'enough' })
  while (id === '') await new Promise(setImmediate)
  await untilRunning(bundle, id)
  stop.abort(new Error('enough'))
  await stopped
  assert.equal((await client.jobs.read(id)).status, 'cancelled')
})
