import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job, JobDefinition } from '../../src/jobs/job.ts'
import {
  beginStep,
  claim,
  createJob,
  stepFailed,
  stepSucceeded,
  type Transition,
} from '../../src/jobs/job-state.ts'
import { jobDocument } from '../../src/jobs/shown/job-document.ts'

const at = new Date('2026-01-31T10:00:00.123Z')
const stamp = '2026-01-31T10:00:00.123Z'
const ok = (transition: Transition): Job => {
  assert.ok(transition.ok)
  return transition.job
}
const newJob = (definition: JobDefinition) => createJob(definition, 'the-id', 'alice', at)
const started = (definition: JobDefinition) => ok(claim(newJob(definition), at))
const succeed = (job: Job) => ok(stepSucceeded(ok(beginStep(job, at)), at))
const fail = (job: Job, reason: string) => ok(stepFailed(ok(beginStep(job, at)), reason, at))

test('a job of one statement shows its query as it was sent', () => {
  assert.deepEqual(jobDocument(newJob({ form: 'string', items: [{ statement: 'SELECT 1' }] })), {
    job_id: 'the-id',
    user: 'alice',
    status: 'pending',
    query: 'SELECT 1',
    created_at: stamp,
    updated_at: stamp,
  })
})

test('a chain shows the status of each item and which one failed', () => {
  const chain: JobDefinition = { form: 'array', items: ['a', 'b', 'c'].map((statement) => ({ statement })) }
  const document = jobDocument(fail(succeed(started(chain)), 'no table'))
  assert.equal(document.status, 'failed')
  assert.equal(document.failed_reason, 'no table')
  assert.deepEqual(document.query, [
    { query: 'a', status: 'done' },
    { query: 'b', status: 'failed', failed_reason: 'no table' },
    { query: 'c', status: 'pending' },
  ])
})

test('an item of a chain shows its fallbacks', () => {
  const items = [{ statement: 'a', onerror: 'b', timeoutMs: 5 }]
  assert.deepEqual(jobDocument(newJob({ form: 'array', items })).query, [
    { query: 'a', onerror: 'b', timeout: 5, status: 'pending', fallback_status: 'pending' },
  ])
})

test('a job with fallbacks keeps its form, and its templates are not filled in', () => {
  const definition: JobDefinition = {
    form: 'object',
    items: [{ statement: 'a' }, { statement: 'b', onerror: 'log(<%= error_message %>)' }, { statement: 'c' }],
    onerror: 'd',
  }
  const document = jobDocument(fail(fail(fail(succeed(started(definition)), 'one'), 'two'), 'three'))
  const times = { started_at: stamp, ended_at: stamp }
  assert.deepEqual(document, {
    job_id: 'the-id',
    user: 'alice',
    status: 'failed',
    query: {
      query: [
        { query: 'a', status: 'done', ...times },
        {
          query: 'b',
          onerror: 'log(<%= error_message %>)',
          status: 'failed',
          fallback_status: 'failed',
          failed_reason: 'one',
          fallback_failed_reason: 'two',
          ...times,
        },
        { query: 'c', status: 'skipped' },
      ],
      onerror: 'd',
    },
    created_at: stamp,
    updated_at: stamp,
    failed_reason: 'one',
    fallback_status: 'failed',
    fallback_failed_reason: 'three',
  })
})
