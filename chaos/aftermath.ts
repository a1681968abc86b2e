/** What attacks have still to do after they have returned: wake the stopped, deliver what was held, fail over. */
export class Aftermath {
  readonly #open = new Set<Promise<void>>()

  add(work: Promise<unknown>, onFailure: (error: unknown) => void = () => undefined): void {
    const noted = work.then(() => undefined, onFailure).finally(() => this.#open.delete(noted))
    this.#open.add(noted)
  }

  async settle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open)
  }
}
