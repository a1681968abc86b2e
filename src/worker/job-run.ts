import { randomUUID } from 'node:crypto'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'
import { accepted, beginStep, stepAborted, type Transition } from '../jobs/job-state.ts'
import { runningStep, type Step } from '../jobs/job-step.ts'
import type { Flight } from '../jobs/job-store.ts'
import type { JobWrite } from '../jobs/write-store.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { Flow, Session } from '../postgres/session.ts'

/** A claimed job in this worker: the row as last written, and what has happened since. Only this class changes it. */
export class JobRun {
  readonly claimed: ClaimedJob
  /**
   * The epoch of the control server in which everything here was learnt. After a crash a commit may be lost, and after
   * a fail-over the job may belong to another worker. So every write names the epoch.
   */
  readonly epoch: string
  #revision: number
  #job: Job
  #flight: Flight | null
  #losses: number
  #restarts: number
  #unsent = 0
  #session: Session | null
  /** The open transaction on the session, for the next step. */
  #ahead: Flight | null = null
  #isRefusedInside = false
  /** A step has ended, and no write has said so yet. */
  #hasNews = false
  /** The last announcement did not wait for the disk: a crash of the server may have lost it. */
  #isAnnouncedUnflushed = false
  #begunAt = 0
  /** The connection of the step, and what had gone through it before: it may have served other jobs. */
  #begunOn: Readonly<{ session: Session; before: Flow }> | null = null

  constructor(epoch: string, claimed: ClaimedJob, session: Session | null = null) {
    this.claimed = claimed
    this.epoch = epoch
    this.#revision = claimed.revision
    this.#job = claimed.job
    this.#flight = claimed.flight
    this.#losses = claimed.losses
    this.#restarts = claimed.restarts
    this.#session = session
  }

  get job(): Job {
    return this.#job
  }

  /** The announced statement that is not settled yet. */
  get flight(): Flight | null {
    return this.#flight
  }

  get session(): Session | null {
    return this.#session
  }

  get revision(): number {
    return this.#revision
  }

  get step(): Step {
    return runningStep(this.#job)!
  }

  /** Its database is in the cluster of the control database. */
  get isBesideControl(): boolean {
    return this.claimed.target.hostId === firstHostId
  }

  /** A transaction for the next step is open on the session. */
  get isBegunAhead(): boolean {
    return this.#ahead !== null
  }

  /** How long the step has run. */
  get runMs(): number {
    return performance.now() - this.#begunAt
  }

  /** PostgreSQL refused to run the step inside a transaction, so it runs outside. */
  get isRefusedInside(): boolean {
    return this.#isRefusedInside
  }

  /** No part of the job has run. */
  get isUntouched(): boolean {
    return !this.#flight && this.#job.items.every(({ status }) => status === 'pending')
  }

  /** Begins the next step on a connection, or retries the running step in another way. */
  beginStep(session: Session): void {
    this.#session = session
    this.#begunOn = { session, before: session.flow }
    this.#begunAt = performance.now()
    if (!runningStep(this.#job)) this.#job = accepted(beginStep(this.#job, new Date()))
  }

  /** Takes what has gone through the connection in this step, to be counted once. Null: the step had none. */
  takeFlow(): Flow | null {
    const begunOn = this.#begunOn
    this.#begunOn = null
    return begunOn ? begunOn.session.flowSince(begunOn.before) : null
  }

  /** Takes the open transaction, for one use. */
  takeAhead(): Flight | null {
    const ahead = this.#ahead
    this.#ahead = null
    return ahead
  }

  /** Notes the statement that is about to be sent. Returns the write that announces it. */
  announce(flight: Flight): JobWrite {
    this.#flight = flight
    this.#isAnnouncedUnflushed = this.#mayAnnounceUnflushed(flight)
    return { ...this.toWrite(), isFlushed: !this.#isAnnouncedUnflushed }
  }

  /**
   * An announcement need not be on disk before its statement is sent: the statement commits later in the same WAL, and its xid
   * tells whether it did. The outcome of a step must be, as clients are told of it. So must a further attempt of a step: the
   * crashes that it may have caused are counted.
   */
  #mayAnnounceUnflushed({ xid }: Flight): boolean {
    const isFirst = this.#losses === 0 && this.#restarts === 0
    return this.isBesideControl && xid !== null && !this.#hasNews && isFirst
  }

  /** After a crash: a row that has lost the announcement does not count the attempt. */
  keepCountOf(lost: JobRun): void {
    if (!this.#flight && lost.#isAnnouncedUnflushed) this.#restarts = Math.max(this.#restarts, 1)
  }

  setAhead(flight: Flight | null): void {
    this.#ahead = flight
  }

  runOutside(): void {
    this.#isRefusedInside = true
  }

  /** The running step has ended, or the whole rest of the job. */
  advance(transition: Transition): void {
    this.#job = accepted(transition)
    this.#hasNews = true
    this.#flight = null
    this.#losses = 0
    this.#restarts = 0
    this.#unsent = 0
    this.#isRefusedInside = false
  }

  /** The running step did not happen; it is the next step again. */
  abortStep(): void {
    this.#job = accepted(stepAborted(this.#job, new Date()))
    this.#flight = null
    this.#isRefusedInside = false
  }

  /** Drops a connection that was lost before anything was sent. Returns how often this happened in a row. */
  async dropUnsent(): Promise<number> {
    this.abortStep()
    await this.dropSession()
    this.#unsent += 1
    return this.#unsent
  }

  /** Drops the connection between two steps, with the transaction begun ahead on it. */
  async dropSession(): Promise<void> {
    this.#ahead = null
    await this.#session?.destroy()
    this.#session = null
  }

  /** The connection was lost in this step, perhaps because of the statement itself. Returns how often. */
  countLoss(): number {
    this.#losses += 1
    return this.#losses
  }

  /** The worker or the whole server stopped in this step. Returns how often. */
  countRestart(): number {
    this.#restarts += 1
    return this.#restarts
  }

  /** The next write, with the current state. */
  toWrite(job = this.#job): JobWrite {
    return {
      from: { ...this.claimed, revision: this.#revision },
      writeId: randomUUID(),
      job,
      flight: this.#flight,
      losses: this.#losses,
      restarts: this.#restarts,
      epoch: this.epoch,
      isReleased: false,
      isFlushed: true,
    }
  }

  noteWritten(): void {
    this.#revision += 1
    this.#hasNews = false
  }
}
