import type { AbortLike } from './interruption.ts'
import { WaitQueue } from './wait-queue.ts'

/** The account and role that take a slot. The administrator has no account. */
export type SlotHolder = Readonly<{
  account?: string
  isAnonymous?: boolean
  role?: string
  /** Slots of the account, in place of those of an account and of a role. */
  most?: number
}>

export type SlotLimits = Readonly<{
  total: number
  perRole: number
  perAccount: number
  /** Part of the account's slots: for its callers without a key. */
  anonymousPerAccount: number
}>

export type GiveBack = () => void

type SlotUse = { all: number; anonymous: number }

/**
 * Limits concurrency: in total, per role, per account, and for callers without a key. Beyond the limits callers wait in
 * a queue; one at its own limit does not block the others.
 *
 * So that no account and no anonymous caller can take everything, the last fifth is reserved for accounts that have no
 * slot. Callers without a key get at most half, or all that is not reserved if their account has no slot.
 */
export class Slots {
  readonly #limits: SlotLimits
  readonly #queue = new WaitQueue<SlotHolder, GiveBack>(kindOf)
  readonly #roles = new Map<string, number>()
  readonly #accounts = new Map<string, SlotUse>()
  readonly #use: SlotUse = { all: 0, anonymous: 0 }

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  get waiting(): number {
    return this.#queue.length
  }

  /** Returns the function that gives the slot back; rejects with `late()` after `waitMs`. */
  take(
    holder: SlotHolder,
    waitMs: number,
    late: () => Error,
    signal?: AbortLike,
  ): GiveBack | Promise<GiveBack> {
    return this.takeNow(holder) ?? this.#queue.join(holder, waitMs, late, signal)
  }

  refuseAll(error: Error): void {
    this.#queue.refuseAll(error)
  }

  /** Undefined if the caller would have to wait. */
  takeNow(holder: SlotHolder): GiveBack | undefined {
    if (!this.#isFree(holder)) return undefined
    this.#count(holder, 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#count(holder, -1)
      this.#serveWaiting()
    }
  }

  /** The slots of the account, if it has them all. */
  reachedLimit({ account = '', most = this.#limits.perAccount }: SlotHolder): number | undefined {
    return (this.#accounts.get(account)?.all ?? 0) >= most ? most : undefined
  }

  /** Whether the account, or the role, has all slots that it may have. */
  isAtOwnLimit(holder: SlotHolder): boolean {
    return this.reachedLimit(holder) !== undefined || this.#hasAllOfRole(holder)
  }

  #hasAllOfRole({ role, most = this.#limits.perRole }: SlotHolder): boolean {
    return role !== undefined && (this.#roles.get(role) ?? 0) >= most
  }

  #isFree(holder: SlotHolder): boolean {
    const { account, isAnonymous, most } = holder
    if (this.#use.all >= this.#limits.total || this.#hasAllOfRole(holder)) return false
    return account === undefined || this.#hasShare(account, isAnonymous ?? false, most)
  }

  #hasShare(account: string, isAnonymous: boolean, most = this.#limits.perAccount): boolean {
    const { total, anonymousPerAccount } = this.#limits
    const own = this.#accounts.get(account)
    const reserved = Math.floor(total / 5)
    if (own && (own.all >= most || this.#use.all >= total - reserved)) return false
    if (!isAnonymous) return true
    // An account with few slots keeps one for its keys.
    if (own && own.anonymous >= Math.min(anonymousPerAccount, Math.max(1, most - 1))) return false
    return this.#use.anonymous < Math.max(1, own ? Math.floor(total / 2) : total - reserved)
  }

  #count({ account, isAnonymous, role }: SlotHolder, change: 1 | -1): void {
    add(this.#use, isAnonymous, change)
    if (role !== undefined) {
      const ofRole = (this.#roles.get(role) ?? 0) + change
      if (ofRole === 0) this.#roles.delete(role)
      else this.#roles.set(role, ofRole)
    }
    if (account === undefined) return
    const own = this.#accounts.get(account) ?? { all: 0, anonymous: 0 }
    add(own, isAnonymous, change)
    if (own.all === 0) this.#accounts.delete(account)
    else this.#accounts.set(account, own)
  }

  #serveWaiting(): void {
    if (this.#queue.length === 0) return
    this.#queue.serve((holder) => this.takeNow(holder))
  }
}

/** Holders with the same limits. */
const kindOf = ({ account = '', isAnonymous = false, role = '', most }: SlotHolder) =>
  `${role} ${account} ${isAnonymous} ${most}`

function add(use: SlotUse, isAnonymous: boolean | undefined, change: 1 | -1): void {
  use.all += change
  if (isAnonymous) use.anonymous += change
}
