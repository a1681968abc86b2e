import type { ClaimRequest } from '../jobs/claim-store.ts'
import { orphanMessage } from '../jobs/queue-store.ts'

/** How many more jobs to ask for, from what a worker was told since it asked last. */
export class ClaimDemand {
  /** There may be jobs to be had. */
  #isOpen = false
  #seesOrphans = false
  #reserved = 0
  /** Less was asked for than there may be to be had, for the sake of what was reserved. */
  #isShort = false

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** `message`: as it is told on the queue's channel. */
  hear(message: string): void {
    this.#isOpen = true
    if (message === orphanMessage) this.#seesOrphans = true
  }

  /** Slots for jobs that are claimed as they are queued, until the answer is called. */
  reserve(slots: number): () => void {
    this.#reserved += slots
    return () => {
      this.#reserved -= slots
      this.#isOpen ||= this.#isShort
      this.#isShort = false
    }
  }

  /**
   * As many as there is room for, and nothing again until something is heard. Jobs of a dead worker are taken over even
   * by one that is busy.
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
