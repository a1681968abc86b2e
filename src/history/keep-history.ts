import type { Log } from '../log/log.ts'
import type { Databases } from '../postgres/databases.ts'
import { cleanInSteps } from '../waiting/clean-in-steps.ts'
import { cleanHistory } from './history-store.ts'

/** Deletes the statements in the history that are past their time: all if none are kept. */
export class KeepHistory {
  readonly #databases: Databases
  readonly #days: number
  readonly #log: Log
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(databases: Databases, days: number, log: Log) {
    this.#databases = databases
    this.#days = days
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => void this.clean(), cleanMs).unref()
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
  }

  async clean(): Promise<void> {
    const cleanSome = () => cleanHistory(this.#databases.control, this.#days)
    await cleanInSteps(cleanSome, () => this.#isStopped).catch((error: unknown) =>
      this.#log.warn({ err: error }, 'cannot remove old statements from the history'),
    )
  }
}

const cleanMs = 600_000
