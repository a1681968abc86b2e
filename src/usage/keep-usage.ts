import { usageDays } from '../contract/usage-names.ts'
import type { Log } from '../log/log.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import type { Databases } from '../postgres/databases.ts'
import { isOutOfReach } from '../postgres/sqlstate.ts'
import { cleanInSteps } from '../waiting/clean-in-steps.ts'
import { usageCounts } from './usage-counts.ts'
import { cleanUsage, takeUnmeasured, type Unmeasured, writeDiskBytes } from './usage-store.ts'
import { userDataSize } from './user-data-size.ts'

/** Stores what this process has counted, measures the data of accounts, and deletes what is past its time. */
export class KeepUsage {
  readonly #databases: Databases
  readonly #log: Log
  #timers: readonly NodeJS.Timeout[] = []
  #isStopped = false
  #isMeasuring = false

  constructor(databases: Databases, log: Log) {
    this.#databases = databases
    this.#log = log
  }

  start(): void {
    this.#timers = [
      setInterval(() => void this.flush(), flushMs).unref(),
      setInterval(() => void this.measure(), flushMs).unref(),
      setInterval(() => void this.#clean(), cleanMs).unref(),
    ]
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const timer of this.#timers) clearInterval(timer)
    await this.flush()
  }

  async flush(): Promise<void> {
    await usageCounts(this.#databases)
      .flush()
      .catch((error: unknown) => this.#log.warn({ err: error }, 'cannot store what accounts use'))
  }

  /** Each account at most once an hour. One that takes too long is left out, and all of a host that does not answer. */
  async measure(): Promise<void> {
    if (this.#isMeasuring) return
    this.#isMeasuring = true
    const { control } = this.#databases
    const silent = new Set<number>()
    try {
      for (const account of await takeUnmeasured(control, mostMeasured)) {
        if (this.#isStopped) break
        if (silent.has(account.hostId)) continue
        if (!(await this.#measureOne(account))) silent.add(account.hostId)
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot measure the data of accounts')
    } finally {
      this.#isMeasuring = false
    }
  }

  /** False: its host does not answer. */
  async #measureOne(account: Unmeasured): Promise<boolean> {
    const { userId } = account
    let bytes: number
    try {
      bytes = await answerWithin(answerMs, userDataSize(this.#databases, account, measureMs))
    } catch (error) {
      this.#log.warn({ err: error, userId }, 'cannot measure the data of an account')
      return !isOutOfReach(error)
    }
    await writeDiskBytes(this.#databases.control, userId, bytes)
    return true
  }

  async #clean(): Promise<void> {
    const cleanSome = () => cleanUsage(this.#databases.control, usageDays)
    await cleanInSteps(cleanSome, () => this.#isStopped).catch((error: unknown) =>
      this.#log.warn({ err: error }, 'cannot remove old figures of use'),
    )
  }
}

const flushMs = 60_000
const cleanMs = 3_600_000
/** In a minute, by one process. */
const mostMeasured = 20
/** PostgreSQL ends a measurement after this time; a host that has not answered some time later is silent. */
const measureMs = 5_000
const answerMs = 10_000
