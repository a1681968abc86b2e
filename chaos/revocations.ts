import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerMember } from './members.ts'
import type { Random } from './random.ts'
import type { ChaosUser, Stage } from './stage.ts'

type Revoked = Readonly<{
  user: ChaosUser
  token: string
  how: 'regenerated' | 'deleted'
  answeredAt: number
}>

/**
 * Clients that create keys, use them at every server, revoke them, and then try the old tokens repeatedly at every
 * server. From two seconds after the answer on, none may be accepted.
 */
export class Revocations {
  /** One for each server that accepted an old token. */
  readonly accepted = new Map<string, string>()
  /** Answers that must never come, whatever happens. */
  readonly surprises: string[] = []
  count = 0
  refused = 0
  readonly #stage: Stage
  readonly #random: Random
  readonly #clients: Promise<void>[]
  readonly #revoked: Revoked[] = []
  #isOver = false

  constructor(stage: Stage, random: Random, clients: number) {
    this.#stage = stage
    this.#random = random
    this.#clients = Array.from({ length: clients }, () => [
      this.#again(() => this.#playKey()),
      this.#again(() => this.#probe()),
    ]).flat()
  }

  async finish(): Promise<void> {
    this.giveUp()
    await Promise.all(this.#clients)
  }

  giveUp(): void {
    this.#isOver = true
  }

  async #again(act: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      // A key whose state is unknown is left alone.
      await act().catch(() => undefined)
      await sleep(this.#random.between(20, 300))
    }
  }

  async #playKey(): Promise<void> {
    const user = this.#random.pick(this.#stage.users)
    const name = `key-${this.#random.hex()}`
    const grants = [{ type: 'apis', apis: ['sql'] }]
    let token = await this.#ask(user, 'POST', '', { name, grants })
    await this.#useEverywhere(user, token)
    if (this.#random.isLucky(0.5)) {
      const next = await this.#ask(user, 'POST', `/${name}/token/regenerate`)
      this.#note({ user, token, how: 'regenerated', answeredAt: performance.now() })
      token = next
      await this.#useEverywhere(user, token)
    }
    await this.#ask(user, 'DELETE', `/${name}`)
    this.#note({ user, token, how: 'deleted', answeredAt: performance.now() })
  }

  #note(revoked: Revoked): void {
    this.count += 1
    this.#revoked.push(revoked)
    if (this.#revoked.length > mostRemembered) this.#revoked.shift()
  }

  /** So that every server has it cached. */
  async #useEverywhere(user: ChaosUser, token: string): Promise<void> {
    for (const server of this.#stage.servers) {
      for (let tries = 0; tries < 3; tries++) {
        if (await this.#isAccepted(server, user, token).catch(() => false)) break
      }
    }
  }

  async #probe(): Promise<void> {
    const due = this.#revoked.filter(({ answeredAt }) => performance.now() - answeredAt > boundMs)
    if (due.length === 0) return
    const { user, token, how, answeredAt } = this.#random.pick(due)
    const server = this.#random.pick(this.#stage.servers)
    const agoMs = performance.now() - answeredAt
    if (!(await this.#isAccepted(server, user, token))) {
      this.refused += 1
      return
    }
    const place = `server ${this.#stage.servers.indexOf(server) + 1}`
    const what = `${place} accepts a token of ${user.account.username} that was ${how} ${agoMs.toFixed(0)} ms ago`
    if (!this.accepted.has(`${place} ${token}`)) this.accepted.set(`${place} ${token}`, what)
  }

  /** Directly at the server. The second request does not use the database of the key. */
  async #isAccepted(server: ServerMember, { account }: ChaosUser, token: string): Promise<boolean> {
    const what = this.#random.pick(['api/v2/sql?q=select+1', 'api/v1/viz?type=map'])
    const url = `${server.straightUrl}/user/${account.username}/${what}&api_key=${token}`
    const response = await fetch(url, { signal: AbortSignal.timeout(patienceMs) })
    const text = await response.text()
    if (response.status === 400) this.surprises.push(`a key was answered with 400 ${text}`)
    return response.status === 200
  }

  /** Changes a key with the master token; returns the key's token. */
  async #ask({ account, token }: ChaosUser, method: string, path: string, body?: unknown): Promise<string> {
    const { url } = this.#random.pick(this.#stage.servers)
    const address = `${url}/user/${account.username}/api/v3/api_keys${path}?api_key=${token}`
    const response = await fetch(address, {
      method,
      signal: AbortSignal.timeout(patienceMs),
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    const key = (await response.json()) as { token: string }
    if (!response.ok) {
      const words = `${method} of a key answered ${response.status} ${JSON.stringify(key)}`
      if (!forgiven.has(response.status)) this.surprises.push(words)
      throw new Error(words)
    }
    return key.token
  }
}

/** The promise of docs/guarantees.md. */
const boundMs = 2_000
const mostRemembered = 40
/** 408: the request was held until its time limit ended. 429: a limit, as when all wait. 503: try again. */
const forgiven: ReadonlySet<number> = new Set([408, 429, 503])
const patienceMs = 15_000
