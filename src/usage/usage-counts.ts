import { randomUUID } from 'node:crypto'
import type { RefusingLimit, UsageKind } from '../contract/usage-names.ts'
import type { Databases } from '../postgres/databases.ts'
import { remembered } from '../remembered.ts'
import { type RefusalRow, type UsageBatch, type UsageRow, writeUsage } from './usage-store.ts'

/** What was used, since the last count. */
export type Use = Partial<Omit<UsageRow, 'userId' | 'kind'>>

/**
 * Counts what the accounts use in this process. Requests only add to memory; once a minute one statement stores it. A
 * batch is the same at every attempt, and the database takes it once, so nothing is lost or doubled but the last minute
 * of a killed process.
 */
export class UsageCounts {
  readonly #databases: Databases
  readonly #process = randomUUID()
  #counts = new Map<string, CountedUsage>()
  #refusals = new Map<string, CountedRefusals>()
  /** Sent, but not confirmed. */
  #unsure: UsageBatch | null = null
  #lastBatch = 0
  #flushing: Promise<void> = Promise.resolve()

  constructor(databases: Databases) {
    this.#databases = databases
  }

  add(userId: number, kind: UsageKind, use: Use): void {
    const key = `${userId} ${kind}`
    let counted = this.#counts.get(key)
    if (!counted) {
      counted = { userId, kind, ...nothing }
      this.#counts.set(key, counted)
    }
    counted.requests += use.requests ?? 0
    counted.jobs += use.jobs ?? 0
    counted.postgresMs += use.postgresMs ?? 0
    counted.rowsOut += use.rowsOut ?? 0
    counted.rowsIn += use.rowsIn ?? 0
    counted.bytesOut += use.bytesOut ?? 0
    counted.bytesIn += use.bytesIn ?? 0
  }

  /** A request that was refused because its account was at this limit; undefined: it was not. */
  addRefusal(userId: number, limit: RefusingLimit | undefined): void {
    if (limit === undefined) return
    const key = `${userId} ${limit}`
    const counted = this.#refusals.get(key) ?? { userId, limit, requests: 0 }
    counted.requests += 1
    this.#refusals.set(key, counted)
  }

  /** Stores what was counted so far. Rejects if the database does not confirm it; it is kept for the next time. */
  flush(): Promise<void> {
    const flushing = this.#flushing.catch(() => undefined).then(() => this.#write())
    this.#flushing = flushing
    return flushing
  }

  async #write(): Promise<void> {
    await this.#send()
    if (this.#counts.size + this.#refusals.size === 0) return
    const rows = [...this.#counts.values()]
    const refusals = [...this.#refusals.values()]
    this.#counts = new Map()
    this.#refusals = new Map()
    this.#lastBatch += 1
    this.#unsure = { process: this.#process, number: this.#lastBatch, rows, refusals }
    await this.#send()
  }

  async #send(): Promise<void> {
    if (!this.#unsure) return
    await writeUsage(this.#databases.control, this.#unsure)
    this.#unsure = null
  }
}

/** The counts of this process. */
export const usageCounts = remembered((databases: Databases) => new UsageCounts(databases))

type CountedRefusals = { -readonly [Name in keyof RefusalRow]: RefusalRow[Name] }
type CountedUsage = { -readonly [Name in keyof UsageRow]: UsageRow[Name] }

const nothing = { requests: 0, jobs: 0, postgresMs: 0, rowsOut: 0, rowsIn: 0, bytesOut: 0, bytesIn: 0 }
