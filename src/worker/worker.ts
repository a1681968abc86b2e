import { setMaxListeners } from 'node:events'
import { isFinal } from '../contract/job-status.ts'
import type { ClaimedJob, ClaimRequest, Claims } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'
import type { LocalWorker } from '../jobs/job-queue.ts'
import {
  capLastServed,
  claimsOf,
  heldMessage,
  heldUsers,
  mostDueAtOnce,
  orphanMessage,
  queueDueJobs,
  releaseClaims,
} from '../jobs/queue-store.ts'
import { type JobWrite, type WriteResult, writeJobs } from '../jobs/write-store.ts'
import { GroupCommit, isInDoubt } from '../postgres/control/group-commit.ts'
import { ParameterTypes } from '../query/params/parameter-types.ts'
import { loadGrammar } from '../sql/grammar.ts'
import type { Repeated } from '../waiting/repeated.ts'
import { ClaimDemand, type Demand, noDemand } from './claim-demand.ts'
import { DeadWorkers } from './dead-workers.ts'
import { executeJob } from './execute-job.ts'
import { HostHealth } from './host-health.ts'
import { jobCleaner } from './job-cleaner.ts'
import { Presence } from './presence.ts'
import { RunTimes } from './run-times.ts'
import { RunningJobs } from './running-jobs.ts'
import { ScheduleClock } from './schedule-clock.ts'
import { ServerEpoch } from './server-epoch.ts'
import type { WorkerOptions } from './work-context.ts'

/** Starts to claim and run jobs, until stopped. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  await loadGrammar()
  const worker = new Worker(options)
  try {
    await worker.start()
    return worker
  } catch (error) {
    await worker.stop(0)
    throw error
  }
}

/**
 * Claims jobs and runs several at a time, in one loop: the writes of running jobs and the request for more go to the
 * queue in one exchange; the returned jobs are run, and produce the next writes.
 */
