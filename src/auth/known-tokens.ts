import { setTimeout as sleep } from 'node:timers/promises'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import { knownHashes } from './account-store.ts'

/**
 * Checks whether tokens exist. Lookups within `gatherMs` share one query, and one query runs at a time, so a flood of
 * wrong tokens costs the database very little, and delays valid tokens only briefly.
 */
export class KnownTokens {
  readonly #control: Queryable
  readonly #secrets: Secrets
  #gathering: TokenQuestion | undefined
  #lastAnswer: Promise<unknown> = Promise.resolve()

  constructor(control: Queryable, secrets: Secrets) {
    this.#control = control
    this.#secrets = secrets
  }

  /** Counts as unknown if too many tokens are waiting. */
  async isKnown(token: string): Promise<boolean> {
    this.#gathering ??= this.#gather()
    const { hashes, known } = this.#gathering
    if (hashes.length >= maxHashes) return false
    const hash = this.#secrets.hashToken(token)
    hashes.push(hash)
    return (await known).has(hash.toString('hex'))
  }

  #gather(): TokenQuestion {
    const hashes: Buffer[] = []
    const known = this.#lastAnswer
      .then(() => sleep(gatherMs))
      .then(() => {
        this.#gathering = undefined
        return knownHashes(this.#control, hashes)
      })
    this.#lastAnswer = known.catch(() => undefined)
    return { hashes, known }
  }
}

type TokenQuestion = Readonly<{ hashes: Buffer[]; known: Promise<ReadonlySet<string>> }>

const gatherMs = 100
const maxHashes = 2_000
