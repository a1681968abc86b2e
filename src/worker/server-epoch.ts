import type { Pool } from 'pg'
import { readServerEpoch } from '../jobs/queue-store.ts'

/** The server's epoch as far as this worker knows: from one crash to the next. */
export class ServerEpoch {
  readonly #control: Pool
  #id = ''

  constructor(control: Pool) {
    this.#control = control
  }

  get id(): string {
    return this.#id
  }

  async renew(): Promise<void> {
    this.#id = await readServerEpoch(this.#control)
  }
}
