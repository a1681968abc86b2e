import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'

/** The jobs that a worker is running. */
export class RunningJobs {
  readonly #jobs = new Map<ClaimedJob, Promise<Job | undefined>>()
  readonly #interrupts = new Map<ClaimedJob, AbortController>()

  get count(): number {
    return this.#jobs.size
  }

  /** Imports, which are counted apart: they have slots of their own. */
  get imports(): number {
    return [...this.#jobs.keys()].filter(({ job }) => job.isImport).length
  }

  /** The users whose jobs run. */
  get users(): readonly number[] {
    return [...new Set([...this.#jobs.keys()].map(({ userId }) => userId))]
  }

  has(claim: string): boolean {
    return [...this.#jobs.keys()].some((job) => job.claim === claim)
  }

  /**
   * `run` resolves to the job if it has ended, and never rejects. Returned: `run`, when its slot is free. It releases
   * the job when its signal is aborted: together with `stopping`, or by `interrupt`.
   */
  add(
    job: ClaimedJob,
    stopping: AbortSignal,
    run: (interrupted: AbortSignal) => Promise<Job | undefined>,
  ): Promise<Job | undefined> {
    const interrupt = new AbortController()
    const stop = () => interrupt.abort()
    stopping.addEventListener('abort', stop, { once: true })
    if (stopping.aborted) stop()
    this.#interrupts.set(job, interrupt)
    const ended = run(interrupt.signal).finally(() => {
      stopping.removeEventListener('abort', stop)
      this.#interrupts.delete(job)
      this.#jobs.delete(job)
    })
    this.#jobs.set(job, ended)
    return ended
  }

  /** Has the jobs of these users released. */
  interrupt(userIds: readonly number[]): void {
    for (const [{ userId }, interrupt] of this.#interrupts) if (userIds.includes(userId)) interrupt.abort()
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
