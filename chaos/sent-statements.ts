/** How often a worker sent each statement of the plans to a database, as the proxies saw it. */
export class SentStatements {
  readonly #times = new Map<string, number>()

  /** Bytes of a client with this name. */
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
