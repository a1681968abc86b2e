import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isFinal } from '../../src/contract/job-status.ts'
import type { Job, JobDefinition } from '../../src/jobs/job.ts'
import {
  abandon,
  beginStep,
  cancel,
  claim,
  createJob,
  replaceQuery,
  requeue,
  retryLater,
  stepAborted,
  stepFailed,
  stepSucceeded,
  stepUnknown,
  type Transition,
} from '../../src/jobs/job-state.ts'
import { nextStep, runningStep, type Step } from '../../src/jobs/job-step.ts'

const at = new Date('2026-01-31T10:00:00.123Z')
const later = (seconds: number) => new Date(at.getTime() + 1000 * seconds)

const ok = (transition: Transition): Job => {
  assert.ok(transition.ok, transition.ok ? '' : transition.message)
  return transition.job
}
const newJob = (definition: JobDefinition) => createJob(definition, 'id', 'alice', at)
const started = (definition: JobDefinition) => ok(claim(newJob(definition), at))
const begin = (job: Job) => ok(beginStep(job, at))
const succeed = (job: Job) => ok(stepSucceeded(begin(job), at))
const fail = (job: Job, reason = 'broken') => ok(stepFailed(begin(job), reason, at))

const chain: JobDefinition = {
  form: 'array',
  items: [{ statement: 'a' }, { statement: 'b' }, { statement: 'c' }],
}
const withFallbacks: JobDefinition = {
  form: 'object',
  items: [
    { statement: 'a', onsuccess: 'a+', onerror: 'a-' },
    { statement: 'b', onerror: 'b-' },
    { statement: 'c', onsuccess: 'c+' },
  ],
  onsuccess: 'job+',
  onerror: 'job-',
}

const statuses = (job: Job) => [job.status, job.items.map(({ status }) => status).join(' ')]
const fallbacks = (job: Job) =>
  [...job.items, job].map(({ fallbackStatus }) => fallbackStatus ?? '-').join(' ')

test('a new job is pending, and so are its items and fallbacks', () => {
  const job = newJob(withFallbacks)
  assert.deepEqual(statuses(job), ['pending', 'pending pending pending'])
  assert.equal(fallbacks(job), 'pending pending pending pending')
  assert.equal(fallbacks(newJob(chain)), '- - - -')
})

test('the items of a chain run in order, and the job is done after the last one', () => {
  let job = started(chain)
  for (const [index, statement] of ['a', 'b', 'c'].entries()) {
    assert.deepEqual(nextStep(job), { kind: 'item', index, statement })
    assert.equal(job.status, 'running')
    job = succeed(job)
  }
  assert.deepEqual(statuses(job), ['done', 'done done done'])
  assert.equal(nextStep(job), undefined)
})

test('after a failed item the rest of a chain stays pending and never runs', () => {
  const job = fail(succeed(started(chain)), 'relation "x" does not exist')
  assert.deepEqual(statuses(job), ['failed', 'done failed pending'])
  assert.equal(job.failedReason, 'relation "x" does not exist')
  assert.equal(job.items[1]?.failedReason, 'relation "x" does not exist')
})

test("a failed item's onerror runs first, then the job's, and the remaining items are skipped", () => {
  const inFallback = begin(fail(succeed(succeed(started(withFallbacks)))))
  assert.deepEqual(statuses(inFallback), ['running', 'done failed skipped'])
  assert.deepEqual(runningStep(inFallback), {
    kind: 'item-fallback',
    index: 1,
    event: 'onerror',
    statement: 'b-',
  })
  const inJobFallback = begin(ok(stepSucceeded(inFallback, at)))
  assert.deepEqual(runningStep(inJobFallback), { kind: 'job-fallback', event: 'onerror', statement: 'job-' })
  const job = ok(stepSucceeded(inJobFallback, at))
  assert.deepEqual(statuses(job), ['failed', 'done failed skipped'])
  assert.equal(fallbacks(job), 'done done skipped done')
})

test("the job's onsuccess runs only when every item is done, and the job is running until it has ended", () => {
  let job = started(withFallbacks)
  const ran: string[] = []
  for (let step = nextStep(job); step; step = nextStep(job)) {
    assert.equal(job.status, 'running')
    ran.push(step.statement)
    job = succeed(job)
  }
  assert.deepEqual(ran, ['a', 'a+', 'b', 'c', 'c+', 'job+'])
  assert.equal(job.status, 'done')
  assert.equal(fallbacks(job), 'done skipped done done')
})

