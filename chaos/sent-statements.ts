/** How often each statement of the plans was sent to a database by a worker, as the proxies have seen it. */
export class SentStatements {
  readonly #times = new Map<string, number>()

  /** Bytes of a client that calls itself by this name. */
  readonly note = (label: string, bytes: Buffer): void => {
    if (!label.startsWith('cartage job')) return
    for (const [, entry] of bytes.toString('latin1').matchAll(/ledger \(entry\) values \('([^']+)'\)/g)) {
      this.#times.set(entry!, (this.#times.get(entry!) ?? 0) + 1)
    }
  }

  times(entry: string): number {
    return this.#times.get(entry) ?? 0
  }
}
