import { errors } from '../errors.ts'
import { WaitingLine } from '../postgres/waiting-line.ts'

export type SlotLimits = Readonly<{ perUser: number; perProcess: number; waitMs: number }>

type GiveBack = () => void

/**
 * How many copies run at once. Beyond the limits a copy waits a moment in line, then it is refused; one whose user is
 * at the limit does not hold up the others.
 */
export class CopySlots {
  readonly #limits: SlotLimits
  readonly #line = new WaitingLine<number, GiveBack>()
  readonly #runningOf = new Map<number, number>()
  #running = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /** Resolves to the function that gives the slot back. */
  async take(userId: number, signal: AbortSignal): Promise<GiveBack> {
    signal.throwIfAborted()
    const { waitMs } = this.#limits
    const late = () => errors.tooManyCopies(Math.max(1, Math.ceil(waitMs / 1000)))
    return this.#slotFor(userId) ?? this.#line.join(userId, waitMs, late, signal)
  }

  #slotFor(userId: number): GiveBack | undefined {
    const { perProcess, perUser } = this.#limits
    const ofUser = this.#runningOf.get(userId) ?? 0
    if (this.#running >= perProcess || ofUser >= perUser) return undefined
    this.#running += 1
    this.#runningOf.set(userId, ofUser + 1)
    return () => this.#takeBack(userId)
  }

  #takeBack(userId: number): void {
    const ofUser = this.#runningOf.get(userId)! - 1
    this.#running -= 1
    if (ofUser === 0) this.#runningOf.delete(userId)
    else this.#runningOf.set(userId, ofUser)
    this.#line.serve((waiting) => {
      const slot = this.#slotFor(waiting)
      return slot && Promise.resolve(slot)
    })
  }
}
