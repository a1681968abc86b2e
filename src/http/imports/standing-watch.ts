import type { Principal } from '../../auth/account.ts'
import { AppError } from '../../errors.ts'

/** Finds out that the caller of a long upload was suspended or lost its key. */
export class StandingWatch {
  /** Why the upload must end. */
  refusal: AppError | undefined
  readonly #principal: Principal
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(principal: Principal) {
    this.#principal = principal
  }

  /** To be called with every chunk. Asks at most once a second, and does not wait for the answer. */
  check(): void {
    if (this.refusal) throw this.refusal
    const now = performance.now()
    if (this.#principal.isCurrent() || now - this.#askedAt < 1_000) return
    this.#askedAt = now
    this.#principal.confirm().catch((error: unknown) => {
      // While the control database does not answer, the upload goes on: it is confirmed at its end.
      if (error instanceof AppError && error.kind !== 'unavailable') this.refusal = error
    })
  }
}