test("a failing fallback is recorded, keeps the item's reason and lets the chain continue", () => {
  const afterOnsuccess = fail(succeed(started(withFallbacks)), 'log is full')
  assert.equal(nextStep(afterOnsuccess)?.statement, 'b')
  assert.equal(afterOnsuccess.items[0]?.status, 'done')
  assert.equal(afterOnsuccess.items[0]?.fallbackFailedReason, 'log is full')
  assert.equal(afterOnsuccess.failedReason, undefined)

  const job = fail(fail(fail(afterOnsuccess, 'the reason'), 'not this'), 'nor this')
  assert.equal(job.status, 'failed')
  assert.equal(job.failedReason, 'the reason')
  assert.equal(job.items[1]?.failedReason, 'the reason')
  assert.equal(job.items[1]?.fallbackFailedReason, 'not this')
  assert.equal(job.fallbackFailedReason, 'nor this')
})

test('a job that has no fallback for its outcome ends at once and skips the other one', () => {
  const job = fail(started({ form: 'object', items: [{ statement: 'a', onsuccess: 'b' }], onsuccess: 'c' }))
  assert.equal(job.status, 'failed')
  assert.equal(fallbacks(job), 'skipped skipped')
})

test('a cancelled chain sets its running item back to pending and leaves the others as they are', () => {
  const job = ok(cancel(begin(succeed(started(chain))), later(1)))
  assert.deepEqual(statuses(job), ['cancelled', 'done pending pending'])
  assert.deepEqual(job.updatedAt, later(1))
  assert.equal(job.items[1]?.startedAt, undefined)
  assert.deepEqual(statuses(ok(cancel(newJob(chain), at))), ['cancelled', 'pending pending pending'])
})

test('a cancelled job with fallbacks skips what has not begun, and runs no fallback', () => {
  const running = ok(cancel(begin(started(withFallbacks)), at))
  assert.deepEqual(statuses(running), ['cancelled', 'pending skipped skipped'])
  assert.equal(fallbacks(running), 'skipped skipped skipped skipped')
  const waiting = ok(cancel(newJob(withFallbacks), at))
  assert.deepEqual(statuses(waiting), ['cancelled', 'skipped skipped skipped'])
  const inFallback = ok(cancel(begin(succeed(started(withFallbacks))), at))
  assert.deepEqual(statuses(inFallback), ['cancelled', 'done skipped skipped'])
  assert.equal(fallbacks(inFallback), 'skipped skipped skipped skipped')
})

test('in a cancelled array the fallback of an item that ran is skipped, any other stays pending', () => {
  const items = [
    { statement: 'a', onsuccess: 'a+' },
    { statement: 'b', onsuccess: 'b+' },
  ]
  const job = ok(cancel(begin(succeed(started({ form: 'array', items }))), at))
  assert.deepEqual(statuses(job), ['cancelled', 'done pending'])
  assert.equal(fallbacks(job), 'skipped pending -')
})

test('cancelling is refused in a final status', () => {
  const single: JobDefinition = { form: 'string', items: [{ statement: 'a' }] }
  const final = {
    done: succeed(started(single)),
    failed: fail(started(single)),
    unknown: ok(stepUnknown(begin(started(single)), 'lost', at)),
    cancelled: ok(cancel(newJob(single), at)),
  }
  for (const [status, job] of Object.entries(final)) {
    assert.equal(job.status, status)
    assert.deepEqual(cancel(job, at), {
      ok: false,
      code: 'cancel-not-allowed',
      message: `The job status is ${status}, cancel is not allowed`,
    })
  }
})

test('an item with an unknown outcome ends the job as unknown, and no fallback runs', () => {
  const job = ok(stepUnknown(begin(started(withFallbacks)), 'the server went away', at))
  assert.deepEqual(statuses(job), ['unknown', 'unknown skipped skipped'])
  assert.equal(fallbacks(job), 'skipped skipped skipped skipped')
  assert.equal(job.failedReason, 'the server went away')
})

