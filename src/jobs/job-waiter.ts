import type { Pool, PoolClient } from 'pg'
import type { Account } from '../auth/account.ts'
import { isFinal, type Job } from './job.ts'
import { endedJobs, findJob, watchJob } from './job-store.ts'
import { finishedChannel } from './queue-store.ts'

/**
 * Lets requests wait for the end of jobs: one listening connection for all of them, taken when the first one waits. Now
 * and then it is asked as well, because a notification can be left out, and because a silent connection is noticed only
 * by asking. When it is lost, everybody looks for themselves and a new one is made.
 */
export class JobWaiter {
  readonly #control: Pool
  readonly #waiting = new Map<string, Set<Waiter>>()
  #listening: Promise<void> | undefined
  #stopListening = () => {}
  #isStopped = false
  #isLooking = false

  constructor(control: Pool) {
    this.#control = control
  }

  /** The job when it has ended, or as it is when the time is over or the caller gives up. None: there is no such job. */
  async wait(account: Account, id: string, timeoutMs: number, signal: AbortSignal): Promise<Job | undefined> {
    const deadline = Date.now() + timeoutMs
    for (let lookAgainMs = 2; ; lookAgainMs = Math.min(2 * lookAgainMs, longestLookMs)) {
      const turn = this.#nextNews(account, id, signal)
      try {
        await this.#listen()
        const isWatched = await watchJob(this.#control, account, id)
        const job = await findJob(this.#control, account, id)
        const leftMs = deadline - Date.now()
        if (!job || isFinal(job.status) || leftMs <= 0 || signal.aborted || this.#isStopped) return job
        await turn.news(isWatched ? leftMs : Math.min(leftMs, lookAgainMs))
      } finally {
        turn.leave()
      }
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#stopListening()
    this.#wakeAll()
  }

  #nextNews({ userId }: Account, id: string, signal: AbortSignal): Turn {
    let timer: NodeJS.Timeout | undefined
    let wake = () => {}
    const news = new Promise<void>((resolve) => {
      wake = resolve
    })
    signal.addEventListener('abort', wake, { once: true })
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

  #listen(): Promise<void> {
    this.#listening ??= this.#connect().catch((error: unknown) => {
      this.#listening = undefined
      throw error
    })
    return this.#listening
  }

  async #connect(): Promise<void> {
    const client = await this.#control.connect()
    const looking = setInterval(() => this.#look(client), lookMs)
    let isLost = false
    const lose = () => {
      if (isLost) return
      isLost = true
      clearInterval(looking)
      client.release(true)
      this.#listening = undefined
      this.#wakeAll()
    }
    client.on('notification', ({ payload }) => this.#wake(payload ?? ''))
    client.on('error', lose)
    client.on('end', lose)
    try {
      await client.query(`listen ${finishedChannel}`)
    } catch (error) {
      lose()
      throw error
    }
    this.#stopListening = lose
    if (this.#isStopped) lose()
  }

  /** Not before the last look is answered; if it never is, the connection is dropped. */
  async #look(client: PoolClient): Promise<void> {
    if (this.#isLooking || this.#waiting.size === 0) return
    this.#isLooking = true
    const ended = await endedJobs(
      client,
      [...this.#waiting.values()].flatMap((waiters) => [...waiters]),
    ).catch(() => [])
    this.#isLooking = false
    for (const id of ended) this.#wake(id)
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
