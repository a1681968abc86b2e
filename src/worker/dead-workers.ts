import type { Pool } from 'pg'
import { declareDead, orphanJobs, type SeenWorker, seeWorkers } from '../jobs/worker-store.ts'
import type { Log } from '../log/log.ts'

/** What this process has seen of another worker, by its own monotonic clock. */
type WatchedWorker = Readonly<{ heartbeat: string; heardAt: number; missingSince: number | undefined }>

/**
 * Finds dead workers: every worker watches all others. One without its lock is dead, unless it takes the lock again
 * shortly after a lost connection. One without a heartbeat for long is stopped or cut off. Its jobs become orphans,
 * which others take over. If it wakes up, the fence keeps it from writing.
 *
 * A check that fails, is slow or comes late says nothing about the others: this process had an outage. Then it starts
 * watching from scratch, and gives all workers time to reconnect.
 */
export class DeadWorkers {
  readonly #control: Pool
  readonly #log: Log
  readonly #own: Readonly<{ id: number | undefined }>
  #timer: NodeJS.Timeout | undefined
  #watched = new Map<number, WatchedWorker>()
  #lastLook: number | undefined
  /** Before this time, a missing lock is ignored. */
  #settledAt = Number.POSITIVE_INFINITY
  #isLooking = false

  /** `own`: this process's worker. */
  constructor(control: Pool, log: Log, own: Readonly<{ id: number | undefined }>) {
    this.#control = control
    this.#log = log
    this.#own = own
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), lookMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const dead = await this.#findDead()
      if (dead.length > 0) await declareDead(this.#control, dead)
      const orphans = await orphanJobs(this.#control)
      if (dead.length > 0 || orphans > 0) {
        this.#log.warn({ workers: dead.map(({ id }) => id), jobs: orphans }, 'workers died')
      }
    } catch (error) {
      this.#lastLook = Number.NEGATIVE_INFINITY
      this.#log.debug({ err: error }, 'cannot check the other workers')
    } finally {
      this.#isLooking = false
    }
  }

  async #findDead(): Promise<readonly SeenWorker[]> {
    const workers = await seeWorkers(this.#control)
    const now = performance.now()
    const isFirst = this.#lastLook === undefined
    if (isFirst || now - this.#lastLook! > lateMs) {
      this.#watched.clear()
      this.#settledAt = now + (isFirst ? settleMs : outageSettleMs)
    }
    this.#lastLook = now
    this.#watched = new Map(workers.map((worker) => [worker.id, this.#watch(worker, now)]))
    return workers.filter(({ id }) => id !== this.#own.id && this.#isDead(this.#watched.get(id)!, now))
  }

  #watch({ id, isPresent, heartbeat }: SeenWorker, now: number): WatchedWorker {
    const before = this.#watched.get(id)
    return {
      heartbeat,
      heardAt: before?.heartbeat === heartbeat ? before.heardAt : now,
      missingSince: isPresent ? undefined : (before?.missingSince ?? now),
    }
  }

  #isDead({ heardAt, missingSince }: WatchedWorker, now: number): boolean {
    if (now - heardAt >= silentMs) return true
    return missingSince !== undefined && now >= this.#settledAt && now - missingSince >= graceMs
  }
}

const lookMs = 300
/** A longer time between two checks is an outage. */
const lateMs = 2_000
/** For a worker that reconnects. */
const graceMs = 500
const silentMs = 9_000
/** Time for all workers to take their locks again: after the start, and after an outage. */
const settleMs = 500
const outageSettleMs = 4_000
