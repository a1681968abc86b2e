import { LRUCache } from 'lru-cache'
import type { OpenTransaction } from '../jobs/claim-store.ts'
import type { Session } from '../postgres/session.ts'

/** A connection in a transaction whose xid is known, and which is still empty. */
export type BegunSession = OpenTransaction & Readonly<{ session: Session; begunAt: number }>

/**
 * Transactions begun ahead for the next job of a user who has more jobs waiting, or sends one after the other. BEGIN is
 * sent with the last statement, so it costs no round trip. They are kept only briefly: an open transaction holds back
 * VACUUM.
 */
export class BegunTransactions {
  readonly #most: number
  readonly #waiting = new Map<number, BegunSession & { readonly timer: NodeJS.Timeout }>()
  readonly #lastEnds = new LRUCache<number, number>({ max: 1_000 })
  #lastInVain = Number.NEGATIVE_INFINITY

  constructor(most: number) {
    this.#most = most
  }

  /** There is room for another one, and none has expired unused a moment ago. */
  get isWorthwhile(): boolean {
    return this.#waiting.size < this.#most && performance.now() - this.#lastInVain > vainMs
  }

  /** True if the user's last job ended just now: then the next one is likely to arrive in time, too. */
  isSteady(userId: number): boolean {
    return performance.now() - (this.#lastEnds.get(userId) ?? Number.NEGATIVE_INFINITY) < waitMs
  }

  noteEnd(userId: number): void {
    this.#lastEnds.set(userId, performance.now())
  }

  put(begun: BegunSession): void {
    if (!begun.session.isAlive) return
    if (this.#waiting.has(begun.userId)) {
      begun.session.release()
      return
    }
    const timer = setTimeout(() => this.#expire(begun), begun.begunAt + waitMs - performance.now())
    this.#waiting.set(begun.userId, { ...begun, timer })
  }

  take(userId: number): BegunSession | undefined {
    const begun = this.#waiting.get(userId)
    if (!begun) return undefined
    this.#waiting.delete(userId)
    clearTimeout(begun.timer)
    return begun.session.isAlive ? begun : undefined
  }

  takeAll(): readonly BegunSession[] {
    return [...this.#waiting.keys()].flatMap((userId) => this.take(userId) ?? [])
  }

  #expire({ userId, session }: BegunSession): void {
    this.#waiting.delete(userId)
    this.#lastInVain = performance.now()
    session.release()
  }
}

const waitMs = 100
const vainMs = 1_000
