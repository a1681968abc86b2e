export type Success = 'write' | 'job'

/** How long nothing succeeded, from the start of a fault. */
export type Outage = Readonly<Record<Success, number>>

/** Records every success, and reports for each kind of fault how long there was none. */
export class Outages {
  readonly #outages = new Map<string, Outage[]>()
  readonly #watches = new Set<Watch>()

  readonly note = (what: Success): void => {
    for (const watch of this.#watches) watch.note(what)
  }

  /** From now until `act` has ended: by then there must have been a success again. */
  async watch(fault: string, act: () => Promise<void>): Promise<void> {
    const watch = new Watch()
    this.#watches.add(watch)
    try {
      await act()
    } finally {
      this.#watches.delete(watch)
      this.#outages.set(fault, [...(this.#outages.get(fault) ?? []), watch.end()])
    }
  }

  /** The kinds of fault with their outages. */
  list(): readonly (readonly [string, readonly Outage[]])[] {
    return [...this.#outages].toSorted(([one], [other]) => one.localeCompare(other))
  }
}

class Watch {
  readonly #lastAt: Record<Success, number>
  readonly #longestMs: Record<Success, number> = { write: 0, job: 0 }

  constructor() {
    const now = performance.now()
    this.#lastAt = { write: now, job: now }
  }

  note(what: Success): void {
    const now = performance.now()
    this.#longestMs[what] = Math.max(this.#longestMs[what], now - this.#lastAt[what])
    this.#lastAt[what] = now
  }

  end(): Outage {
    this.note('write')
    this.note('job')
    return this.#longestMs
  }
}
