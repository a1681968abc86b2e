import type { AbortLike } from './interruption.ts'

/**
 * Callers that wait for a limited resource. Waiters of one kind are served in order of arrival, and the kinds take
 * turns: if a kind is at its limit, only its first waiter is tried.
 */
export class WaitQueue<Request, Grant> {
  readonly #kindOf: (request: Request) => string
  readonly #lines = new Map<string, Set<QueuedRequest<Request, Grant>>>()
  #length = 0

  constructor(kindOf: (request: Request) => string) {
    this.#kindOf = kindOf
  }

  get length(): number {
    return this.#length
  }

  /** Waits for a grant; rejects with `late()` after `waitMs`, or with the signal's reason. */
  join(request: Request, waitMs: number, late: () => Error, signal?: AbortLike): Promise<Grant> {
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#refuse(waiter, signal?.reason)
      const timer = setTimeout(() => this.#refuse(waiter, late()), waitMs)
      const leave = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const waiter = { request, resolve, reject, leave }
      this.#add(waiter)
      signal?.addEventListener('abort', onAbort)
    })
  }

  /** Serves every waiter for whom `offer` returns a grant; the others keep their places. */
  serve(offer: (request: Request) => Grant | undefined): void {
    // A served kind moves to the end of the map, and so to the end of this loop.
    for (const [kind, line] of this.#lines) {
      const [first] = line
      const grant = first && offer(first.request)
      if (!first || grant === undefined) continue
      this.#lines.delete(kind)
      this.#dismiss(first, line)
      if (line.size > 0) this.#lines.set(kind, line)
      first.resolve(grant)
    }
  }

  refuseAll(error: Error): void {
    for (const line of this.#lines.values()) for (const waiter of line) this.#refuse(waiter, error)
  }

  #add(waiter: QueuedRequest<Request, Grant>): void {
    const kind = this.#kindOf(waiter.request)
    this.#lines.set(kind, (this.#lines.get(kind) ?? new Set()).add(waiter))
    this.#length += 1
  }

  #refuse(waiter: QueuedRequest<Request, Grant>, reason: unknown): void {
    const kind = this.#kindOf(waiter.request)
    const line = this.#lines.get(kind)
    if (!line?.has(waiter)) return
    this.#dismiss(waiter, line)
    if (line.size === 0) this.#lines.delete(kind)
    waiter.reject(reason)
  }

  #dismiss(waiter: QueuedRequest<Request, Grant>, line: Set<QueuedRequest<Request, Grant>>): void {
    line.delete(waiter)
    this.#length -= 1
    waiter.leave()
  }
}

type QueuedRequest<Request, Grant> = Readonly<{
  request: Request
  resolve: (grant: Grant) => void
  reject: (reason: unknown) => void
  /** Clears its timer and its abort listener. */
  leave: () => void
}>
