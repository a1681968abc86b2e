/**
 * Writes a long row in steps of a few milliseconds: requests of others are served between them. Pauses by itself while
 * the client is slower; then somebody calls `goOn`.
 */
export class SteppedRow {
  readonly #steps: Generator<void>
  readonly #isHeldBack: () => boolean
  readonly #onEnd: (error?: unknown) => void
  #isOver = false

  constructor(steps: Generator<void>, isHeldBack: () => boolean, onEnd: (error?: unknown) => void) {
    this.#steps = steps
    this.#isHeldBack = isHeldBack
    this.#onEnd = onEnd
  }

  readonly goOn = (): void => {
    const until = performance.now() + stepMs
    while (!this.#isOver && !this.#isHeldBack()) {
      if (this.#hasEnded()) return
      if (performance.now() > until) {
        setImmediate(this.goOn)
        return
      }
    }
  }

  /** The rest is not wanted any more. */
  drop(): void {
    this.#isOver = true
  }

  #hasEnded(): boolean {
    try {
      this.#isOver = this.#steps.next().done === true
      if (this.#isOver) this.#onEnd()
    } catch (error) {
      this.#isOver = true
      this.#onEnd(error)
    }
    return this.#isOver
  }
}

const stepMs = 5
