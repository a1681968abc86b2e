import type { Pool } from 'pg'
import type { Log } from '../log/log.ts'
import { cleanInSteps } from '../waiting/clean-in-steps.ts'
import { Repeated } from '../waiting/repeated.ts'
import { cleanAudit, recordAudit } from './audit-store.ts'

export type Refusal = Readonly<{
  /** The requested account; `/admin` for the admin API, `/me` where the token alone identifies the caller. */
  account: string
  /** Where the request came from. */
  address: string
  reason: string
}>

type CountedRefusal = Refusal & { count: number; readonly since: Date }

/**
 * Buffers refused authentications for the audit record. Equal ones are counted and written as one, and the number of
 * rows per hour is limited, so that a flood cannot fill the disk. Also deletes records past their retention.
 */
export class AuditRefusals {
  readonly #control: Pool
  readonly #log: Log
  readonly #cleaning: Repeated
  readonly #waiting = new Map<string, CountedRefusal>()
  #others: CountedRefusal | undefined
  #budget = { hour: 0, left: 0 }
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(control: Pool, retentionDays: number, log: Log) {
    this.#control = control
    this.#log = log
    this.#cleaning = new Repeated(
      (isStopped) => cleanInSteps(() => cleanAudit(control, retentionDays), isStopped),
      cleanMs,
      (error) => log.warn({ err: error }, 'cannot clean the audit record'),
    )
  }

  start(): void {
    this.#timer = setInterval(() => this.flush(), flushMs).unref()
    this.#cleaning.start()
  }

  async stop(): Promise<void> {
    this.#cleaning.stop()
    clearInterval(this.#timer)
    await this.flush()
  }

  note(refusal: Refusal): void {
    const key = JSON.stringify([refusal.account, refusal.address, refusal.reason])
    const known = this.#waiting.get(key)
    if (known) known.count += 1
    else if (this.#mayStandAlone()) this.#waiting.set(key, { ...refusal, count: 1, since: new Date() })
    else {
      this.#others ??= { account: '', address: 'many', reason: 'various', count: 0, since: new Date() }
      this.#others.count += 1
    }
  }

  /** Writes what was noted so far. */
  flush(): Promise<void> {
    const noted = [...this.#waiting.values(), ...(this.#others ? [this.#others] : [])]
    this.#waiting.clear()
    this.#others = undefined
    this.#flushing = this.#flushing
      .then(() => this.#write(noted))
      .catch((error: unknown) => {
        this.#log.warn({ err: error, lost: noted.length }, 'cannot record refused authentications')
      })
    return this.#flushing
  }

  #mayStandAlone(): boolean {
    const hour = Math.floor(Date.now() / 3_600_000)
    if (this.#budget.hour !== hour) this.#budget = { hour, left: rowsPerHour }
    this.#budget.left -= 1
    return this.#budget.left >= 0
  }

  async #write(noted: readonly CountedRefusal[]): Promise<void> {
    for (const { account, address, reason, count, since } of noted) {
      await recordAudit(this.#control, {
        actor: address,
        action: 'authentication.refused',
        account: account || null,
        details: { reason, count, since },
      })
    }
  }
}

const flushMs = 10_000
const cleanMs = 3_600_000
const rowsPerHour = 200
