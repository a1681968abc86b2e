/** What attacks still have to do after they returned: continue stopped processes, deliver held bytes, fail over. */
export class Aftermath {
  readonly #open = new Map<Promise<void>, string>()

  add(name: string, work: Promise<unknown>, onFailure: (error: unknown) => void = () => undefined): void {
    const noted = work.then(() => undefined, onFailure).finally(() => this.#open.delete(noted))
    this.#open.set(noted, name)
  }

  /** What has not ended yet. */
  describe(): string {
    return [...this.#open.values()].join(', ')
  }

  async settle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open.keys())
  }
}
