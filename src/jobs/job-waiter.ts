import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { isFinal } from '../contract/job-status.ts'
import type { Log } from '../log/log.ts'
import type { ControlPool } from '../postgres/control/control-pool.ts'
import { Listener } from '../postgres/control/listener.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import type { Job } from './job.ts'
import type { LocalWorker } from './job-queue.ts'
import { endedJobs, findJob, watchJob } from './job-store.ts'
import { finishedChannel } from './queue-store.ts'

/**
 * Lets requests wait for the end of jobs. One connection listens for all of them, opened by the first. It also polls
 * the awaited jobs each second, because a notification can be missing. If the connection is lost, every request polls
 * by itself.
 */
export class JobWaiter {
  readonly #control: ControlPool
  readonly #waiting = new Map<string, Set<Waiter>>()
  readonly #listener: Listener
  #localWorker: LocalWorker | undefined
  #isStopped = false

  constructor(control: ControlPool, log: Log) {
    this.#control = control
    this.#listener = new Listener(control, log, {
      channel: finishedChannel,
      everyMs: lookMs,
      answerMs,
      onMessage: (jobId) => this.#wake(jobId),
      onRound: (client) => this.#look(client),
      onLost: () => this.#wakeAll(),
    })
  }

  /** From now on, this worker alone is asked about the jobs that it runs. */
  useLocalWorker(worker: LocalWorker): void {
    this.#localWorker = worker
  }

  /** Returns the job when it has ended, or its current state on timeout or abort. Undefined: no such job. */
  async wait(account: Account, id: string, timeoutMs: number, signal: AbortLike): Promise<Job | undefined> {
    const deadline = performance.now() + timeoutMs
    const ended = await this.#waitForLocal(account, id, timeoutMs, signal)
    if (ended) return ended
    for (let lookAgainMs = 2; ; lookAgainMs = Math.min(2 * lookAgainMs, longestLookMs)) {
      const turn = this.#nextNews(account, id, signal)
      try {
        await this.#listen()
        const isWatched = await watchJob(this.#control, account, id)
        const job = await findJob(this.#control, account, id)
        const leftMs = deadline - performance.now()
        if (!job || isFinal(job.status) || leftMs <= 0 || signal.aborted || this.#isStopped) return job
        await turn.news(isWatched ? leftMs : Math.min(leftMs, lookAgainMs))
      } finally {
        turn.leave()
      }
    }
  }

  /** The job, if this process's worker has ended it. */
  async #waitForLocal(
    account: Account,
    id: string,
    timeoutMs: number,
    signal: AbortLike,
  ): Promise<Job | undefined> {
    const end = this.#localWorker?.endOf(account.userId, id)
    if (!end || this.#isStopped) return undefined
    const turn = this.#nextNews(account, id, signal)
    try {
      await this.#listen()
      return (await Promise.race([end, turn.news(timeoutMs)])) ?? undefined
    } finally {
      turn.leave()
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#wakeAll()
    await this.#listener.stop()
  }

  #nextNews({ userId }: Account, id: string, signal: AbortLike): Turn {
    let timer: NodeJS.Timeout | undefined
    let wake = () => {}
    const news = new Promise<void>((resolve) => {
      wake = resolve
    })
    signal.addEventListener('abort', wake)
    const waiter = { userId, id, wake }
    const others = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, others.add(waiter))
    return {
      news: (timeoutMs) => {
        timer = setTimeout(wake, timeoutMs)
        return news
      },
      leave: () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        others.delete(waiter)
        if (others.size === 0 && this.#waiting.get(id) === others) this.#waiting.delete(id)
      },
    }
  }

  async #listen(): Promise<void> {
    if (this.#isStopped) return
    await this.#listener.listen().catch((error: unknown) => {
      if (!this.#isStopped) throw error
    })
  }

  async #look(client: ClientBase): Promise<void> {
    if (this.#waiting.size === 0) return
    const waiters = [...this.#waiting.values()].flatMap((each) => [...each])
    for (const id of await endedJobs(client, waiters)) this.#wake(id)
  }

  #wake(id: string): void {
    for (const { wake } of this.#waiting.get(id) ?? []) wake()
  }

  #wakeAll(): void {
    for (const id of this.#waiting.keys()) this.#wake(id)
  }
}

type Waiter = Readonly<{ userId: number; id: string; wake: () => void }>

/** What one request waits for. */
type Turn = Readonly<{ news: (timeoutMs: number) => Promise<void>; leave: () => void }>

/** A job is mostly locked for less than a millisecond, while it is claimed or written. */
const longestLookMs = 250
const lookMs = 1_000
const answerMs = 5_000
