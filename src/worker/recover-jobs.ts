import type { Pool } from 'pg'
import { declareDead, orphanJobs, seeWorkers } from '../jobs/worker-store.ts'
import type { Log } from '../log.ts'

/**
 * Looks after the other workers, every worker at all of them. One whose lock is gone is dead, unless it takes the
 * lock again within a moment (a cut connection); one that is silent for long is stopped or cut off. Its jobs are then
 * free to be taken, and the fence keeps it from writing, should it wake up.
 */
export class Recovery {
  readonly #control: Pool
  readonly #log: Log
  readonly #ownId: () => number | undefined
  readonly #timer: NodeJS.Timeout
  /** Since when a worker has been seen without its lock. */
  readonly #missing = new Map<number, number>()
  #watchingSince: number | undefined
  #isLooking = false

  constructor(control: Pool, log: Log, ownId: () => number | undefined) {
    this.#control = control
    this.#log = log
    this.#ownId = ownId
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
      if (dead.length > 0 || orphans > 0) this.#log.warn({ workers: dead, jobs: orphans }, 'workers died')
    } catch (error) {
      // After an outage everybody needs a moment to come back, before absence or silence mean anything.
      this.#watchingSince = undefined
      this.#missing.clear()
      this.#log.debug({ err: error }, 'cannot look after other workers')
    } finally {
      this.#isLooking = false
    }
  }

  async #findDead(): Promise<number[]> {
    const workers = (await seeWorkers(this.#control, silentMs)).filter(({ id }) => id !== this.#ownId())
    const now = Date.now()
    this.#watchingSince ??= now
    const watchedMs = now - this.#watchingSince
    if (watchedMs < settleMs) return []
    for (const { id, isPresent } of workers) {
      if (isPresent) this.#missing.delete(id)
      else if (!this.#missing.has(id)) this.#missing.set(id, now)
    }
    const isGone = (id: number) => now - (this.#missing.get(id) ?? now) >= graceMs
    const isMute = (isSilent: boolean) => isSilent && watchedMs >= heartbeatSettleMs
    const dead = workers.filter(({ id, isSilent }) => isGone(id) || isMute(isSilent)).map(({ id }) => id)
    for (const id of dead) this.#missing.delete(id)
    return dead
  }
}

const lookMs = 300
/** For a worker that reconnects. */
const graceMs = 500
const silentMs = 9_000
/** For everybody to take the lock again, and to be heard again, after an outage. */
const settleMs = 500
const heartbeatSettleMs = 2_500
