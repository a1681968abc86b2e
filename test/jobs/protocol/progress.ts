import { isFinal, type JobStatus, type StepStatus } from '../../../src/contract/job-status.ts'
import type { Job } from '../../../src/jobs/job.ts'
import * as machine from '../../../src/jobs/job-state.ts'
import { nextStep, runningStep } from '../../../src/jobs/job-step.ts'

const at = new Date(0)

/** The state machine of the service. */
const transitions = {
  claim: (job) => machine.claim(job, at),
  begin: (job) => machine.beginStep(job, at),
  succeed: (job) => machine.stepSucceeded(job, at),
  fail: (job) => machine.stepFailed(job, 'failed', at),
  lose: (job) => machine.stepUnknown(job, 'unknown', at),
  abort: (job) => machine.stepAborted(job, at),
  requeue: (job) => machine.requeue(job, at),
  retry: (job) => machine.retryLater(job, at, at),
  cancel: (job) => machine.cancel(job, at),
} satisfies Record<string, (job: Job) => machine.Transition>

type Transition = keyof typeof transitions

/**
 * A job of the service, made and changed by src/jobs/job-state.ts. Equal jobs share one object, and the search compares
 * only its number.
 */
export class Progress {
  readonly number: number
  readonly #job: Job
  readonly #items: readonly StepStatus[]
  readonly #item: number
  readonly #isRunning: boolean
  readonly #after = new Map<Transition, Progress>()

  constructor(job: Job, number: number) {
    this.number = number
    this.#job = job
    this.#items = job.items.map(({ status }) => status)
    const running = runningStep(job)
    const step = running ?? nextStep(job)
    this.#isRunning = running !== undefined
    this.#item = step?.kind === 'item' ? step.index : -1
  }

  get status(): JobStatus {
    return this.#job.status
  }

  get isFinal(): boolean {
    return isFinal(this.#job.status)
  }

  get items(): readonly StepStatus[] {
    return this.#items
  }

  /** The item that is running or is next. */
  get item(): number {
    if (this.#item === -1) throw new Error(`no item of a job that is ${this.status} has its turn`)
    return this.#item
  }

  /** An item is running. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  get isUntouched(): boolean {
    return this.#items.every((status) => status === 'pending')
  }

  after(transition: Transition): Progress {
    const known = this.#after.get(transition)
    if (known) return known
    const next = progressOf(machine.accepted(transitions[transition](this.#job)))
    this.#after.set(transition, next)
    return next
  }

  /** Begins its next item, even if the job does not show it yet. */
  begun(): Progress {
    const claimed = this.status === 'pending' ? this.after('claim') : this
    return claimed.isRunning ? claimed : claimed.after('begin')
  }
}

export function newJob(items: number): Progress {
  const statements = Array.from({ length: items }, (_, item) => ({ statement: `select ${item}` }))
  return progressOf(machine.createJob({ form: 'array', items: statements }, 'job', 'user', at))
}

const known = new Map<string, Progress>()

function progressOf(job: Job): Progress {
  const text = JSON.stringify(job)
  const found = known.get(text) ?? new Progress(job, known.size)
  known.set(text, found)
  return found
}
