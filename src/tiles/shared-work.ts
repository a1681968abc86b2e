import { errors } from '../errors.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'

/** Work that several callers wait for. It is told to stop when the last of them has gone. */
export class SharedWork<T> {
  readonly #result: Promise<T>
  /** Resolves when the work has ended, well or not. */
  readonly settled: Promise<void>
  readonly #stop = new AbortController()
  #waiting = 0

  constructor(work: (gone: AbortLike) => Promise<T>) {
    this.#result = work(this.#stop.signal)
    this.settled = this.#result.then(
      () => undefined,
      () => undefined,
    )
  }

  get isAbandoned(): boolean {
    return this.#stop.signal.aborted
  }

  /** Waits for the result; rejects when this caller has gone. */
  join(gone: AbortLike): Promise<T> {
    this.#waiting += 1
    return new Promise((resolve, reject) => {
      const leave = () => {
        gone.removeEventListener('abort', leave)
        this.#waiting -= 1
        if (this.#waiting === 0) this.#stop.abort(errors.clientLeft())
        reject(errors.clientLeft())
      }
      gone.addEventListener('abort', leave)
      if (gone.aborted) leave()
      this.#result.finally(() => gone.removeEventListener('abort', leave)).then(resolve, reject)
    })
  }
}
