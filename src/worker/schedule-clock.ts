import { runDueSchedule } from '../schedules/run-schedules.ts'
import { recordOutcomes } from '../schedules/schedule-store.ts'
import type { WorkerOptions } from './work-context.ts'

/**
 * Looks twice a second for schedules that are due. Every worker does: a schedule that another one has locked is passed
 * over. If the control database does not answer, the next look finds what was due meanwhile.
 */
export class ScheduleClock {
  readonly #options: WorkerOptions
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #isStopped = false
  #which: 'oldest' | 'any' = 'oldest'

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), lookMs)
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const { databases, config, log } = this.#options
    try {
      await this.#record()
      while (!this.#isStopped && (await runDueSchedule(databases, config, this.#which)));
      this.#which = 'oldest'
    } catch (error) {
      // A schedule that cannot run must not delay the others.
      this.#which = 'any'
      log.warn({ err: error }, 'cannot run the schedules that are due')
    } finally {
      this.#isLooking = false
    }
  }

  /** If this fails, what is due is run all the same. */
  async #record(): Promise<void> {
    const { databases, log } = this.#options
    try {
      for (const { name } of await recordOutcomes(databases.control, mostFailures))
        log.warn({ schedule: name }, 'a schedule was disabled: it failed too often')
    } catch (error) {
      log.warn({ err: error }, 'cannot record how the jobs of schedules have ended')
    }
  }
}

const lookMs = 500
const mostFailures = 10
