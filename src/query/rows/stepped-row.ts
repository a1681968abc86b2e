/**
 * Writes a long row in steps of a few milliseconds, and lets other requests run in between. Pauses while the client is
 * slower, until `goOn` is called.
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

  /** The rest is no longer wanted. */
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
