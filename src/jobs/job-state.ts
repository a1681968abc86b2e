import { isFinal, type StepStatus } from '../contract/job-status.ts'
import type { FallbackRecord, Fallbacks, Item, Job, JobDefinition } from './job.ts'
import { findStep, nextStep, runningStep, type Step } from './job-step.ts'

/*
 * The states of a job:
 *
 *               claim                 its last step ended
 *    pending ----------> running ------------+-----------> done        every item is done
 *       |    <----------    |                +-----------> failed      an item failed
 *       | requeue, retryLater                '-----------> unknown     the outcome of an item is unknown
 *       |                   |
 *       |      cancel       |
 *       '-------------------'----------------------------> cancelled
 *
 * The four states on the right are final: the job runs no more. `abandon` reaches them from pending or running by
 * failing every remaining step.
 *
 * A step is an item, the fallback of an item or the fallback of the job. At most one is running, and only while the job
 * is:
 *
 *              beginStep              stepSucceeded, stepFailed, stepUnknown
 *    pending ------------> running -----------------------------------------> done, failed, unknown
 *       |    <------------    |
 *       |     stepAborted,    |
 *       |     requeue, retryLater; cancel of an item
 *       '-----------+---------'
 *                   '--> skipped      will never run: not reached, the other fallback applies, or cancelled
 *
 * The order is item 0, its fallback, item 1, its fallback and so on, then the fallback of the job. An item's onsuccess
 * runs after it is done, the job's after all are done; onerror runs after a failed item. The outcome of a fallback
 * changes nothing: if it fails, the job continues. After a failed item only its onerror and the job's run, after an
 * unknown one nothing. Items that were not reached, and their fallbacks, are skipped in the object form and stay pending
 * in the others. A failed item of a job with a retry rule may be tried again instead: it was rolled back, so retryLater
 * puts the job back to wait, as if the item had not begun.
 */

export type TransitionRefusal = {
  readonly ok: false
  readonly code: 'claim-not-allowed' | 'step-not-allowed' | 'cancel-not-allowed' | 'update-not-allowed'
  readonly message: string
}
export type Transition = { readonly ok: true; readonly job: Job } | TransitionRefusal

/** The job after a transition that the caller knows to be allowed. */
export function accepted(transition: Transition): Job {
  if (!transition.ok) throw new Error(transition.message)
  return transition.job
}

export function createJob(definition: JobDefinition, id: string, user: string, at: Date): Job {
  const items = definition.items.map(
    (item): Item => ({ ...item, status: 'pending', ...fallback(item, 'pending') }),
  )
  const times = { createdAt: at, updatedAt: at }
  return { ...definition, id, user, status: 'pending', items, ...fallback(definition, 'pending'), ...times }
}

/** Replaces the query of a job that has not run yet. */
export function replaceQuery(job: Job, definition: JobDefinition, at: Date): Transition {
  const isUntouched = job.status === 'pending' && job.items.every(({ status }) => status === 'pending')
  if (isUntouched && job.retries)
    return refusal('update-not-allowed', 'Job waits for another attempt, it cannot be updated')
  if (!isUntouched) return refusal('update-not-allowed', 'Job is not pending, it cannot be updated')
  const { createdAt, delayedUntil } = job
  const replaced = { ...createJob(definition, job.id, job.user, at), createdAt }
  return { ok: true, job: delayedUntil ? { ...replaced, delayedUntil } : replaced }
}

/** What `cartage.take_job` does to the row when a worker gets the job. */
export function claim(job: Job, at: Date): Transition {
  if (job.status !== 'pending') return notAllowed('claim', job)
  return { ok: true, job: { ...withoutDelay(job), status: 'running', updatedAt: at } }
}

/** Begins the next step. */
export function beginStep(job: Job, at: Date): Transition {
  const step = nextStep(job)
  if (job.status !== 'running' || !step) return notAllowed('step', job)
  return { ok: true, job: { ...withStep(job, step, { status: 'running', startedAt: at }), updatedAt: at } }
}

/** `rows`: of the command tag of an item. */
export function stepSucceeded(job: Job, at: Date, rows?: number): Transition {
  return endStep(job, { status: 'done', endedAt: at, ...(rows !== undefined && { rows }) }, at)
}

export function stepFailed(job: Job, reason: string, at: Date, sqlstate?: string): Transition {
  const state = sqlstate === undefined ? {} : { failedSqlstate: sqlstate }
  return endStep(job, { status: 'failed', endedAt: at, failedReason: reason, ...state }, at)
}

/** The running step may or may not have happened; its outcome cannot be determined. */
export function stepUnknown(job: Job, reason: string, at: Date): Transition {
  return endStep(job, { status: 'unknown', endedAt: at, failedReason: reason }, at)
}

/** The running step did not happen, and will be begun again. */
export function stepAborted(job: Job, at: Date): Transition {
  const step = runningStep(job)
  if (!step) return notAllowed('step', job)
  return { ok: true, job: { ...withStep(job, step, { status: 'pending' }), updatedAt: at } }
}

/** Back to the queue, to continue later. A running step did not happen. */
export function requeue(job: Job, at: Date): Transition {
  if (job.status !== 'running') return notAllowed('step', job)
  const step = runningStep(job)
  const stopped = step ? withStep(job, step, { status: 'pending' }) : job
  return { ok: true, job: { ...stopped, status: 'pending', updatedAt: at } }
}

