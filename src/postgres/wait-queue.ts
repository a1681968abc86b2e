/** Callers that wait for something of which there is a limited number, in the order in which they came. */
export class WaitQueue<Request, Grant> {
  readonly #waiters: Waiter<Request, Grant>[] = []

  get length(): number {
    return this.#waiters.length
  }

  /** Waits for a grant; rejects with `late()` when the time is over, or with the signal's reason. */
  join(request: Request, waitMs: number, late: () => Error, signal?: AbortSignal): Promise<Grant> {
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
      const waiter: Waiter<Request, Grant> = { request, resolve, reject, settle }
      this.#waiters.push(waiter)
    })
  }

  /** Serves everyone for whom `offer` has something; the others keep their places. */
  serve(offer: (request: Request) => Promise<Grant> | undefined): void {
    for (const waiter of [...this.#waiters]) {
      const grant = offer(waiter.request)
      if (!grant) continue
      this.#dismiss(waiter)
      grant.then(waiter.resolve, waiter.reject)
    }
  }

  refuseAll(error: Error): void {
    for (const waiter of [...this.#waiters]) {
      this.#dismiss(waiter)
      waiter.reject(error)
    }
  }

  #dismiss(waiter: Waiter<Request, Grant>): void {
    this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
    waiter.settle()
  }
}

type Waiter<Request, Grant> = Readonly<{
  request: Request
  resolve: (grant: Grant) => void
  reject: (error: unknown) => void
  settle: () => void
}>
