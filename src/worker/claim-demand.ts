import type { Config } from '../config/config.ts'
import type { ClaimRequest } from '../jobs/claim-store.ts'
import { orphanMessage } from '../jobs/queue-store.ts'

export type Demand = Pick<ClaimRequest, 'wanted' | 'wantedOrphans' | 'wantedImports'>

export const noDemand: Demand = { wanted: 0, wantedOrphans: 0, wantedImports: 0 }

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
  take(
    running: Readonly<{ count: number; imports: number }>,
    { jobsPerWorker, importsPerWorker }: Pick<Config, 'jobsPerWorker' | 'importsPerWorker'>,
  ): Demand {
    const room = (most: number, taken: number) => Math.max(0, most - taken)
    const jobs = running.count - running.imports + this.#reserved
    const wanted = this.#isOpen ? room(jobsPerWorker, jobs) : 0
    const wantedImports = this.#isOpen ? room(importsPerWorker, running.imports) : 0
    const wantedOrphans = this.#seesOrphans ? room(2 * jobsPerWorker, running.count + this.#reserved) : 0
    this.#isShort ||= this.#isOpen && this.#reserved > 0
    this.#isOpen = false
    if (wantedOrphans > 0) this.#seesOrphans = false
    return { wanted, wantedOrphans, wantedImports }
  }
}
