/** Frames of one answer, until they are read. */
export class FrameQueue {
  readonly #onFull: () => void
  readonly #onDrained: () => void
  readonly #frames: (string | Uint8Array)[] = []
  #size = 0
  #isFull = false
  #error: unknown
  #wake: () => void = () => undefined

  /** `onFull` is called while more waits than a reader should have in memory, `onDrained` when it has been read. */
  constructor(onFull: () => void, onDrained: () => void) {
    this.#onFull = onFull
    this.#onDrained = onDrained
  }

  push(frame: string | Uint8Array): void {
    this.#frames.push(frame)
    this.#size += frame.length
    if (this.#size > fullSize && !this.#isFull) {
      this.#isFull = true
      this.#onFull()
    }
    this.#wake()
  }

  /** Thrown after the frames that came before. */
  fail(error: unknown): void {
    this.#error = error
    this.#wake()
  }

  async next(): Promise<string | Uint8Array> {
    for (;;) {
      const frame = this.#frames.shift()
      if (frame !== undefined) {
        this.#size -= frame.length
        if (this.#isFull && this.#frames.length === 0) {
          this.#isFull = false
          this.#onDrained()
        }
        return frame
      }
      if (this.#error !== undefined) throw this.#error
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

const fullSize = 1024 ** 2
