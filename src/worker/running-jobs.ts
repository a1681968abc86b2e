import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'

/** The jobs that a worker is running. */
export class RunningJobs {
  readonly #jobs = new Map<ClaimedJob, Promise<Job | undefined>>()

  get count(): number {
    return this.#jobs.size
  }

  /** Imports, which are counted apart: they have slots of their own. */
  get imports(): number {
    return [...this.#jobs.keys()].filter(({ job }) => job.isImport).length
  }

  has(claim: string): boolean {
    return [...this.#jobs.keys()].some((job) => job.claim === claim)
  }

  /** `run` resolves to the job if it has ended, and never rejects. Returned: `run`, when its slot is free. */
  add(job: ClaimedJob, run: Promise<Job | undefined>): Promise<Job | undefined> {
    const ended = run.finally(() => this.#jobs.delete(job))
    this.#jobs.set(job, ended)
    return ended
  }

  endOf(userId: number, id: string): Promise<Job | undefined> | undefined {
    for (const [claimed, run] of this.#jobs) {
      if (claimed.userId === userId && claimed.job.id === id) return run
    }
    return undefined
  }

  /** Waits until no job is running, up to `limitMs`. */
  async ended(limitMs: number): Promise<void> {
    const over = new AbortController()
    const late = sleep(limitMs, 'late', { signal: over.signal }).catch(() => 'late')
    while (this.#jobs.size > 0) {
      if ((await Promise.race([late, ...this.#jobs.values()])) === 'late') break
    }
    over.abort()
  }
}
