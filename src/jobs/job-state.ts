import { isFinal, type StepStatus } from '../contract/job-status.ts'
import type { FallbackRecord, Fallbacks, Item, Job, JobDefinition } from './job.ts'
import { findStep, nextStep, runningStep, type Step } from './job-step.ts'

/*
 * The states of a job:
 *
 *               claim                 its last step ended
 *    pending ----------> running ------------+-----------> done        every item is done
 *       |    <----------    |                +-----------> failed      an item failed
 *       |      requeue      |                '-----------> unknown     nobody knows what became of an item
 *       |                   |
 *       |      cancel       |
 *       '-------------------'----------------------------> cancelled
 *
 * The four on the right are final: nothing leaves them, and nothing of the job runs any more. `abandon` goes
 * there from pending or running by letting every step fail that is left.
 *
 * A step is an item, the fallback of an item or the fallback of the job. Not more than one is running, and
 * only while the job is:
 *
 *              beginStep              stepSucceeded, stepFailed, stepUnknown
 *    pending ------------> running -----------------------------------------> done, failed, unknown
 *       |    <------------    |
 *       |     stepAborted,    |
 *       |     requeue; cancel of an item
 *       '-----------+---------'
 *                   '--> skipped      never to run: not reached, the item went the other way, or cancelled
 *
 * The order is item 0, its fallback, item 1, its fallback and so on, and last the fallback of the job. An
 * onsuccess follows an item that is done, the job's follows when all are; an onerror follows a failed one. A
 * fallback decides nothing: if it fails, the job goes on. After a failed item its onerror and the job's are
 * all that still runs, after an unknown one nothing. Items that were not reached, and their fallbacks, are
 * skipped in the object form and stay pending in the others.
 */

export type TransitionRefusal = {
  readonly ok: false
  readonly code: 'claim-not-allowed' | 'step-not-allowed' | 'cancel-not-allowed' | 'update-not-allowed'
  readonly message: string
}
export type Transition = { readonly ok: true; readonly job: Job } | TransitionRefusal

/** The job after a transition that cannot be refused where the caller stands. */
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

/** Another query for a job of which nothing has run. */
export function replaceQuery(job: Job, definition: JobDefinition, at: Date): Transition {
  const isUntouched = job.status === 'pending' && job.items.every(({ status }) => status === 'pending')
  if (!isUntouched) return refusal('update-not-allowed', 'Job is not pending, it cannot be updated')
  return { ok: true, job: { ...createJob(definition, job.id, job.user, at), createdAt: job.createdAt } }
}

/** What `cartage.take_job` does to the row when a worker is given the job. */
export function claim(job: Job, at: Date): Transition {
  if (job.status !== 'pending') return notAllowed('claim', job)
  return { ok: true, job: { ...job, status: 'running', updatedAt: at } }
}

/** Begins the next step. */
export function beginStep(job: Job, at: Date): Transition {
  const step = nextStep(job)
  if (job.status !== 'running' || !step) return notAllowed('step', job)
  return { ok: true, job: { ...withStep(job, step, { status: 'running', startedAt: at }), updatedAt: at } }
}

export function stepSucceeded(job: Job, at: Date): Transition {
  return endStep(job, { status: 'done', endedAt: at }, at)
}

export function stepFailed(job: Job, reason: string, at: Date, sqlstate?: string): Transition {
  const state = sqlstate === undefined ? {} : { failedSqlstate: sqlstate }
  return endStep(job, { status: 'failed', endedAt: at, failedReason: reason, ...state }, at)
}

/** The running step may have happened or not, and nobody can tell. */
export function stepUnknown(job: Job, reason: string, at: Date): Transition {
  return endStep(job, { status: 'unknown', endedAt: at, failedReason: reason }, at)
}

/** The running step is known not to have happened, and will be begun again. */
export function stepAborted(job: Job, at: Date): Transition {
  const step = runningStep(job)
  if (!step) return notAllowed('step', job)
  return { ok: true, job: { ...withStep(job, step, { status: 'pending' }), updatedAt: at } }
}

/** Back to the queue, to go on later where it was. A running step is known not to have happened. */
export function requeue(job: Job, at: Date): Transition {
  if (job.status !== 'running') return notAllowed('step', job)
  const step = runningStep(job)
  const stopped = step ? withStep(job, step, { status: 'pending' }) : job
  return { ok: true, job: { ...stopped, status: 'pending', updatedAt: at } }
}

/** Nothing of the job can run any more, as its user or database is gone: each step left fails for that reason. */
export function abandon(job: Job, reason: string, at: Date): Transition {
  if (isFinal(job.status)) return notAllowed('step', job)
  let transition: Transition = job.status === 'pending' ? claim(job, at) : { ok: true, job }
  while (transition.ok && !isFinal(transition.job.status)) {
    if (!runningStep(transition.job)) transition = beginStep(transition.job, at)
    if (transition.ok) transition = stepFailed(transition.job, reason, at)
  }
  return transition
}

/** The running step has been stopped, and is known not to have happened. */
export function cancel(job: Job, at: Date): Transition {
  if (isFinal(job.status)) return notAllowed('cancel', job)
  const items = job.items.map((item) => cancelledItem(item, job.form === 'object'))
  const skipped = isOpen(job.fallbackStatus) ? fallback(job, 'skipped') : {}
  return { ok: true, job: { ...job, ...skipped, status: 'cancelled', items, updatedAt: at } }
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

type Ending = {
  readonly status: 'done' | 'failed' | 'unknown'
  readonly endedAt: Date
  readonly failedReason?: string
  readonly failedSqlstate?: string
}

function endStep(job: Job, ending: Ending, at: Date): Transition {
  const step = runningStep(job)
  if (!step || job.status !== 'running') return notAllowed('step', job)
  const ended = withStep(job, step, ending)
  return { ok: true, job: settled(step.kind === 'item' ? afterItem(ended, step.index, ending) : ended, at) }
}

/** Decides which fallbacks may follow the end of an item, and what becomes of the items behind it. */
function afterItem(job: Job, index: number, { status, failedReason, failedSqlstate }: Ending): Job {
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

function fallbackAfter(fallbacks: Fallbacks, status: Ending['status']): FallbackRecord {
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

type StepRecord = Pick<Item, 'status' | 'startedAt' | 'endedAt' | 'failedReason' | 'failedSqlstate'>

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

/** What is recorded of a fallback, where there is one. */
function fallback({ onsuccess, onerror }: Fallbacks, status: StepStatus): FallbackRecord {
  return onsuccess === undefined && onerror === undefined ? {} : { fallbackStatus: status }
}

function notAllowed(act: 'claim' | 'step' | 'cancel', { status }: Job): TransitionRefusal {
  return refusal(`${act}-not-allowed`, `The job status is ${status}, ${act} is not allowed`)
}

function refusal(code: TransitionRefusal['code'], message: string): TransitionRefusal {
  return { ok: false, code, message }
}
