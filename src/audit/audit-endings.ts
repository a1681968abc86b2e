import type { Pool } from 'pg'
import type { Log } from '../log/log.ts'
import { masterRoleOf } from '../postgres/tenant-names.ts'
import { type GuardEnding, recordEnding } from './audit-store.ts'

/** Buffers what the guard has ended, for the audit record. Equal endings are counted and written as one. */
export class AuditEndings {
  readonly #control: Pool
  readonly #log: Log
  readonly #waiting = new Map<string, GuardEnding>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(control: Pool, log: Log) {
    this.#control = control
    this.#log = log
  }

  note(host: string, { role, why, table }: Pick<GuardEnding, 'role' | 'why' | 'table'>): void {
    const key = JSON.stringify([host, role, why])
    const count = (this.#waiting.get(key)?.count ?? 0) + 1
    this.#waiting.set(key, {
      masterRole: masterRoleOf(role),
      role,
      host,
      why,
      count,
      ...(table && { table }),
    })
    this.#timer ??= setTimeout(() => this.flush(), flushMs).unref()
  }

  /** Writes what was noted so far. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const noted = [...this.#waiting.values()]
    this.#waiting.clear()
    this.#flushing = this.#flushing
      .then(async () => {
        for (const ending of noted) await recordEnding(this.#control, ending)
      })
      .catch((error: unknown) =>
        this.#log.warn({ err: error, lost: noted.length }, 'cannot record what the guard has ended'),
      )
    return this.#flushing
  }
}

/** At most one row per role and reason in this time. */
const flushMs = 5_000
