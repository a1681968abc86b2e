import { setTimeout as sleep } from 'node:timers/promises'
import type { JobDocument } from '../src/contract/documents.ts'
import { type Plan, planJob, requestOf } from './plan.ts'
import type { Random } from './random.ts'
import type { Stage } from './stage.ts'

export type PlayedJob = Readonly<{
  plan: Plan
  id: string
  /** The job when it was first seen in a final state. */
  final: JobDocument
}>

/** What an answer must never be, whatever is going on. */
export type Surprise = Readonly<{ plan: Plan; what: string }>

type Answer = Readonly<{ status: number; body: JobDocument & { error?: string[] } }>

/** Clients that submit jobs, cancel some, and follow each to its end, whatever happens to the service. */
export class Load {
  readonly jobs: PlayedJob[] = []
  readonly surprises: Surprise[] = []
  readonly #stage: Stage
  readonly #random: Random
  readonly #clients: Promise<void>[]
  readonly #onDone: () => void
  #givenUp = new AbortController()
  #isOver = false

  /** `onDone` is called when a job has been seen done. */
  constructor(stage: Stage, random: Random, clients: number, onDone: () => void) {
    this.#stage = stage
    this.#onDone = onDone
    this.#random = random
    this.#clients = Array.from({ length: clients }, () => this.#play())
  }

  /** The service is up: so many jobs have ended. */
  async warmUp(jobs: number): Promise<void> {
    for (const deadline = Date.now() + longestStartMs; this.jobs.length < jobs; ) {
      if (Date.now() > deadline) throw new Error('the service does not come up')
      await sleep(50)
    }
  }

  /** No more jobs; resolves when those on their way have ended, or the time for that is over. */
  async finish(patienceMs: number): Promise<void> {
    this.#isOver = true
    const timer = setTimeout(() => this.#givenUp.abort(), patienceMs)
    await Promise.all(this.#clients)
    clearTimeout(timer)
    this.#givenUp = new AbortController()
  }

  /** Nobody wants to know any more. */
  giveUp(): void {
    this.#isOver = true
    this.#givenUp.abort()
  }

  /** The job as it is now, asked until there is an answer. Undefined if it was refused, which is noted. */
  async read(
    { plan, id }: Pick<PlayedJob, 'plan' | 'id'>,
    waitSeconds = 0,
  ): Promise<JobDocument | undefined> {
    const { status, body } = await this.#insist(plan, 'GET', `/${id}`, `wait=${waitSeconds}`)
    if (status === 200) return body
    this.#note(plan, `GET of ${id} answered ${status} ${JSON.stringify(body)}`)
    return undefined
  }

  async #play(): Promise<void> {
    const commitsWait = this.#stage.hosts?.second.isSynchronous ?? false
    while (!this.#isOver) {
      const plan = planJob(this.#random, this.#stage.users.length, commitsWait)
      await this.#playOne(plan).catch((error: unknown) => {
        if (!this.#givenUp.signal.aborted) throw error
        this.#note(plan, `did not end in time after the last attack`)
      })
    }
  }

  async #playOne(plan: Plan): Promise<void> {
    const { status, body } = await this.#insist(plan, 'POST', '', '', requestOf(plan))
    if (status !== 201) {
      this.#note(plan, `POST answered ${status} ${JSON.stringify(body)}`)
      return
    }
    const id = body.job_id
    const cancelled = plan.cancelAfterMs === undefined ? undefined : this.#cancel(plan, id)
    const [final] = await Promise.all([this.#untilFinal(plan, id), cancelled])
    if (!final) return
    this.jobs.push({ plan, id, final })
    if (final.status === 'done') this.#onDone()
  }

  async #untilFinal(plan: Plan, id: string): Promise<JobDocument | undefined> {
    for (;;) {
      const job = await this.read({ plan, id }, 5)
      if (!job || !['pending', 'running'].includes(job.status)) return job
    }
  }

  async #cancel(plan: Plan, id: string): Promise<void> {
    await sleep(plan.cancelAfterMs)
    const { status, body } = await this.#insist(plan, 'DELETE', `/${id}`)
    const isRefused = status === 400 && /cancel is not allowed/.test(JSON.stringify(body))
    if (status !== 200 && !isRefused) this.#note(plan, `DELETE answered ${status} ${JSON.stringify(body)}`)
    if (status === 200 && body.status !== 'cancelled') this.#note(plan, `DELETE answered ${body.status}`)
    const found = (await this.read({ plan, id }))?.status
    if (!found) return
    if (['pending', 'running'].includes(found)) this.#note(plan, `the job is ${found} after its DELETE`)
    if (status === 200 && found !== 'cancelled') this.#note(plan, `cancelled, and then ${found}`)
  }

  /** Any server will do, again and again; only 5xx and broken connections are forgiven. */
  async #insist(plan: Plan, method: string, id: string, query = '', body?: unknown): Promise<Answer> {
    const { account, token } = this.#stage.users[plan.userIndex]!
    const path = `/user/${account.username}/api/v2/sql/job${id}?api_key=${token}&${query}`
    const headers = { 'content-type': 'application/json', 'idempotency-key': plan.key }
    for (;;) {
      this.#givenUp.signal.throwIfAborted()
      try {
        const response = await fetch(this.#random.pick(this.#stage.servers).url + path, {
          method,
          headers,
          signal: AbortSignal.timeout(method === 'DELETE' ? 30_000 : 12_000),
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        const answer = (await response.json()) as Answer['body']
        // 408: a server that was stopped, or what held the request back, let its time run out before it had arrived.
        if (response.status < 500 && response.status !== 408) return { status: response.status, body: answer }
      } catch {
        // The server was killed, has not started yet, or does not get through to us.
      }
      await sleep(this.#random.between(20, 200))
    }
  }

  #note(plan: Plan, what: string): void {
    this.surprises.push({ plan, what: `${new Date().toISOString()} ${what}` })
  }
}

const longestStartMs = 180_000