export class Worker implements LocalWorker {
  readonly #options: WorkerOptions
  readonly #health: HostHealth
  readonly #epoch: ServerEpoch
  readonly #presence: Presence
  readonly #deadWorkers: DeadWorkers
  readonly #cleaner: Repeated
  readonly #schedules: ScheduleClock
  readonly #running = new RunningJobs()
  readonly #parameterTypes = new ParameterTypes()
  readonly #runTimes: RunTimes
  readonly #demand = new ClaimDemand()
  readonly #exchanges = new GroupCommit<JobWrite, WriteResult>((writes, isPatient) =>
    this.#write(writes, isPatient),
  )
  /** All jobs claimed under one worker id are given up together. */
  #life = newLife()
  #polling: NodeJS.Timeout | undefined
  #isStopping = false
  #isAsking = false
  /** Exchanges that ask for jobs, and how many they ask for. */
  readonly #underWay = new Set<Promise<unknown>>()
  #asked = 0
  #isLookingAfter = false
  #backoffMs = shortestBackoffMs

  constructor(options: WorkerOptions) {
    const { databases, log } = options
    this.#options = options
    this.#health = new HostHealth(databases, log, () => this.#hear(orphanMessage))
    this.#epoch = new ServerEpoch(databases.control)
    this.#presence = new Presence(databases.control, log, {
      onNews: (message) => this.#hearNews(message ?? orphanMessage),
      onDeath: () => this.#startNewLife(),
    })
    this.#deadWorkers = new DeadWorkers(databases.control, log, this.#presence)
    this.#runTimes = new RunTimes(databases.control)
    this.#cleaner = jobCleaner(options, this.#health)
    this.#schedules = new ScheduleClock(options)
  }

  async start(): Promise<void> {
    await this.#epoch.renew()
    await this.#presence.start()
    this.#deadWorkers.start()
    this.#cleaner.start()
    this.#schedules.start()
    this.#polling = setInterval(() => this.#poll(), pollMs)
  }

  /** Claims no more jobs, gives the running ones time, then cuts them short and releases them. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#polling)
    this.#cleaner.stop()
    this.#schedules.stop()
    await this.#running.ended(graceMs)
    this.#life.interrupt.abort()
    await this.#running.ended(releaseMs)
    await this.#runTimes.flush()
    this.#life.abandon.abort()
    this.#deadWorkers.stop()
    this.#health.stop()
    await this.#presence.stop()
  }

  async claimWith<Answer extends Claims>(
    users: readonly number[],
    send: (request?: ClaimRequest) => Promise<Answer>,
  ): Promise<Answer> {
    const { count, imports } = this.#running
    const room = this.#options.config.jobsPerWorker - (count - imports)
    if (room <= 0 || !this.#mayAsk) return send()
    const wanted = Math.max(0, Math.min(users.length, room - this.#asked))
    const free = this.#demand.reserve(wanted)
    try {
      return await this.#exchange(this.#requestFor({ ...noDemand, wanted }), send)
    } finally {
      free()
      // No worker was notified, and an exchange in flight may have missed the new jobs, or had no room for them.
      if (wanted === 0 || this.#demand.isOpen) this.#hear('')
    }
  }

  endOf(userId: number, jobId: string): Promise<Job | undefined> | undefined {
    return this.#running.endOf(userId, jobId)
  }

  get #mayAsk(): boolean {
    return !this.#isStopping && this.#presence.isConnected && this.#presence.id !== undefined
  }

  #hearNews(message: string): void {
    if (message === heldMessage) void this.#releaseHeld()
    else this.#hear(message)
  }

  #hear(message: string): void {
    this.#demand.hear(message)
    if (!this.#isAsking) void this.#ask()
  }

  /** Asks for jobs as long as there may be some. */
  async #ask(): Promise<void> {
    this.#isAsking = true
    try {
      while (this.#demand.isOpen && this.#mayAsk) await this.#exchanges.flush()
    } catch (error) {
      // The next poll retries.
      this.#options.log.warn({ err: error }, 'cannot ask for jobs')
    } finally {
      this.#isAsking = false
    }
  }

  /** One turn of the loop. */
  async #write(writes: readonly JobWrite[], isPatient: boolean): Promise<readonly WriteResult[]> {
    const request = this.#requestAfter(writes)
    if (writes.length === 0 && !request) return []
    const { control } = this.#options.databases
    const send = () => writeJobs(control, writes, { isPatient, request })
    return (await this.#exchange(request, send, isPatient)).written
  }

  /** Runs the jobs that an exchange returns. */
  async #exchange<Answer extends Claims>(
    request: ClaimRequest | undefined,
    send: (request?: ClaimRequest) => Promise<Answer>,
    isPatient = false,
  ): Promise<Answer> {
    this.#asked += request?.wanted ?? 0
    const running = send(request).then((answer) => {
      for (const job of answer.claimed) this.#run(job)
      return answer
    })
    this.#underWay.add(running)
    try {
      const answer = await running
      if (request && answer.hasMore) this.#askSoon(request)
      return answer
    } catch (error) {
      // A write that was refused even alone would be refused again.
      if (request && !(isPatient && !isInDoubt(error))) this.#hear(orphanMessage)
      throw error
    } finally {
      this.#underWay.delete(running)
      this.#asked -= request?.wanted ?? 0
    }
  }

  /** One job for each that ends, and as many more as there may be and as there is room for. */
  #requestAfter(writes: readonly JobWrite[]): ClaimRequest | undefined {
    if (this.#isStopping) return undefined
    const demand = this.#mayAsk ? this.#demand.take(this.#running, this.#options.config) : noDemand
    const isAnyWanted = demand.wanted + demand.wantedOrphans + demand.wantedImports > 0
    if (!isAnyWanted && !writes.some(({ job }) => isFinal(job.status))) return undefined
    return this.#requestFor(demand)
  }

  #requestFor(demand: Demand): ClaimRequest | undefined {
    const { id: workerId } = this.#presence
    if (workerId === undefined) return undefined
    const { jobsPerUser: perUser, importsPerUser, jobsPerHost: perHost } = this.#options.config
    return { workerId, ...demand, perUser, importsPerUser, perHost, openHosts: this.#health.openHosts() }
  }

  /** The available jobs are locked, mostly for less than a millisecond. */
  #askSoon({ wantedOrphans }: Pick<ClaimRequest, 'wantedOrphans'>): void {
    setTimeout(() => this.#hear(wantedOrphans > 0 ? orphanMessage : ''), this.#backoffMs)
    this.#backoffMs = Math.min(2 * this.#backoffMs, longestBackoffMs)
  }

  #run(claimed: ClaimedJob): void {
    this.#backoffMs = shortestBackoffMs
    const { interrupt, abandon } = this.#life
    const context = {
      ...this.#options,
      health: this.#health,
      parameterTypes: this.#parameterTypes,
      runTimes: this.#runTimes,
      epoch: this.#epoch,
      write: (write: JobWrite) => this.#exchanges.write(write),
      stopping: interrupt.signal,
      abandoned: abandon.signal,
    }
    const run = async (interrupted: AbortSignal) => {
      const exit = await executeJob({ ...context, interrupted }, claimed)
      if (typeof exit === 'object') return exit
      // The exchange that ends a job tells whether there is another one.
      this.#hear('')
      return undefined
    }
    const ended = this.#running.add(claimed, interrupt.signal, run)
    if (claimed.isHeld) this.#running.interrupt([claimed.userId])
    // The exchange that ends an import gives no other one: its slot is not free yet.
    if (claimed.job.isImport) void ended.then(() => this.#hear(''))
  }

  async #poll(): Promise<void> {
    this.#hear(orphanMessage)
    if (!this.#mayAsk || this.#isLookingAfter) return
    this.#isLookingAfter = true
    await this.#releaseHeld()
    await this.#queueDueJobs().catch(() => undefined)
    await this.#releaseUnknown(this.#presence.id!).catch(() => undefined)
    await capLastServed(this.#options.databases.control).catch(() => undefined)
    this.#isLookingAfter = false
  }

  /** The jobs of suspended users wait. If this fails, the next poll does it. */
  async #releaseHeld(): Promise<void> {
    const { users } = this.#running
    if (users.length === 0) return
    const held = await heldUsers(this.#options.databases.control, users).catch(() => [])
    this.#running.interrupt(held)
  }

  async #queueDueJobs(): Promise<void> {
    while (this.#mayAsk && (await queueDueJobs(this.#options.databases.control)) >= mostDueAtOnce);
  }

  /**
   * If the answer to a claim was lost, the database lists a job as ours that we do not know. A slow answer is awaited
   * first; each arrives or fails within seconds.
   */
  async #releaseUnknown(workerId: number): Promise<void> {
    const { databases, log } = this.#options
    const claims = await claimsOf(databases.control, workerId)
    if (claims.every((claim) => this.#running.has(claim))) return
    await Promise.allSettled(this.#underWay)
    const unknown = claims.filter((claim) => !this.#running.has(claim))
    if (unknown.length === 0) return
    log.warn({ jobs: unknown.length }, 'this worker has claims whose answers were lost: releasing them')
    await releaseClaims(databases.control, unknown)
    this.#hear(orphanMessage)
  }

  #startNewLife(): void {
    this.#options.log.warn('this worker was declared dead: other workers take over its jobs')
    this.#life.interrupt.abort()
    this.#life.abandon.abort()
    this.#life = newLife()
  }
}

type Life = Readonly<{ interrupt: AbortController; abandon: AbortController }>

function newLife(): Life {
  const life = { interrupt: new AbortController(), abandon: new AbortController() }
  // One listener per job.
  setMaxListeners(0, life.interrupt.signal, life.abandon.signal)
  return life
}

const pollMs = 1_000
const shortestBackoffMs = 1
const longestBackoffMs = 16
const releaseMs = 5_000
