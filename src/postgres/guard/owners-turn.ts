/**
 * Leaves sessions of another process to the guard of that process for a while: only that process can tell its client
 * the reason. The time is enough for two rounds of its guard.
 */
export class OwnersTurn {
  readonly #seenSince = new Map<string, number>()

  isOver(key: string): boolean {
    const now = performance.now()
    for (const [each, since] of this.#seenSince) if (now - since > forgetMs) this.#seenSince.delete(each)
    const since = this.#seenSince.get(key) ?? now
    this.#seenSince.set(key, since)
    return now - since > turnMs
  }
}

const turnMs = 2_500
const forgetMs = 10_000
