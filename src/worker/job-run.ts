import { randomUUID } from 'node:crypto'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'
import { accepted, beginStep, stepAborted, type Transition } from '../jobs/job-state.ts'
import { runningStep, type Step } from '../jobs/job-step.ts'
import type { Flight } from '../jobs/job-store.ts'
import type { JobWrite } from '../jobs/write-store.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { Session } from '../postgres/session.ts'
import type { BegunSession } from './begun-transactions.ts'
import type { GivenJob } from './queue-exchange.ts'

/**
 * One job in our hands: as the row was when we wrote it last, and what has become of it since. Only this class changes
 * any of that.
 */
export class JobRun {
  readonly claimed: ClaimedJob
  /**
   * The epoch of the control server in which everything here was learnt. After a crash a commit may be lost, and after a
   * fail-over the job may be another worker's. So every write names it.
   */
  readonly epoch: string
  #revision: number
  #job: Job
  #flight: Flight | null
  #losses: number
  #restarts: number
  #unsent = 0
  #session: Session | null
  /** The transaction that is open on the session, for the next step. It may have been announced already. */
  #ahead: Flight | null
  #isRefusedInside = false

  constructor(epoch: string, { claimed, begun }: GivenJob, session: Session | null = null) {
    this.claimed = claimed
    this.epoch = begun?.epoch ?? epoch
    this.#revision = claimed.revision
    this.#job = claimed.job
    // The same object as `#ahead`, if it is the same flight.
    this.#flight = claimed.flight && (begun?.flight ?? claimed.flight)
    this.#losses = claimed.losses
    this.#restarts = claimed.restarts
    this.#session = begun?.session ?? session
    this.#ahead = begun?.flight ?? null
  }

  get job(): Job {
    return this.#job
  }

  /** The statement that was announced and is not settled. */
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

  /** Its database lies in the cluster of the control database. */
  get isBesideControl(): boolean {
    return this.claimed.target.hostId === firstHostId
  }

  /** A transaction is open on the session for the next step. */
  get isBegunAhead(): boolean {
    return this.#ahead !== null
  }

  /** The next step is in flight already, in the transaction that was begun for it. */
  get isAnnounced(): boolean {
    return this.#flight !== null && this.#flight === this.#ahead
  }

  /** PostgreSQL did not run the step inside of a transaction, so it is to run outside of one. */
  get isRefusedInside(): boolean {
    return this.#isRefusedInside
  }

  /** Nothing of the job has run. */
  get isUntouched(): boolean {
    return !this.#flight && this.#job.items.every(({ status }) => status === 'pending')
  }

  /** Begins the next step on a connection, unless it is the same step that is tried in another way. */
  beginStep(session: Session): void {
    this.#session = session
    if (!runningStep(this.#job)) this.#job = accepted(beginStep(this.#job, new Date()))
  }

  /** The open transaction, for its one use. */
  takeAhead(): Flight | null {
    const ahead = this.#ahead
    this.#ahead = null
    return ahead
  }

  /** The session and its open transaction, for the next job of the user. */
  takeBegun(): BegunSession | undefined {
    const { claimed, epoch } = this
    const session = this.#session
    const flight = this.takeAhead()
    if (!session || !flight) return undefined
    this.#session = null
    return { userId: claimed.userId, session, flight, epoch, begunAt: performance.now() }
  }

  setFlight(flight: Flight): void {
    this.#flight = flight
  }

  setAhead(flight: Flight | null): void {
    this.#ahead = flight
  }

  runOutside(): void {
    this.#isRefusedInside = true
  }

  /** The running step has ended, or all that was left of the job. */
  advance(transition: Transition): void {
    this.#job = accepted(transition)
    this.#flight = null
    this.#losses = 0
    this.#restarts = 0
    this.#unsent = 0
    this.#isRefusedInside = false
  }

  /** The running step did not happen, and its turn comes again. */
  abortStep(): void {
    this.#job = accepted(stepAborted(this.#job, new Date()))
    this.#flight = null
    this.#isRefusedInside = false
  }

  /** Drops the connection, which was lost before anything was sent. Answers how often that was so in a row. */
  async dropUnsent(): Promise<number> {
    this.abortStep()
    await this.dropSession()
    this.#unsent += 1
    return this.#unsent
  }

  /** Gives up the connection between two steps, with the transaction that was begun on it for the next one. */
  async dropSession(): Promise<void> {
    this.#ahead = null
    await this.#session?.destroy()
    this.#session = null
  }

  /** The connection was lost in this step, and the statement itself may have done that. Answers how often. */
  countLoss(): number {
    this.#losses += 1
    return this.#losses
  }

  /** The worker or the whole server stopped in this step. Answers how often. */
  countRestart(): number {
    this.#restarts += 1
    return this.#restarts
  }

  /** The next write, which says all of this. */
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
    }
  }

  noteWritten(): void {
    this.#revision += 1
  }
}
