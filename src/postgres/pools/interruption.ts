/** Signals that the result of some work is no longer needed. An AbortSignal, or something cheaper. */
export type AbortLike = Readonly<{
  aborted: boolean
  reason: unknown
  addEventListener: (type: 'abort', listener: () => void) => void
  removeEventListener: (type: 'abort', listener: () => void) => void
}>

export function throwIfAborted(interruption: AbortLike | undefined): void {
  if (interruption?.aborted) throw interruption.reason
}

/** Every query has one, and hardly any fires: creating and watching an AbortSignal would take 5 % of a short query. */
export class Interruption implements AbortLike {
  aborted = false
  reason: unknown
  // One at a time: first the wait for a connection, then the statement.
  readonly #listeners: (() => void)[] = []

  tell(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    for (const listener of [...this.#listeners]) listener()
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const place = this.#listeners.indexOf(listener)
    if (place >= 0) this.#listeners.splice(place, 1)
  }
}
