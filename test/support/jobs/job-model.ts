import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Account } from '../../../src/auth/account.ts'
import type { Config } from '../../../src/config/config.ts'
import { isFinal } from '../../../src/contract/job-status.ts'
import { AppError } from '../../../src/errors.ts'
import { cancelJob } from '../../../src/jobs/cancel-job.ts'
import type { ClaimedJob, ClaimRequest } from '../../../src/jobs/claim-store.ts'
import type { Job, JobDefinition } from '../../../src/jobs/job.ts'
import type { JobQueue } from '../../../src/jobs/job-queue.ts'
import * as machine from '../../../src/jobs/job-state.ts'
import { runningStep } from '../../../src/jobs/job-step.ts'
import { type Flight, findJob } from '../../../src/jobs/job-store.ts'
import { enqueueJobs, queueDueJobs } from '../../../src/jobs/queue-store.ts'
import { jobDocument } from '../../../src/jobs/shown/job-document.ts'
import { settleFlight } from '../../../src/jobs/statement-outcome.ts'
import { submitJob } from '../../../src/jobs/submit-job.ts'
import { updateJob } from '../../../src/jobs/update-job.ts'
import { declareDead, orphanJobs, seeWorkers } from '../../../src/jobs/worker-store.ts'
import { endOf, type JobWrite, type WriteResult, writeJobs } from '../../../src/jobs/write-store.ts'
import type { Databases } from '../../../src/postgres/databases.ts'

/** The store under test, and a statement of either outcome to put in flight. */
export type Store = Readonly<{
  databases: Databases
  config: Config
  jobQueue: JobQueue
  account: Account
  /** The flight of a transaction that has committed, or not. */
  newFlight: (isCommitted: boolean) => Promise<Flight>
  newWorker: () => Promise<number>
}>

/** The state of a job in the pure machine, and the worker that has it. */
type Expected = { job: Job; holder: number | null; isCommitted: boolean | null }

const at = new Date()

/** Plays every act on the store and on the pure machine, and compares them. */
export class JobModel {
  readonly #store: Store
  readonly #jobs: Expected[] = []
  readonly #workers: number[]
  /** Every claim a worker ever had; most are not valid any more. */
  readonly #handles: ClaimedJob[] = []
  /** Each worker's view of its job: with every write its revision grows. */
  readonly #current = new Map<number, ClaimedJob>()

  constructor(store: Store, workers: readonly number[]) {
    this.#store = store
    this.#workers = [...workers]
  }

