import { LRUCache } from 'lru-cache'
import type { Credential } from '../../../auth/credential.ts'
import type { KnownTokens } from '../../../auth/known-tokens.ts'
import type { Rate } from '../../../config/config-variables.ts'
import { defaultToken } from '../../../contract/key-names.ts'
import { errors } from '../../../errors.ts'
import { networkOf } from './client-address.ts'

/**
 * Limits wrong tokens per network (GCRA, per process). Beyond the limit they are neither looked up one by one nor
 * recorded. Others may share the network, so a valid token is still served: at once if this process has it cached, else
 * after a short wait.
 */
export class WrongTokens {
  readonly #rate: Rate | null
  readonly #tokens: KnownTokens
  readonly #onLimited: () => void
  /** When the next one would be due if all earlier ones had come evenly, by the monotonic clock. */
  readonly #dueAt = new LRUCache<string, number>({ max: maxNetworks })

  constructor(rate: Rate | null, tokens: KnownTokens, onLimited: () => void) {
    this.#rate = rate
    this.#tokens = tokens
    this.#onLimited = onLimited
  }

  /** Looks a credential up with `find`. It counts as wrong until it is found, so that concurrent ones are limited too. */
  async attempt<T>(
    address: string,
    credential: Credential,
    find: () => Promise<T>,
    isRefused: (found: T) => boolean,
  ): Promise<T> {
    if (credential.kind === 'none') return find()
    const network = networkOf(address)
    const retrySeconds = this.#take(network)
    if (retrySeconds > 0 && !(await this.#isRight(credential))) this.#refuse(retrySeconds)
    let isWrong = false
    try {
      const found = await find()
      isWrong = isRefused(found)
      return found
    } finally {
      if (!isWrong && retrySeconds === 0) this.#giveBack(network)
    }
  }

  /** Counts a wrong one; throws if there were too many. */
  count(address: string): void {
    const retrySeconds = this.#take(networkOf(address))
    if (retrySeconds > 0) this.#refuse(retrySeconds)
  }

  #refuse(retrySeconds: number): never {
    this.#onLimited()
    throw errors.wrongTokensLimited(retrySeconds)
  }

  async #isRight(credential: Credential): Promise<boolean> {
    if (credential.kind !== 'token') return false
    return credential.token === defaultToken || this.#tokens.isKnown(credential.token)
  }

  /** 0: it was counted. Else the seconds until the next one is allowed. */
  #take(network: string): number {
    if (!this.#rate) return 0
    const now = performance.now()
    const intervalMs = this.#intervalMs
    const dueAt = Math.max(this.#dueAt.get(network) ?? 0, now) + intervalMs
    const aheadMs = dueAt - now - intervalMs * this.#rate.burst
    if (aheadMs > toleranceMs) return Math.max(1, Math.ceil(aheadMs / 1000))
    this.#dueAt.set(network, dueAt)
    return 0
  }

  #giveBack(network: string): void {
    const dueAt = this.#dueAt.get(network)
    if (dueAt !== undefined) this.#dueAt.set(network, dueAt - this.#intervalMs)
  }

  get #intervalMs(): number {
    return this.#rate ? (1000 * this.#rate.seconds) / this.#rate.count : 0
  }
}

const maxNetworks = 10_000
/** For rounding errors in sums of fractions. */
const toleranceMs = 0.001
