import { errors } from '../errors.ts'
import { type AbortLike, Interruption } from '../postgres/pools/interruption.ts'

/** Work that several callers wait for. It is stopped when the last of them has left. */
export class SharedWork<T> {
  readonly #result: Promise<T>
  /** Resolves when the work has ended, well or not. */
  readonly settled: Promise<void>
  readonly #stop = new Interruption()
  #waiting = 0

  constructor(work: (gone: AbortLike) => Promise<T>) {
    this.#result = work(this.#stop)
    this.settled = this.#result.then(
      () => undefined,
      () => undefined,
    )
  }

  get isAbandoned(): boolean {
    return this.#stop.aborted
  }

  /** Waits for the result; rejects when this caller has gone. */
  join(gone: AbortLike): Promise<T> {
    this.#waiting += 1
    return new Promise((resolve, reject) => {
      const leave = () => {
        gone.removeEventListener('abort', leave)
        this.#waiting -= 1
        if (this.#waiting === 0) this.#stop.tell(errors.clientLeft())
        reject(errors.clientLeft())
      }
      gone.addEventListener('abort', leave)
      if (gone.aborted) leave()
      this.#result.finally(() => gone.removeEventListener('abort', leave)).then(resolve, reject)
    })
  }
}

type SharedFlight<T> = Readonly<{ work: SharedWork<T>; version: string | null; isBegun: () => boolean }>

/** Runs `onBegin` when it takes its snapshot. */
type StartWork<T> = (gone: AbortLike, onBegin: () => void) => Promise<T>

/** Work under way, by name. */
export class Flights<T> {
  readonly #flights = new Map<string, SharedFlight<T>>()

  /**
   * Joins the work of this name if its result is not older than this request: its snapshot is still to be taken, or it
   * is for the same version. Without a version the next work waits for the running one, and requests that come
   * meanwhile join it.
   */
  join(name: string, version: string | null, gone: AbortLike, start: StartWork<T>): Promise<T> {
    const found = this.#flights.get(name)
    const known = found?.work.isAbandoned ? undefined : found
    if (known && (!known.isBegun() || (version !== null && known.version === version)))
      return known.work.join(gone)
    let isBegun = false
    // Not the work itself: each would keep all before it, with their results.
    const before = version === null ? known?.work.settled : undefined
    const work = new SharedWork(async (allGone) => {
      await before
      return start(allGone, () => {
        isBegun = true
      })
    })
    const flight: SharedFlight<T> = { version, work, isBegun: () => isBegun }
    this.#flights.set(name, flight)
    void flight.work.settled.then(() => {
      if (this.#flights.get(name) === flight) this.#flights.delete(name)
    })
    return flight.work.join(gone)
  }
}