  async submit(definition: JobDefinition): Promise<void> {
    const { account } = this.#store
    const { job } = await submitJob(this.#store, account, definition)
    const expected = machine.createJob(definition, job.id, account.username, at)
    this.#jobs.push({ job: expected, holder: null, isCommitted: null })
  }

  /** A job submitted to the process of a worker is given to it at once, if the user has no other waiting or running. */
  async submitTo(worker: number, definition: JobDefinition): Promise<void> {
    if (this.#current.has(worker)) return
    const { account, config, databases } = this.#store
    const newJob = { id: randomUUID(), account, definition, idempotencyKey: null, requestHash: null }
    const request = { ...claimRequestOf(this.#workers[worker]!), wanted: 1 }
    const isFirst = this.#jobs.every(({ job }) => isFinal(job.status) || job.delayedUntil)
    const { queued, claimed } = await enqueueJobs(databases.control, config, [newJob], { request })
    assert.ok(queued[0])
    assert.deepEqual(
      claimed.map(({ job }) => job.id),
      isFirst ? [newJob.id] : [],
    )
    const job = machine.createJob(definition, newJob.id, account.username, at)
    this.#jobs.push({ job, holder: null, isCommitted: null })
    this.#succeed(worker, claimed[0], isFirst)
  }

  /** A worker claims the job without a worker, or the oldest waiting one. Then it settles what was in flight. */
  async claim(worker: number): Promise<void> {
    if (this.#current.has(worker)) return
    const request = { ...claimRequestOf(this.#workers[worker]!), wanted: 1, wantedOrphans: 1 }
    const { claimed: jobs } = await writeJobs(this.#store.databases.control, [], { request })
    const orphan = this.#jobs.find(({ job, holder }) => job.status === 'running' && holder === null)
    const isFree = this.#jobs.every(({ job }) => job.status !== 'running')
    const expected = orphan ?? (isFree ? this.#nextPending() : undefined)
    assert.deepEqual(
      jobs.map(({ job }) => job.id),
      expected ? [expected.job.id] : [],
    )
    if (!expected) return
    if (!orphan) expected.job = accepted(machine.claim(expected.job, at))
    expected.holder = worker
    this.#handles.push(jobs[0]!)
    this.#current.set(worker, jobs[0]!)
    await this.#settleFlight(expected, jobs[0]!)
  }

  async #settleFlight(expected: Expected, { job, flight }: ClaimedJob): Promise<void> {
    assert.equal(flight !== null, expected.isCommitted !== null)
    if (!flight) return
    const { kind } = await settleFlight(this.#store.databases, 1, job.id, flight)
    assert.equal(kind, expected.isCommitted ? 'committed' : 'aborted')
    const settled = expected.isCommitted ? machine.stepSucceeded : machine.stepAborted
    await this.#write(expected, accepted(settled(expected.job, at)))
  }

  async begin(worker: number, isCommitted: boolean): Promise<void> {
    const expected = this.#heldBy(worker)
    if (!expected || runningStep(expected.job)) return
    await this.#write(expected, accepted(machine.beginStep(expected.job, at)), isCommitted)
  }

  /** The step ends as its transaction did, or with an unknown outcome. */
  async endStep(worker: number, isUnknown: boolean): Promise<void> {
    const expected = this.#heldBy(worker)
    if (!expected || !runningStep(expected.job)) return
    const { job, isCommitted } = expected
    if (isUnknown) await this.#write(expected, accepted(machine.stepUnknown(job, 'unknown', at)))
    else if (isCommitted) await this.#write(expected, accepted(machine.stepSucceeded(job, at)))
    else await this.#write(expected, accepted(machine.stepFailed(job, 'failed', at)))
  }

  /** The item has failed and was rolled back: the job waits for its next attempt. */
  async retry(worker: number): Promise<void> {
    const expected = this.#heldBy(worker)
    if (expected?.isCommitted !== false || runningStep(expected.job)?.kind !== 'item') return
    expected.job = accepted(machine.retryLater(expected.job, at, at))
    expected.isCommitted = null
    const handle = this.#current.get(worker)!
    const write = { ...stay(handle, expected.job), isReleased: true, delayMs: 3_600_000 }
    assert.equal((await this.#put(write)).outcome, 'written')
    assert.equal((await this.#put(write)).outcome, 'written')
    this.#handles.push(handle)
    expected.holder = null
    this.#current.delete(worker)
  }

  /** The time of a waiting job has come: it goes to the end of the queue. */
  async queueDue(place: number): Promise<void> {
    const waiting = this.#jobs.filter(({ job }) => job.delayedUntil)
    const expected = waiting[place % Math.max(1, waiting.length)]
    const { control } = this.#store.databases
    if (expected) {
      await control.query(
        `update cartage.jobs set not_before = 'epoch', revision = revision + 1 where user_id = $1 and id = $2`,
        [this.#store.account.userId, expected.job.id],
      )
    }
    assert.equal(await queueDueJobs(control), expected ? 1 : 0)
    assert.equal(await queueDueJobs(control), 0)
    if (!expected) return
    const { delayedUntil: _until, ...job } = expected.job
    this.#jobs.splice(this.#jobs.indexOf(expected), 1)
    this.#jobs.push({ ...expected, job })
  }

  #nextPending(): Expected | undefined {
    return this.#jobs.find(({ job }) => job.status === 'pending' && !job.delayedUntil)
  }

  async releaseJob(worker: number): Promise<void> {
    const expected = this.#heldBy(worker)
    if (!expected || runningStep(expected.job)) return
    const isUntouched = expected.job.items.every(({ status }) => status === 'pending')
    if (isUntouched) expected.job = accepted(machine.requeue(expected.job, at))
    const { outcome } = await this.#put({
      ...stay(this.#current.get(worker)!, expected.job),
      isReleased: true,
    })
    assert.equal(outcome, 'written')
    expected.holder = null
    this.#current.delete(worker)
  }

  async crash(worker: number): Promise<void> {
    const { control } = this.#store.databases
    const dead = this.#workers[worker]!
    await declareDead(
      control,
      (await seeWorkers(control)).filter(({ id }) => id === dead),
    )
    await orphanJobs(control)
    const expected = this.#heldBy(worker)
    if (expected) expected.holder = null
    this.#current.delete(worker)
    this.#workers[worker] = await this.#store.newWorker()
  }

  async cancel(place: number): Promise<void> {
    const expected = this.#jobs[place % Math.max(1, this.#jobs.length)]
    if (!expected) return
    const stopped =
      expected.isCommitted && runningStep(expected.job)
        ? accepted(machine.stepSucceeded(expected.job, at))
        : expected.job
    const transition = machine.cancel(stopped, at)
    const answer = await attempt(cancelJob(this.#store.databases, this.#store.account, expected.job.id))
    assert.equal(answer, transition.ok ? 'ok' : 'cancel-refused')
    this.#settle(expected, transition.ok ? transition.job : stopped)
  }

  async update(place: number, definition: JobDefinition): Promise<void> {
    const expected = this.#jobs[place % Math.max(1, this.#jobs.length)]
    if (!expected) return
    const transition = machine.replaceQuery(expected.job, definition, at)
    const answer = await attempt(
      updateJob(this.#store.databases, this.#store.account, expected.job.id, definition),
    )
    assert.equal(answer, transition.ok ? 'ok' : 'job-not-pending')
    if (transition.ok) expected.job = transition.job
  }

  /** A worker that lost its job writes its old state. */
  async writeLate(place: number): Promise<void> {
    const stale = this.#handles.filter((handle) => ![...this.#current.values()].includes(handle))
    const handle = stale[place % Math.max(1, stale.length)]
    if (!handle) return
    const save = stay(handle, handle.job)
    const done = endOf(handle, { ...handle.job, status: 'done' })
    for (const late of [save, done, { ...save, isReleased: true }]) {
      const { outcome, next } = await this.#put(late, this.#workers[0])
      assert.deepEqual({ outcome, next }, { outcome: 'not ours', next: undefined })
    }
  }

  /** Checks that every job reads as the machine says and the counters of the queue agree. */
  async check(): Promise<void> {
    const { databases, account } = this.#store
    await this.#checkMessages()
    for (const { job } of this.#jobs) {
      const found = await findJob(databases.control, account, job.id)
      assert.deepEqual(withoutTimes(found!), withoutTimes(job))
    }
    const { rows } = await databases.control.query(
      'select pending, running, delayed from cartage.job_queues where user_id = $1',
      [account.userId],
    )
    const count = (isMeant: (job: Job) => boolean) => this.#jobs.filter(({ job }) => isMeant(job)).length
    if (!rows[0]) return
    assert.deepEqual(rows[0], {
      pending: count(({ status, delayedUntil }) => status === 'pending' && !delayedUntil),
      running: count(({ status }) => status === 'running'),
      delayed: count(({ delayedUntil }) => delayedUntil !== undefined),
    })
  }

  /** Checks that the end of a job has one message, written with it. */
  async #checkMessages(): Promise<void> {
    const { databases, account } = this.#store
    const { rows } = await databases.control.query<{ subject: string; type: string }>(
      'select subject, type from cartage.webhook_deliveries where user_id = $1 order by subject',
      [account.userId],
    )
    const ended = this.#jobs.filter(({ job }) => isFinal(job.status))
    const messages = ended.map(({ job }) => ({ subject: job.id, type: `job.${job.status}` }))
    assert.deepEqual(
      rows,
      messages.toSorted((one, other) => (one.subject < other.subject ? -1 : 1)),
    )
  }

  #heldBy(worker: number): Expected | undefined {
    return this.#current.has(worker) ? this.#jobs.find(({ holder }) => holder === worker) : undefined
  }

  async #write(expected: Expected, job: Job, isCommitted: boolean | null = null): Promise<void> {
    const worker = expected.holder!
    const handle = this.#current.get(worker)!
    if (isFinal(job.status)) {
      const end = endOf(handle, job)
      const { outcome, next } = await this.#put(end, this.#workers[worker])
      assert.equal(outcome, 'written')
      assert.equal((await this.#put(end)).outcome, 'written')
      this.#settle(expected, job)
      this.#succeed(worker, next)
      return
    }
    const flight = isCommitted === null ? null : await this.#store.newFlight(isCommitted)
    const write = { ...stay(handle, job), flight, isFlushed: false }
    assert.equal((await this.#put(write)).outcome, 'written')
    // Its answer was lost, so the write is repeated.
    assert.equal((await this.#put(write)).outcome, 'written')
    this.#current.set(worker, { ...handle, revision: handle.revision + 1 })
    this.#handles.push(handle)
    expected.job = job
    expected.isCommitted = isCommitted
  }

  /** A worker that ends a job, or brings the first one, gets the oldest one waiting. */
  #succeed(worker: number, next: ClaimedJob | undefined, isGiven = true): void {
    const expected = isGiven ? this.#nextPending() : undefined
    assert.equal(next?.job.id, expected?.job.id)
    if (!expected) return
    expected.job = accepted(machine.claim(expected.job, at))
    expected.holder = worker
    this.#handles.push(next!)
    this.#current.set(worker, next!)
  }

  async #put(write: JobWrite, workerId?: number): Promise<WriteResult & { next: ClaimedJob | undefined }> {
    const request = workerId === undefined ? undefined : claimRequestOf(workerId)
    const { written, claimed } = await writeJobs(this.#store.databases.control, [write], { request })
    return { ...written[0]!, next: claimed[0] }
  }

  #settle(expected: Expected, job: Job): void {
    expected.job = job
    if (!isFinal(job.status)) return
    if (expected.holder !== null) this.#current.delete(expected.holder)
    expected.holder = null
    expected.isCommitted = null
  }
}

/** Asks for one job per ended job. */
function claimRequestOf(workerId: number): ClaimRequest {
  return {
    workerId,
    wanted: 0,
    wantedOrphans: 0,
    wantedImports: 0,
    perUser: 1,
    importsPerUser: 1,
    perHost: 9,
    openHosts: [1],
  }
}

/** The write of a worker that keeps its job. */
function stay(from: ClaimedJob, job: Job): JobWrite {
  const none = { flight: null, losses: 0, restarts: 0, epoch: null }
  return { from, writeId: randomUUID(), job, ...none, isReleased: false, isFlushed: true }
}

function accepted(transition: machine.Transition): Job {
  assert.ok(transition.ok)
  return transition.job
}

async function attempt(act: Promise<unknown>): Promise<string> {
  return act.then(
    () => 'ok',
    (error: unknown) => {
      if (error instanceof AppError) return error.code
      throw error
    },
  )
}

function withoutTimes(job: Job) {
  const hidden = (name: string, value: unknown) => (/_at$/.test(name) ? undefined : value)
  return JSON.parse(JSON.stringify(jobDocument(job), hidden))
}
