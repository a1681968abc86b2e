import { isFinal, type StepStatus } from '../contract/job-status.ts'
import type { Item, Job } from './job.ts'

export type FallbackEvent = 'onsuccess' | 'onerror'

/** What runs at one time. The statement of a fallback is still a template. */
export type Step =
  | ({ readonly kind: 'item'; readonly index: number } & Pick<Item, 'statement' | 'params' | 'timeoutMs'>)
  | {
      readonly kind: 'item-fallback'
      readonly index: number
      readonly event: FallbackEvent
      readonly statement: string
    }
  | { readonly kind: 'job-fallback'; readonly event: FallbackEvent; readonly statement: string }

/** Unique within the job. */
export function stepName(step: Step): string {
  if (step.kind === 'item') return String(step.index)
  return step.kind === 'item-fallback' ? `${step.index} ${step.event}` : step.event
}

/** The next step; undefined while one is running, or after the job has ended. */
export function nextStep(job: Job): Step | undefined {
  if (isFinal(job.status) || runningStep(job)) return undefined
  return findStep(job, 'pending')
}

export function runningStep(job: Job): Step | undefined {
  return findStep(job, 'running')
}

/** The first step with this status. */
export function findStep(job: Job, wanted: StepStatus): Step | undefined {
  for (const [step, status] of stepsSoFar(job)) if (status === wanted) return step
  return undefined
}

/** The steps in order, up to the first one whose outcome decides the rest. */
function* stepsSoFar(job: Job): Generator<readonly [Step, StepStatus | undefined]> {
  for (const [index, item] of job.items.entries()) {
    yield [{ kind: 'item', index, ...sentOf(item) }, item.status]
    if (item.status !== 'done' && item.status !== 'failed') return
    const event = item.status === 'done' ? 'onsuccess' : 'onerror'
    const statement = item[event]
    if (statement !== undefined)
      yield [{ kind: 'item-fallback', index, event, statement }, item.fallbackStatus]
    if (item.status === 'failed') break
  }
  const event = job.items.every(({ status }) => status === 'done') ? 'onsuccess' : 'onerror'
  const statement = job[event]
  if (statement !== undefined) yield [{ kind: 'job-fallback', event, statement }, job.fallbackStatus]
}

function sentOf({ statement, params, timeoutMs }: Item): Pick<Item, 'statement' | 'params' | 'timeoutMs'> {
  return { statement, ...(params && { params }), ...(timeoutMs !== undefined && { timeoutMs }) }
}
