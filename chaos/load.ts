import { setTimeout as sleep } from 'node:timers/promises'
import type { JobDocument } from '../src/contract/documents.ts'
import { type Answer, Clients } from './clients.ts'
import { type Plan, planJob, requestOf } from './plan.ts'
import type { Random } from './random.ts'
import type { Stage } from './stage.ts'

export type PlayedJob = Readonly<{
  plan: Plan
  id: string
  /** The job when it was first seen in a final state. */
  final: JobDocument
}>

/** An answer that must never come, whatever happens. */
export type Surprise = Readonly<{ plan: Plan; what: string }>

type JobAnswer = Answer<JobDocument & { error?: string[] }>

/** Clients that submit jobs, cancel some, and follow each to its end, whatever happens to the service. */
export class Load extends Clients {
  readonly jobs: PlayedJob[] = []
  readonly surprises: Surprise[] = []
  readonly #onDone: () => void

  /** `onDone` is called when a job was seen done. */
  constructor(stage: Stage, random: Random, clients: number, onDone: () => void) {
    super(stage, random)
    this.#onDone = onDone
    const commitsWait = stage.hosts?.second.isSynchronous ?? false
    this.start(clients, () => {
      const plan = planJob(random, stage.users.length, commitsWait)
      return { act: () => this.#playOne(plan), note: (what) => this.#note(plan, what) }
    })
  }

  /** Waits until this many jobs have ended: the service is up. */
  async warmUp(jobs: number): Promise<void> {
    for (const deadline = Date.now() + longestStartMs; this.jobs.length < jobs; ) {
      if (Date.now() > deadline) throw new Error('the service does not come up')
      await sleep(50)
    }
  }

  /** The current job, requested until there is an answer. Undefined if it was refused, which is recorded. */
  async read(
    { plan, id }: Pick<PlayedJob, 'plan' | 'id'>,
    waitSeconds = 0,
  ): Promise<JobDocument | undefined> {
    const { status, body } = await this.#insist(plan, 'GET', `/${id}`, { wait: String(waitSeconds) })
    if (status === 200) return body
    this.#note(plan, `GET of ${id} answered ${status} ${JSON.stringify(body)}`)
    return undefined
  }

  async #playOne(plan: Plan): Promise<void> {
    const { status, body } = await this.#insist(plan, 'POST', '', {}, requestOf(plan))
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

  #insist(plan: Plan, method: string, id: string, query = {}, body?: unknown): Promise<JobAnswer> {
    return this.insist(this.stage.users[plan.userIndex]!, `/api/v2/sql/job${id}`, {
      method,
      query,
      headers: { 'content-type': 'application/json', 'idempotency-key': plan.key },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  #note(plan: Plan, what: string): void {
    this.surprises.push({ plan, what: `${new Date().toISOString()} ${what}` })
  }
}

const longestStartMs = 180_000
