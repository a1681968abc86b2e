import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import { cleanJobs } from '../jobs/clean-jobs.ts'
import { cleanMarks } from '../jobs/flight-marks.ts'
import { claimsOf, orphanMessage, releaseClaims } from '../jobs/queue-store.ts'
import type { ClaimRequest } from '../jobs/write-jobs.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { type Databases, jobConnections } from '../postgres/databases.ts'
import { firstHostId } from '../postgres/hosts.ts'
import { loadGrammar } from '../sql/grammar.ts'
import { BegunTransactions } from './begun-transactions.ts'
import { DeadWorkers } from './dead-workers.ts'
import { executeJob, type Parting } from './execute-job.ts'
import { HostHealth } from './host-health.ts'
import { Presence } from './presence.ts'
import { type GivenJob, QueueExchange, type QueueExchangeOptions } from './queue-exchange.ts'
import { ServerEpoch } from './server-epoch.ts'

export type WorkerOptions = Readonly<{
  config: Config
  log: Log
  databases: Databases
  metrics?: Pick<Metrics, 'jobFinished' | 'jobTakenOver'> | undefined
}>

/** Starts to take and run jobs, until stopped. */
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

/** Claims jobs and runs them, some at a time. */
export class Worker {
  readonly #options: WorkerOptions
  readonly #presence: Presence
  readonly #health: HostHealth
  readonly #epoch: ServerEpoch
  readonly #begunTransactions: BegunTransactions
  readonly #writer: QueueExchange
  readonly #running = new Map<ClaimedJob, Promise<void>>()
  #deadWorkers: DeadWorkers | undefined
  #timers: NodeJS.Timeout[] = []
  /** What was taken under one id is given up together. */
  #life = newLife()
  #isStopping = false
  #isAsking = false
  #isWoken = false
  #seesOrphans = false
  #pauseMs = shortestPauseMs

