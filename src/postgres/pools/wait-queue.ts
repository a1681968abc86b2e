import { setTimeout as sleep } from 'node:timers/promises'

/** Callers that wait for something of which there is a limited number, in the order in which they came. */
export class WaitQueue<Request, Grant> {
  readonly #waiters: Waiter<Request, Grant>[] = []

  get length(): number {
    return this.#waiters.length
  }

  /** Waits for a grant; rejects with `late()` when the time is over, or with the signal's reason. */
  join(request: Request, waitMs: number, late: () => Error, signal?: AbortSignal): Promise<Grant> {
    return new Promise((resolve, reject) => {
      const served = new AbortController()
      const waiter = { request, resolve, reject, served }
      this.#waiters.push(waiter)
      sleep(waitMs, undefined, { signal: served.signal }).then(
        () => this.#refuse(waiter, late()),
        () => undefined,
      )
      const onAbort = () => this.#refuse(waiter, signal?.reason)
      signal?.addEventListener('abort', onAbort, { signal: served.signal })
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
    for (const waiter of [...this.#waiters]) this.#refuse(waiter, error)
  }

  #refuse(waiter: Waiter<Request, Grant>, reason: unknown): void {
    this.#dismiss(waiter)
    waiter.reject(reason)
  }

  #dismiss(waiter: Waiter<Request, Grant>): void {
    this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
    waiter.served.abort()
  }
}

type Waiter<Request, Grant> = Readonly<{
  request: Request
  resolve: (grant: Grant) => void
  reject: (reason: unknown) => void
  /** Ends its timer and its listener. */
  served: AbortController
}>
