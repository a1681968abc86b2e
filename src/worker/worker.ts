import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { type ClaimedJob, claimJobs } from '../jobs/claim-store.ts'
import { cleanJobs } from '../jobs/clean-jobs.ts'
import { disownJobs, dropJob, orphanMessage } from '../jobs/queue-store.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { type Databases, jobConnections } from '../postgres/databases.ts'
import { loadGrammar } from '../sql/grammar.ts'
import { executeJob, type Parting } from './execute-job.ts'
import { HostHealth } from './host-health.ts'
import { type GivenJob, JobWriter, type JobWriterOptions } from './job-writer.ts'
import { Presence } from './presence.ts'
import { Recovery } from './recover-jobs.ts'
import { ServerLife } from './server-life.ts'
import { Standby } from './standby.ts'

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
  await worker.start()
  return worker
}

/** Claims jobs and runs them, some at a time. */
export class Worker {
  readonly #options: WorkerOptions
  readonly #presence: Presence
  readonly #health: HostHealth
  readonly #serverLife: ServerLife
  readonly #standby: Standby
  readonly #writer: JobWriter
  readonly #running = new Map<ClaimedJob, Promise<void>>()
  #recovery: Recovery | undefined
  #timers: NodeJS.Timeout[] = []
  /** What was taken under one id is given up together. */
  #life = newLife()
  #isStopping = false
  #isClaiming = false
  #isWoken = false
  #seesOrphans = false
  #isInDoubt = false

  constructor(options: WorkerOptions) {
    const { config, databases, log } = options
    this.#options = options
    this.#health = new HostHealth(databases, log, () => this.#wake(orphanMessage))
    this.#serverLife = new ServerLife(databases.control)
    this.#standby = new Standby(jobConnections(config) - config.jobsPerWorker)
    this.#writer = new JobWriter({
      control: databases.control,
      standby: this.#standby,
      terms: () => this.#terms(),
      onGiven: (job) => this.#run(job),
      onDoubt: () => this.#doubt(),
    })
    this.#presence = new Presence(databases.control, log, {
      onNews: (message) => this.#wake(message ?? orphanMessage),
      onDeath: () => this.#startNewLife(),
    })
  }

  async start(): Promise<void> {
    const { databases, log } = this.#options
    await this.#serverLife.renew()
    await this.#presence.start()
    this.#recovery = new Recovery(databases.control, log, () => this.#presence.id)
    this.#timers = [
      setInterval(() => this.#wake(orphanMessage), pollMs),
      setInterval(() => this.#clean(), cleanMs),
    ]
  }

  /** Takes no more jobs, gives the running ones time, then cuts them short and gives them back. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    for (const timer of this.#timers) clearInterval(timer)
    await this.#idle(graceMs)
    this.#life.interrupt.abort()
    await this.#idle(giveBackMs)
    this.#life.abandon.abort()
    this.#recovery?.stop()
    this.#health.stop()
    await this.#presence.stop()
  }

  #wake(message: string): void {
    this.#isWoken = true
    if (message === orphanMessage) this.#seesOrphans = true
    if (!this.#isClaiming) void this.#claim()
  }

  async #claim(): Promise<void> {
    this.#isClaiming = true
    try {
      while (this.#isWoken && !this.#isStopping && this.#presence.isConnected) {
        this.#isWoken = false
        if (this.#presence.id === undefined) continue
        if (this.#isInDoubt) await this.#disown(this.#presence.id)
        await this.#claimOnce(this.#presence.id)
      }
    } catch (error) {
      // The poll comes back to it. Until then nobody knows what we were given.
      this.#isInDoubt = true
      this.#options.log.warn({ err: error }, 'cannot claim jobs')
    } finally {
      this.#isClaiming = false
    }
  }

  async #claimOnce(workerId: number): Promise<void> {
    const { config, databases } = this.#options
    const free = Math.max(0, config.jobsPerWorker - this.#running.size)
    // The jobs of a dead worker are gone on with even when this one has its hands full.
    const wantedOrphans = this.#seesOrphans ? Math.max(0, 2 * config.jobsPerWorker - this.#running.size) : 0
    if (free + wantedOrphans === 0) return
    this.#seesOrphans = false
    const claim = await claimJobs(databases.control, workerId, {
      wanted: free,
      wantedOrphans,
      perUser: config.jobsPerUser,
      perHost: config.jobsPerHost,
      openHosts: this.#health.openHosts(),
    })
    for (const claimed of claim.jobs) {
      this.#run({ claimed, begun: claimed.flight ? undefined : this.#standby.take(claimed.userId) })
    }
    if (claim.isBusy) setTimeout(() => this.#wake(''), busyMs)
  }

  /** An answer was lost, and with it perhaps the news that a job is ours. */
  #doubt(): void {
    this.#isInDoubt = true
    this.#wake(orphanMessage)
  }

  /** What we do not know of is free for everybody again. Should we hear of it after all, the fence keeps us from it. */
  async #disown(workerId: number): Promise<void> {
    this.#isInDoubt = false
    this.#seesOrphans = true
    await disownJobs(this.#options.databases.control, workerId, [...this.#running.keys()])
  }

  /** A job that ends makes room for another one, as long as we want any. */
  #terms(): ReturnType<JobWriterOptions['terms']> {
    const { id: workerId } = this.#presence
    if (this.#isStopping || workerId === undefined) return undefined
    return { workerId, perUser: this.#options.config.jobsPerUser, openHosts: this.#health.openHosts() }
  }

  #run(given: GivenJob): void {
    const running = this.#execute(given).then((parting) => {
      this.#running.delete(given.claimed)
      if (parting !== 'replaced') this.#wake('')
    })
    this.#running.set(given.claimed, running)
  }

  async #execute(given: GivenJob): Promise<Parting | 'dropped'> {
    const { databases, log, metrics } = this.#options
    const { claimed, begun } = given
    if (claimed.flight && !begun) metrics?.jobTakenOver()
    const { interrupt, abandon } = this.#life
    const context = {
      ...this.#options,
      health: this.#health,
      life: this.#serverLife,
      writer: this.#writer,
      standby: this.#standby,
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
      await dropJob(databases.control, claimed).catch((again: unknown) =>
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
    } catch (error) {
      log.warn({ err: error }, 'cannot remove old jobs')
    }
  }
}

type Life = Readonly<{ interrupt: AbortController; abandon: AbortController }>

function newLife(): Life {
  return { interrupt: new AbortController(), abandon: new AbortController() }
}

const pollMs = 1_000
const busyMs = 5
const cleanMs = 60_000
const cleanPauseMs = 200
const giveBackMs = 5_000
