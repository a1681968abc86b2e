import type { ClaimRequest } from '../jobs/claim-store.ts'
import { orphanMessage } from '../jobs/queue-store.ts'

/** How many more jobs to ask for, from the notifications since the last request. */
export class ClaimDemand {
  /** There may be jobs to claim. */
  #isOpen = false
  #seesOrphans = false
  #reserved = 0
  /** Reservations made us ask for fewer jobs than may be available. */
  #isShort = false

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** `message`: the payload of a notification on the queue's channel. */
  hear(message: string): void {
    this.#isOpen = true
    if (message === orphanMessage) this.#seesOrphans = true
  }

  /** Reserves slots for jobs that are claimed as they are queued, until the returned function is called. */
  reserve(slots: number): () => void {
    this.#reserved += slots
    return () => {
      this.#reserved -= slots
      this.#isOpen ||= this.#isShort
      this.#isShort = false
    }
  }

  /**
   * As many as there is room for, and none again until the next notification. Even a busy worker takes over jobs of a
   * dead one.
   */
  take(running: number, jobsPerWorker: number): Pick<ClaimRequest, 'wanted' | 'wantedOrphans'> {
    const room = (most: number) => Math.max(0, most - running - this.#reserved)
    const wanted = this.#isOpen ? room(jobsPerWorker) : 0
    const wantedOrphans = this.#seesOrphans ? room(2 * jobsPerWorker) : 0
    this.#isShort ||= this.#isOpen && this.#reserved > 0
    this.#isOpen = false
    if (wantedOrphans > 0) this.#seesOrphans = false
    return { wanted, wantedOrphans }
  }
}