test('an item that was not applied begins again, with or without a stay in the queue', () => {
  const lost = begin(succeed(started(chain)))
  assert.equal(nextStep(ok(stepAborted(lost, at)))?.statement, 'b')
  const queued = ok(requeue(lost, at))
  assert.deepEqual(statuses(queued), ['pending', 'done pending pending'])
  assert.equal(nextStep(ok(claim(queued, at)))?.statement, 'b')
})

test('a job whose user is deleted fails for that reason in every state', () => {
  for (const job of [
    newJob(withFallbacks),
    begin(started(withFallbacks)),
    begin(succeed(started(withFallbacks))),
  ]) {
    const abandoned = ok(abandon(job, 'user is gone', at))
    assert.equal(abandoned.status, 'failed')
    assert.equal(abandoned.failedReason, 'user is gone')
  }
})

test('the query can be changed only while no part of the job has run', () => {
  const changed = ok(replaceQuery(newJob(chain), withFallbacks, later(5)))
  assert.deepEqual(changed, { ...newJob(withFallbacks), updatedAt: later(5) })
  for (const job of [started(chain), succeed(started(chain)), ok(requeue(succeed(started(chain)), at))]) {
    const refused = replaceQuery(job, withFallbacks, at)
    assert.equal(!refused.ok && refused.message, 'Job is not pending, it cannot be updated')
  }
})

const statement = fc.constantFrom('a', 'b', 'c')
const fallback = { onsuccess: statement, onerror: statement }
const definitions: fc.Arbitrary<JobDefinition> = fc.oneof(
  fc.record({ form: fc.constant('string' as const), items: fc.tuple(fc.record({ statement })) }),
  fc.record(
    {
      form: fc.constantFrom('array' as const, 'object' as const),
      items: fc.array(fc.record({ statement, ...fallback }, { requiredKeys: ['statement'] }), {
        minLength: 1,
        maxLength: 4,
      }),
      ...fallback,
    },
    { requiredKeys: ['form', 'items'] },
  ),
)

const acts = {
  claim: (job: Job, now: Date) => claim(job, now),
  begin: (job: Job, now: Date) => beginStep(job, now),
  succeed: (job: Job, now: Date) => stepSucceeded(job, now),
  fail: (job: Job, now: Date) => stepFailed(job, `failed at ${now.getTime()}`, now),
  lose: (job: Job, now: Date) => stepUnknown(job, 'lost', now),
  abort: (job: Job, now: Date) => stepAborted(job, now),
  requeue: (job: Job, now: Date) => requeue(job, now),
  retry: (job: Job, now: Date) => retryLater(job, later(99), now),
  cancel: (job: Job, now: Date) => cancel(job, now),
  abandon: (job: Job, now: Date) => abandon(job, 'gone', now),
  update: (job: Job, now: Date) => replaceQuery(job, { form: 'string', items: [{ statement: 'new' }] }, now),
}
type Act = keyof typeof acts

// Acts that advance a job are more frequent here, so that many jobs get far.
const actSequence = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom<Act>('claim', 'begin', 'succeed', 'begin', 'succeed') },
    { weight: 3, arbitrary: fc.constantFrom<Act>('fail', 'abort', 'requeue', 'retry') },
    { weight: 1, arbitrary: fc.constantFrom<Act>('lose', 'cancel', 'abandon', 'update') },
  ),
  { maxLength: 60, size: 'max' },
)

test('the state of a job is valid after any sequence of acts', () => {
  fc.assert(
    fc.property(definitions, actSequence, (definition, sequence) => {
      let job = newJob(definition)
      for (const [index, act] of sequence.entries()) {
        const before = structuredClone(job)
        const transition = acts[act](job, later(index + 1))
        assert.deepEqual(job, before, 'a transition leaves the job it was given alone')
        if (isFinal(job.status)) assert.equal(transition.ok, false, 'a final status is final')
        if (!transition.ok) continue
        checkStep(before, act, transition.job)
        checkJob(transition.job)
        assert.deepEqual(transition.job.updatedAt, later(index + 1))
        job = transition.job
      }
    }),
    { numRuns: 2000 },
  )
})

