import { type BodyBudget, type BodyHolder, uncountedBytes } from '../middleware/body/body-budget.ts'

/** Counts the bytes of a client's messages, from their arrival until the statement has ended. */
export class MessageMeter {
  readonly #budget: BodyBudget
  #holder: BodyHolder | null = null
  /** Bytes of the message that is arriving. */
  #arriving = 0
  /** How many of these bytes are counted in the budget. */
  #held = 0

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /** From now on messages may be large. */
  open(holder: BodyHolder): void {
    this.#holder = holder
  }

  /** False if this is too much: only the caller of an open session may send large messages. */
  accepts(bytes: number): boolean {
    this.#arriving += bytes
    if (this.#arriving <= uncountedBytes) return true
    if (!this.#holder) return false
    const more = this.#arriving - this.#held
    if (!this.#budget.take(this.#holder, more)) return false
    this.#held += more
    return true
  }

  /** A message is complete. Returns the function that gives its bytes back. */
  take(): () => void {
    const held = this.#held
    this.#arriving = 0
    this.#held = 0
    return () => {
      if (this.#holder && held > 0) this.#budget.give(this.#holder, held)
    }
  }
}
