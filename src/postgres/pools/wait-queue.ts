import type { Interruption } from './interruption.ts'

/** Callers that wait for something of which there is a limited number, in the order in which they came. */
export class WaitQueue<Request, Grant> {
  readonly #waiters = new Set<Waiter<Request, Grant>>()

  get length(): number {
    return this.#waiters.size
  }

  /** Waits for a grant; rejects with `late()` when the time is over, or with the signal's reason. */
  join(request: Request, waitMs: number, late: () => Error, signal?: Interruption): Promise<Grant> {
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#refuse(waiter, signal?.reason)
      const timer = setTimeout(() => this.#refuse(waiter, late()), waitMs)
      const leave = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const waiter = { request, resolve, reject, leave }
      this.#waiters.add(waiter)
      signal?.addEventListener('abort', onAbort)
    })
  }

  /** Serves everyone for whom `offer` has something; the others keep their places. */
  serve(offer: (request: Request) => Grant | undefined): void {
    for (const waiter of this.#waiters) {
      const grant = offer(waiter.request)
      if (grant === undefined) continue
      this.#dismiss(waiter)
      waiter.resolve(grant)
    }
  }

  refuseAll(error: Error): void {
    for (const waiter of this.#waiters) this.#refuse(waiter, error)
  }

  #refuse(waiter: Waiter<Request, Grant>, reason: unknown): void {
    this.#dismiss(waiter)
    waiter.reject(reason)
  }

  #dismiss(waiter: Waiter<Request, Grant>): void {
    this.#waiters.delete(waiter)
    waiter.leave()
  }
}

type Waiter<Request, Grant> = Readonly<{
  request: Request
  resolve: (grant: Grant) => void
  reject: (reason: unknown) => void
  /** Ends its timer and its listening. */
  leave: () => void
}>
