import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimedJob } from '../jobs/claim-store.ts'

/** The jobs that a worker has in its hands. */
export class RunningJobs {
  readonly #jobs = new Map<ClaimedJob, Promise<void>>()

  get count(): number {
    return this.#jobs.size
  }

  has(claim: string): boolean {
    return [...this.#jobs.keys()].some((job) => job.claim === claim)
  }

  /** `run` never rejects. */
  add(job: ClaimedJob, run: Promise<void>): void {
    this.#jobs.set(
      job,
      run.then(() => {
        this.#jobs.delete(job)
      }),
    )
  }

  /** Waits until nothing runs any more, but not for ever. */
  async ended(limitMs: number): Promise<void> {
    const over = new AbortController()
    const late = sleep(limitMs, 'late', { signal: over.signal }).catch(() => 'late')
    while (this.#jobs.size > 0) {
      if ((await Promise.race([late, ...this.#jobs.values()])) === 'late') break
    }
    over.abort()
  }
}
