/** Callers that wait for something of which there is a limited number, in the order in which they came. */
export class WaitingLine<Wish, Gift> {
  readonly #waiters: Waiter<Wish, Gift>[] = []

  get length(): number {
    return this.#waiters.length
  }

  /** Waits for a gift; rejects with `late()` when the time is over, or with the signal's reason. */
  join(wish: Wish, waitMs: number, late: () => Error, signal?: AbortSignal): Promise<Gift> {
    return new Promise((resolve, reject) => {
      const leave = (error: unknown) => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        waiter.settle()
        reject(error)
      }
      const onAbort = () => leave(signal?.reason)
      const timer = setTimeout(() => leave(late()), waitMs)
      signal?.addEventListener('abort', onAbort, { once: true })
      const settle = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const waiter: Waiter<Wish, Gift> = { wish, resolve, reject, settle }
      this.#waiters.push(waiter)
    })
  }

  /** Serves everyone for whom `offer` has something; the others keep their places. */
  serve(offer: (wish: Wish) => Promise<Gift> | undefined): void {
    for (const waiter of [...this.#waiters]) {
      const gift = offer(waiter.wish)
      if (!gift) continue
      this.#dismiss(waiter)
      gift.then(waiter.resolve, waiter.reject)
    }
  }

  refuseAll(error: Error): void {
    for (const waiter of [...this.#waiters]) {
      this.#dismiss(waiter)
      waiter.reject(error)
    }
  }

  #dismiss(waiter: Waiter<Wish, Gift>): void {
    this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
    waiter.settle()
  }
}

type Waiter<Wish, Gift> = Readonly<{
  wish: Wish
  resolve: (gift: Gift) => void
  reject: (error: unknown) => void
  settle: () => void
}>