test('a job takes the steps that its outcomes require, in order', () => {
  fc.assert(
    fc.property(
      definitions,
      fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
      (definition, outcomes) => {
        let job = started(definition)
        const ran: string[] = []
        for (const isSuccess of outcomes) {
          const step = nextStep(job)
          if (!step) break
          ran.push(nameOf(step))
          job = isSuccess ? succeed(job) : fail(job)
        }
        assert.ok(isFinal(job.status))
        assert.deepEqual({ ran, status: job.status }, expectedRun(definition, outcomes))
      },
    ),
    { numRuns: 2000 },
  )
})

/** The rules again, as a plain program. */
function expectedRun({ items, onsuccess, onerror }: JobDefinition, outcomes: readonly boolean[]) {
  const ran: string[] = []
  const run = (name: string) => outcomes[ran.push(name) - 1]
  for (const [index, item] of items.entries()) {
    if (run(`item ${index}`)) {
      if (item.onsuccess) run(`item-fallback ${index} onsuccess`)
      continue
    }
    if (item.onerror) run(`item-fallback ${index} onerror`)
    if (onerror) run('job-fallback onerror')
    return { ran, status: 'failed' }
  }
  if (onsuccess) run('job-fallback onsuccess')
  return { ran, status: 'done' }
}

function nameOf(step: Step): string {
  if (step.kind === 'item') return `item ${step.index}`
  return step.kind === 'job-fallback'
    ? `job-fallback ${step.event}`
    : `item-fallback ${step.index} ${step.event}`
}

/** Checks a step from one state of a job to the next. */
function checkStep(before: Job, act: Act, job: Job): void {
  assert.deepEqual([job.id, job.user, job.createdAt], [before.id, before.user, before.createdAt])
  if (act === 'update') return
  const ended = ['done', 'failed', 'unknown', 'skipped']
  for (const [index, each] of [...before.items, before].entries()) {
    const now = [...job.items, job][index]!
    if (each.fallbackStatus && ended.includes(each.fallbackStatus))
      assert.equal(now.fallbackStatus, each.fallbackStatus)
  }
  for (const [index, item] of before.items.entries()) {
    const now = job.items[index]!
    assert.equal(now.statement, item.statement)
    if (ended.includes(item.status)) assert.equal(now.status, item.status)
    if (item.failedReason !== undefined) assert.equal(now.failedReason, item.failedReason)
  }
  if (before.failedReason !== undefined) assert.equal(job.failedReason, before.failedReason)
}

/** Checks one state. */
function checkJob(job: Job): void {
  const { status, items, form } = job
  const records = [...items.map((item) => item.status), ...[...items, job].map((each) => each.fallbackStatus)]
  const running = records.filter((each) => each === 'running').length
  assert.ok(
    running <= (status === 'running' ? 1 : 0),
    'one step at a time, and only while the job is running',
  )

  const reached = items.findIndex((item) => item.status !== 'done')
  const behind = reached === -1 ? [] : items.slice(reached + 1)
  assert.ok(
    behind.every((item) => ['pending', 'skipped'].includes(item.status)),
    'items run in their order',
  )

  const stopped = items.find((item) => item.status === 'failed' || item.status === 'unknown')
  if (status === 'done') assert.ok(items.every((item) => item.status === 'done'))
  if (status === 'failed' || status === 'unknown') assert.equal(stopped?.status, status)
  assert.equal(job.failedReason, stopped?.failedReason)

  for (const item of items) {
    const isEnded = ['done', 'failed', 'unknown'].includes(item.status)
    assert.equal(item.endedAt !== undefined, isEnded)
    assert.equal(item.startedAt !== undefined, isEnded || item.status === 'running')
  }
  if (form !== 'object') assert.ok(!items.some((item) => item.status === 'skipped'))
  for (const each of [...items, job]) {
    const hasFallback = each.onsuccess !== undefined || each.onerror !== undefined
    assert.equal(each.fallbackStatus !== undefined, hasFallback)
  }
  if (isFinal(status)) {
    assert.equal(nextStep(job), undefined)
    if (form === 'object') assert.ok(![...items, job].some((each) => each.fallbackStatus === 'pending'))
  } else if (running === 0) {
    assert.ok(nextStep(job), 'a job that has not ended has something to do')
  }
}
