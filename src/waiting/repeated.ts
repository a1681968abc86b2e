/** Does `work` again and again in the background, never twice at once, until it is stopped. */
export class Repeated {
  readonly #work: (isStopped: () => boolean) => Promise<void>
  readonly #everyMs: number
  readonly #failed: (error: unknown) => void
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #running: Promise<void> | undefined

  /** `work` may take long: it asks whether it should end. */
  constructor(
    work: (isStopped: () => boolean) => Promise<void>,
    everyMs: number,
    failed: (error: unknown) => void,
  ) {
    this.#work = work
    this.#everyMs = everyMs
    this.#failed = failed
  }

  start(): void {
    this.#timer = setInterval(() => void this.now(), this.#everyMs).unref()
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
  }

  /** Without waiting for the timer. Joins what runs already. */
  now(): Promise<void> {
    this.#running ??= this.#work(() => this.#isStopped)
      .catch(this.#failed)
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }
}
