import { forgetArrivals } from '../accounts/arrived-request-store.ts'
import { cleanMarks } from '../jobs/mark-store.ts'
import { cleanRunTimes } from '../jobs/progress/run-time-store.ts'
import { cleanJobs } from '../jobs/queue-store.ts'
import { firstHostId } from '../postgres/hosts.ts'
import { cleanRuns } from '../schedules/schedule-store.ts'
import { cleanInSteps } from '../waiting/clean-in-steps.ts'
import type { HostHealth } from './host-health.ts'
import type { WorkerOptions } from './work-context.ts'

/** Removes jobs, runs of schedules, flight marks and idempotency keys past their retention. */
export class JobCleaner {
  readonly #options: WorkerOptions
  readonly #health: HostHealth
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #isCleaning = false

  constructor(options: WorkerOptions, health: HostHealth) {
    this.#options = options
    this.#health = health
  }

  start(): void {
    this.#timer = setInterval(() => this.#clean(), cleanMs)
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
  }

  async #clean(): Promise<void> {
    if (this.#isCleaning) return
    this.#isCleaning = true
    const { config, databases, log } = this.#options
    try {
      await this.#untilClean(() => cleanJobs(databases.control, config.jobRetentionDays))
      await this.#untilClean(() => cleanRuns(databases.control, config.jobRetentionDays))
      await this.#untilClean(() => cleanRunTimes(databases.control, config.jobRetentionDays))
      await this.#untilClean(() => forgetArrivals(databases.control, config.copyTimeoutMs, sentAgainMs))
      await this.#cleanMarks()
    } catch (error) {
      log.warn({ err: error }, 'cannot remove old jobs')
    } finally {
      this.#isCleaning = false
    }
  }

  #untilClean(cleanSome: () => Promise<boolean>): Promise<void> {
    return cleanInSteps(cleanSome, () => this.#isStopped)
  }

  /** Marks are kept longer than their jobs: a restored control database may still list a job that had ended. */
  async #cleanMarks(): Promise<void> {
    const { config, databases } = this.#options
    const hosts = this.#health.openHosts().filter((id) => id !== firstHostId)
    for (const id of hosts) await cleanMarks(databases, id, config.jobRetentionDays + marksStayDays)
  }
}

const cleanMs = 60_000
/** A client retries soon after its connection broke, which may be at the end of the longest copy. */
const sentAgainMs = 3_600_000
const marksStayDays = 7