/** The running item failed and was rolled back: the job waits, and then the item is begun again. */
export function retryLater(job: Job, until: Date, at: Date): Transition {
  const requeued = requeue(job, at)
  if (!requeued.ok || runningStep(job)?.kind !== 'item') return notAllowed('step', job)
  const retries = (job.retries ?? 0) + 1
  return { ok: true, job: { ...requeued.job, retries, delayedUntil: until } }
}

/** The job cannot run any more, as its user or database is gone: each remaining step fails for that reason. */
export function abandon(job: Job, reason: string, at: Date): Transition {
  if (isFinal(job.status)) return notAllowed('step', job)
  let transition: Transition = job.status === 'pending' ? claim(job, at) : { ok: true, job }
  while (transition.ok && !isFinal(transition.job.status)) {
    if (!runningStep(transition.job)) transition = beginStep(transition.job, at)
    if (transition.ok) transition = stepFailed(transition.job, reason, at)
  }
  return transition
}

/** The running step has been stopped and did not happen. */
export function cancel(job: Job, at: Date): Transition {
  if (isFinal(job.status)) return notAllowed('cancel', job)
  const items = job.items.map((item) => cancelledItem(item, job.form === 'object'))
  const skipped = isOpen(job.fallbackStatus) ? fallback(job, 'skipped') : {}
  return { ok: true, job: { ...withoutDelay(job), ...skipped, status: 'cancelled', items, updatedAt: at } }
}

function cancelledItem(item: Item, isObjectForm: boolean): Item {
  const stopped = item.status === 'running' ? withoutTimes({ ...item, status: 'pending' }) : item
  const skipsItem = isObjectForm && item.status === 'pending'
  const skipsFallback = isOpen(item.fallbackStatus) && (isObjectForm || stopped.status !== 'pending')
  return {
    ...stopped,
    ...(skipsItem ? { status: 'skipped' } : {}),
    ...(skipsFallback ? fallback(item, 'skipped') : {}),
  }
}

function isOpen(status: StepStatus | undefined): boolean {
  return status === 'pending' || status === 'running'
}

type JobEnding = {
  readonly status: 'done' | 'failed' | 'unknown'
  readonly endedAt: Date
  readonly failedReason?: string
  readonly failedSqlstate?: string
  readonly rows?: number
}

function endStep(job: Job, ending: JobEnding, at: Date): Transition {
  const step = runningStep(job)
  if (!step || job.status !== 'running') return notAllowed('step', job)
  const ended = withStep(job, step, ending)
  return { ok: true, job: settled(step.kind === 'item' ? afterItem(ended, step.index, ending) : ended, at) }
}

/** Decides which fallbacks follow the end of an item, and what becomes of later items. */
function afterItem(job: Job, index: number, { status, failedReason, failedSqlstate }: JobEnding): Job {
  const items = job.items.map((item, at) => {
    if (at === index) return { ...item, ...fallbackAfter(item, status) }
    return at > index && status !== 'done' && job.form === 'object' ? skippedItem(item) : item
  })
  const isLast = status !== 'done' || index === items.length - 1
  const reason = {
    ...(failedReason !== undefined && { failedReason }),
    ...(failedSqlstate !== undefined && { failedSqlstate }),
  }
  return { ...job, items, ...reason, ...(isLast ? fallbackAfter(job, status) : {}) }
}

function fallbackAfter(fallbacks: Fallbacks, status: JobEnding['status']): FallbackRecord {
  const isDue =
    (status === 'done' && fallbacks.onsuccess !== undefined) ||
    (status === 'failed' && fallbacks.onerror !== undefined)
  return fallback(fallbacks, isDue ? 'pending' : 'skipped')
}

function skippedItem(item: Item): Item {
  return { ...item, status: 'skipped', ...fallback(item, 'skipped') }
}

/** The final status, once no step is left. */
function settled(job: Job, at: Date): Job {
  if (findStep(job, 'pending')) return { ...job, updatedAt: at }
  const ended = job.items.find(({ status }) => status === 'failed' || status === 'unknown')
  const status = ended ? (ended.status as 'failed' | 'unknown') : 'done'
  return { ...job, status, updatedAt: at }
}

type StepRecord = Pick<Item, 'status' | 'startedAt' | 'endedAt' | 'failedReason' | 'failedSqlstate' | 'rows'>

function withStep(job: Job, step: Step, record: StepRecord): Job {
  const fallbackRecord = { fallbackStatus: record.status, ...reasonOf(record) }
  if (step.kind === 'job-fallback') return { ...job, ...fallbackRecord }
  const change = (item: Item): Item => {
    if (step.kind === 'item-fallback') return { ...item, ...fallbackRecord }
    return record.status === 'pending' ? withoutTimes({ ...item, ...record }) : { ...item, ...record }
  }
  return { ...job, items: job.items.map((item, index) => (index === step.index ? change(item) : item)) }
}

function reasonOf({ failedReason }: StepRecord): FallbackRecord {
  return failedReason === undefined ? {} : { fallbackFailedReason: failedReason }
}

function withoutTimes({ startedAt, endedAt, ...item }: Item): Item {
  return item
}

function withoutDelay({ delayedUntil, ...job }: Job): Job {
  return job
}

/** The record of a fallback, if there is one. */
function fallback({ onsuccess, onerror }: Fallbacks, status: StepStatus): FallbackRecord {
  return onsuccess === undefined && onerror === undefined ? {} : { fallbackStatus: status }
}

function notAllowed(act: 'claim' | 'step' | 'cancel', { status }: Job): TransitionRefusal {
  return refusal(`${act}-not-allowed`, `The job status is ${status}, ${act} is not allowed`)
}

function refusal(code: TransitionRefusal['code'], message: string): TransitionRefusal {
  return { ok: false, code, message }
}
