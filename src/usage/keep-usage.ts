import { usageDays } from '../contract/usage-names.ts'
import type { Log } from '../log/log.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import type { Databases } from '../postgres/databases.ts'
import { isOutOfReach } from '../postgres/sqlstate.ts'
import { cleanInSteps } from '../waiting/clean-in-steps.ts'
import { Repeated } from '../waiting/repeated.ts'
import { usageCounts } from './usage-counts.ts'
import { cleanUsage, takeUnmeasured, type Unmeasured, writeDiskBytes } from './usage-store.ts'
import { userDataSize } from './user-data-size.ts'

/** Stores what this process has counted, measures the data of accounts, and deletes what is past its time. */
export class KeepUsage {
  readonly #databases: Databases
  readonly #log: Log
  readonly #storing: Repeated
  readonly #measuring: Repeated
  readonly #cleaning: Repeated

  constructor(databases: Databases, log: Log) {
    this.#databases = databases
    this.#log = log
    const { control } = databases
    const repeated = (work: (isStopped: () => boolean) => Promise<void>, everyMs: number, failure: string) =>
      new Repeated(work, everyMs, (error) => log.warn({ err: error }, failure))
    this.#storing = repeated(() => this.flush(), flushMs, failedToStore)
    this.#measuring = repeated(
      (isStopped) => this.#measureAll(isStopped),
      flushMs,
      'cannot measure the data of accounts',
    )
    this.#cleaning = repeated(
      (isStopped) => cleanInSteps(() => cleanUsage(control, usageDays), isStopped),
      cleanMs,
      'cannot remove old figures of use',
    )
  }

  start(): void {
    for (const each of [this.#storing, this.#measuring, this.#cleaning]) each.start()
  }

  async stop(): Promise<void> {
    for (const each of [this.#storing, this.#measuring, this.#cleaning]) each.stop()
    await this.flush()
  }

  /** Also what was counted while an earlier flush ran. */
  async flush(): Promise<void> {
    await usageCounts(this.#databases)
      .flush()
      .catch((error: unknown) => this.#log.warn({ err: error }, failedToStore))
  }

  /** Each account at most once an hour. One that takes too long is left out, and all of a host that does not answer. */
  measure(): Promise<void> {
    return this.#measuring.now()
  }

  async #measureAll(isStopped: () => boolean): Promise<void> {
    const silent = new Set<number>()
    for (const account of await takeUnmeasured(this.#databases.control, mostMeasured)) {
      if (isStopped()) return
      if (silent.has(account.hostId)) continue
      if (!(await this.#measureOne(account))) silent.add(account.hostId)
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
}

const failedToStore = 'cannot store what accounts use'
const flushMs = 60_000
const cleanMs = 3_600_000
/** In a minute, by one process. */
const mostMeasured = 20
/** PostgreSQL ends a measurement after this time; a host that has not answered some time later is silent. */
const measureMs = 5_000
const answerMs = 10_000