  constructor(options: WorkerOptions) {
    const { config, databases, log } = options
    this.#options = options
    this.#health = new HostHealth(databases, log, () => this.#wake(orphanMessage))
    this.#epoch = new ServerEpoch(databases.control)
    this.#begunTransactions = new BegunTransactions(jobConnections(config) - config.jobsPerWorker)
    this.#writer = new QueueExchange({
      control: databases.control,
      begunTransactions: this.#begunTransactions,
      request: () => this.#claimRequest(),
      onGiven: (job) => this.#run(job),
      onLeft: ({ wantedOrphans }) => this.#wakeSoon(wantedOrphans > 0 ? orphanMessage : ''),
      onFailure: () => this.#wake(orphanMessage),
    })
    this.#presence = new Presence(databases.control, log, {
      onNews: (message) => this.#wake(message ?? orphanMessage),
      onDeath: () => this.#startNewLife(),
    })
  }

  async start(): Promise<void> {
    const { databases, log } = this.#options
    await this.#epoch.renew()
    await this.#presence.start()
    this.#deadWorkers = new DeadWorkers(databases.control, log, () => this.#presence.id)
    this.#timers = [setInterval(() => this.#poll(), pollMs), setInterval(() => this.#clean(), cleanMs)]
  }

  /** Takes no more jobs, gives the running ones time, then cuts them short and gives them back. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    for (const timer of this.#timers) clearInterval(timer)
    await this.#idle(graceMs)
    this.#life.interrupt.abort()
    await this.#idle(releaseMs)
    this.#life.abandon.abort()
    this.#deadWorkers?.stop()
    this.#health.stop()
    await this.#presence.stop()
  }

  get hasRoom(): boolean {
    return this.#mayAsk && this.#running.size < this.#options.config.jobsPerWorker
  }

  /** There is a job to be had. */
  wake(): void {
    this.#wake('')
  }

  #wake(message: string): void {
    this.#isWoken = true
    if (message === orphanMessage) this.#seesOrphans = true
    if (!this.#isAsking) void this.#ask()
  }

  async #poll(): Promise<void> {
    this.#wake(orphanMessage)
    if (this.#mayAsk) await this.#releaseUnknown(this.#presence.id!).catch(() => undefined)
  }

  /** An answer may have been lost, or come too late, and with it the news that a job is ours: that is released. */
  async #releaseUnknown(workerId: number): Promise<void> {
    const { databases, log } = this.#options
    const claims = await claimsOf(databases.control, workerId)
    const known = new Set([...this.#running.keys()].map(({ claim }) => claim))
    const unknown = claims.filter((claim) => !known.has(claim))
    if (unknown.length === 0) return
    log.warn({ jobs: unknown.length }, 'this worker had jobs that it did not know of')
    await releaseClaims(databases.control, unknown)
    this.#wake(orphanMessage)
  }

  /** Somebody else had a hand on what could be had, mostly for less than a millisecond. */
  #wakeSoon(message: string): void {
    setTimeout(() => this.#wake(message), this.#pauseMs)
    this.#pauseMs = Math.min(2 * this.#pauseMs, longestPauseMs)
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    try {
      while (this.#isWoken && this.#mayAsk) await this.#writer.ask()
    } catch (error) {
      // The poll comes back to it.
      this.#options.log.warn({ err: error }, 'cannot ask for jobs')
    } finally {
      this.#isAsking = false
    }
  }

  get #mayAsk(): boolean {
    return !this.#isStopping && this.#presence.isConnected && this.#presence.id !== undefined
  }

  /** A job for each that ends, and, once woken, as many as there is room for. */
  #claimRequest(): ReturnType<QueueExchangeOptions['request']> {
    const { id: workerId } = this.#presence
    if (this.#isStopping || workerId === undefined) return undefined
    const { jobsPerUser: perUser, jobsPerHost: perHost } = this.#options.config
    return { workerId, perUser, perHost, openHosts: this.#health.openHosts(), ...this.#wanted() }
  }

  #wanted(): Pick<ClaimRequest, 'wanted' | 'wantedOrphans'> {
    if (!this.#mayAsk) return { wanted: 0, wantedOrphans: 0 }
    const { jobsPerWorker } = this.#options.config
    const room = (most: number) => Math.max(0, most - this.#running.size)
    const wanted = this.#isWoken ? room(jobsPerWorker) : 0
    // The jobs of a dead worker are gone on with even when this one has its hands full.
    const wantedOrphans = this.#seesOrphans ? room(2 * jobsPerWorker) : 0
    this.#isWoken = false
    if (wantedOrphans > 0) this.#seesOrphans = false
    return { wanted, wantedOrphans }
  }

  #run(given: GivenJob): void {
    this.#pauseMs = shortestPauseMs
    const running = this.#execute(given).then((parting) => {
      this.#running.delete(given.claimed)
      // Who ends a job hears if there is another one.
      if (parting !== 'replaced' && parting !== 'ended') this.#wake('')
    })
    this.#running.set(given.claimed, running)
  }

  async #execute(given: GivenJob): Promise<Parting | 'dropped'> {
    const { databases, log, metrics } = this.#options
    const { claimed, begun } = given
    const isTakenOver = claimed.flight !== null && !begun
    if (isTakenOver) metrics?.jobTakenOver()
    const { id: jobId, user: username, items } = claimed.job
    log.info({ jobId, username, items: items.length }, isTakenOver ? 'job taken over' : 'job started')
    const { interrupt, abandon } = this.#life
    const context = {
      ...this.#options,
      health: this.#health,
      epoch: this.#epoch,
      writer: this.#writer,
      begunTransactions: this.#begunTransactions,
      interrupted: interrupt.signal,
      abandoned: abandon.signal,
    }
    try {
      const parting = await executeJob(context, given)
      log.debug({ jobId: claimed.job.id, parting }, 'job')
      return parting
    } catch (error) {
      if (abandon.signal.aborted) return 'dropped'
      log.error({ err: error, jobId: claimed.job.id }, 'a job was dropped')
      await releaseClaims(databases.control, [claimed.claim]).catch((again: unknown) =>
        log.error({ err: again, jobId: claimed.job.id }, 'a job could not be dropped'),
      )
      return 'dropped'
    }
  }

  #startNewLife(): void {
    this.#options.log.warn('this worker was declared dead: its jobs are no longer its own')
    this.#life.interrupt.abort()
    this.#life.abandon.abort()
    this.#life = newLife()
  }

  /** Waits until nothing runs any more, but not for ever. */
  async #idle(limitMs: number): Promise<void> {
    const late = new AbortController()
    const limit = sleep(limitMs, 'late', { signal: late.signal }).catch(() => 'late')
    while (this.#running.size > 0) {
      if ((await Promise.race([limit, ...this.#running.values()])) === 'late') break
    }
    late.abort()
  }

  async #clean(): Promise<void> {
    const { config, databases, log } = this.#options
    try {
      while (!this.#isStopping && (await cleanJobs(databases.control, config.jobRetentionDays))) {
        await sleep(cleanPauseMs, undefined, { ref: false })
      }
      await this.#cleanMarks()
    } catch (error) {
      log.warn({ err: error }, 'cannot remove old jobs')
    }
  }

  /** They outlive their jobs: a control database that was set back may know a job still that had ended. */
  async #cleanMarks(): Promise<void> {
    const { config, databases } = this.#options
    const hosts = this.#health.openHosts().filter((id) => id !== firstHostId)
    for (const id of hosts) await cleanMarks(databases, id, config.jobRetentionDays + marksStayDays)
  }
}

type Life = Readonly<{ interrupt: AbortController; abandon: AbortController }>

function newLife(): Life {
  const life = { interrupt: new AbortController(), abandon: new AbortController() }
  // As many listen as there are jobs.
  setMaxListeners(0, life.interrupt.signal, life.abandon.signal)
  return life
}

const pollMs = 1_000
const shortestPauseMs = 1
const longestPauseMs = 16
const cleanMs = 60_000
const cleanPauseMs = 200
const marksStayDays = 7
const releaseMs = 5_000
