import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'

/** The part of its user's quota that one upload takes. */
export type QuotaShare = Readonly<{
  /** Throws when the user's uploads together exceed the remaining quota. */
  spend: (bytes: number) => void
  /** Call once, at the end: what was not stored is given back. */
  close: (isStored: boolean) => void
}>

type Budget = { quotaBytes: number; leftBytes: number; inFlightBytes: number; shares: number }

/** The remaining quota of each user who is uploading, shared by the user's uploads in this process. */
export class QuotaLedger {
  readonly #budgets = new Map<number, Budget>()

  /** `measure` returns how many bytes the account stores; not called without a quota. */
  async join(account: Account, measure: () => Promise<number>): Promise<QuotaShare> {
    const { userId, quotaBytes } = account
    if (quotaBytes === 0) return unlimited
    const leftBytes = quotaBytes - (await measure())
    const budget = this.#budgets.get(userId) ?? { quotaBytes, leftBytes, inFlightBytes: 0, shares: 0 }
    // The operator may have changed the quota since, which also applies to uploads in progress.
    budget.leftBytes += quotaBytes - budget.quotaBytes
    budget.quotaBytes = quotaBytes
    // The new measurement may count bytes in flight twice, the old one may be outdated. Both are at most what is really
    // left.
    budget.leftBytes = Math.max(budget.leftBytes, leftBytes - budget.inFlightBytes)
    if (budget.leftBytes <= 0) throw errors.quotaExceeded()
    budget.shares += 1
    this.#budgets.set(userId, budget)
    return this.#share(userId, budget)
  }

  #share(userId: number, budget: Budget): QuotaShare {
    let spent = 0
    return {
      spend: (bytes) => {
        spent += bytes
        budget.leftBytes -= bytes
        budget.inFlightBytes += bytes
        if (budget.leftBytes < 0) throw errors.quotaExceeded()
      },
      close: (isStored) => {
        budget.inFlightBytes -= spent
        if (!isStored) budget.leftBytes += spent
        budget.shares -= 1
        if (budget.shares === 0) this.#budgets.delete(userId)
      },
    }
  }
}

const unlimited: QuotaShare = { spend: () => undefined, close: () => undefined }
