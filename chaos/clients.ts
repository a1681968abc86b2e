import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from './random.ts'
import type { ChaosUser, Stage } from './stage.ts'

export type Answer<Body = unknown> = Readonly<{ status: number; headers: Headers; body: Body }>

/** Clients that begin one thing after another and follow each to its end, whatever happens to the service. */
export class Clients {
  protected readonly stage: Stage
  protected readonly random: Random
  #playing: readonly Promise<void>[] = []
  #givenUp = new AbortController()
  #isOver = false

  constructor(stage: Stage, random: Random) {
    this.stage = stage
    this.random = random
  }

  /** Begins nothing more; resolves when everything begun has ended, or the time for that is over. */
  async finish(patienceMs: number): Promise<void> {
    this.#isOver = true
    const timer = setTimeout(() => this.#givenUp.abort(), patienceMs)
    await Promise.all(this.#playing)
    clearTimeout(timer)
    this.#givenUp = new AbortController()
  }

  /** Stops following. */
  giveUp(): void {
    this.#isOver = true
    this.#givenUp.abort()
  }

  /** Each repeatedly does what `begin` returns; `note` is called with what did not end in time. */
  protected start(count: number, begin: () => Begun): void {
    this.#playing = Array.from({ length: count }, () => this.#play(begin))
  }

  async #play(begin: () => Begun): Promise<void> {
    while (!this.#isOver) {
      const { act, note } = begin()
      await act().catch((error: unknown) => {
        if (!this.#givenUp.signal.aborted) throw error
        note('did not end in time after the last attack')
      })
    }
  }

  /** Sends one request to any of the servers. Undefined: no answer came. */
  protected async ask<Body>(
    { account, token }: ChaosUser,
    path: string,
    { query = {}, ...init }: AskOptions,
  ): Promise<Answer<Body> | undefined> {
    this.#givenUp.signal.throwIfAborted()
    const { url } = this.random.pick(this.stage.servers)
    const words = new URLSearchParams({ ...query, api_key: token })
    try {
      const response = await fetch(`${url}/user/${account.username}${path}?${words}`, {
        signal: AbortSignal.timeout(init.method === 'DELETE' ? 30_000 : 12_000),
        ...init,
      })
      const text = await response.text()
      const { status, headers } = response
      return { status, headers, body: (text === '' ? undefined : JSON.parse(text)) as Body }
    } catch {
      // The server was killed, has not started yet, or cannot reach us.
      return undefined
    }
  }

  /** The same until there is an answer; 5xx, broken connections and what `forgives` names do not count. */
  protected async insist<Body>(
    user: ChaosUser,
    path: string,
    options: AskOptions,
    forgives: readonly number[] = [],
  ): Promise<Answer<Body>> {
    for (;;) {
      const answer = await this.ask<Body>(user, path, options)
      // 408: the server was stopped, or the request was held, until its time limit ended.
      if (answer && answer.status < 500 && answer.status !== 408 && !forgives.includes(answer.status))
        return answer
      await this.pause(20, 200)
    }
  }

  protected async pause(fromMs: number, toMs: number): Promise<void> {
    await sleep(this.random.between(fromMs, toMs))
  }
}

type Begun = Readonly<{ act: () => Promise<void>; note: (what: string) => void }>

export type AskOptions = Readonly<{ query?: Readonly<Record<string, string>> }> &
  Pick<RequestInit, 'method' | 'headers' | 'body'>
