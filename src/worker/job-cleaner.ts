import { setTimeout as sleep } from 'node:timers/promises'
import { cleanMarks } from '../jobs/mark-store.ts'
import { cleanJobs } from '../jobs/queue-store.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { HostHealth } from './host-health.ts'
import type { WorkerOptions } from './work-context.ts'

/** Removes jobs, and the marks of their flights, that have been kept for long enough. */
export class JobCleaner {
  readonly #options: WorkerOptions
  readonly #health: HostHealth
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

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
    const { config, databases, log } = this.#options
    try {
      while (!this.#isStopped && (await cleanJobs(databases.control, config.jobRetentionDays))) {
        await sleep(cleanPauseMs, undefined, { ref: false })
      }
      await this.#cleanMarks()
    } catch (error) {
      log.warn({ err: error }, 'cannot remove old jobs')
    }
  }

  /** They outlive their jobs: a control database that was set back may still know a job that had ended. */
  async #cleanMarks(): Promise<void> {
    const { config, databases } = this.#options
    const hosts = this.#health.openHosts().filter((id) => id !== firstHostId)
    for (const id of hosts) await cleanMarks(databases, id, config.jobRetentionDays + marksStayDays)
  }
}

const cleanMs = 60_000
const cleanPauseMs = 200
const marksStayDays = 7
