import type { Pool } from 'pg'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import { isFinal } from '../jobs/job.ts'
import {
  type JobWrite,
  type WriteResult as StoreResult,
  type Succession,
  writeJobs,
} from '../jobs/write-jobs.ts'
import { isInDoubt, Together } from '../postgres/together.ts'
import type { BegunSession, Standby } from './standby.ts'

/** A job that we were given, and the transaction in which its first statement can be sent, or already is in flight. */
export type GivenJob = Readonly<{ claimed: ClaimedJob; begun: BegunSession | undefined }>

/** Whether another job was given in the place of the one that has ended. */
export type WriteResult = StoreResult & Readonly<{ isReplaced: boolean }>

export type JobWriterOptions = Readonly<{
  control: Pool
  standby: Standby
  /** None: no job is wanted in the place of one that ends. */
  terms: () => Omit<Succession, 'transactions'> | undefined
  onGiven: (job: GivenJob) => void
  /** An answer was lost, and with it perhaps a job that we were given. */
  onDoubt: () => void
}>

/** Writes what becomes of the running jobs, and is given the next ones. */
export class JobWriter {
  readonly #options: JobWriterOptions
  readonly #together = new Together<JobWrite, WriteResult>((writes, isPatient) =>
    this.#writeTogether(writes, isPatient),
  )

  constructor(options: JobWriterOptions) {
    this.#options = options
  }

  write(write: JobWrite): Promise<WriteResult> {
    return this.#together.write(write)
  }

  async #writeTogether(writes: readonly JobWrite[], isPatient: boolean): Promise<readonly WriteResult[]> {
    const { control, standby, terms, onGiven, onDoubt } = this.#options
    const agreed = writes.some(({ job }) => isFinal(job.status)) ? terms() : undefined
    const transactions = agreed && !isPatient ? standby.takeAll() : []
    const succession = agreed && { ...agreed, transactions }
    try {
      const { results, next } = await writeJobs(control, writes, { isPatient, succession })
      const left = new Map(transactions.map((begun) => [begun.flight.xid, begun]))
      for (const claimed of next) {
        const xid = claimed.flight?.xid ?? null
        onGiven({ claimed, begun: left.get(xid) })
        left.delete(xid)
      }
      for (const begun of left.values()) standby.put(begun)
      let replaced = next.length
      return results.map((result, index) => ({
        ...result,
        isReplaced: isFinal(writes[index]!.job.status) && result.outcome === 'written' && replaced-- > 0,
      }))
    } catch (error) {
      if (!isInDoubt(error)) for (const begun of transactions) standby.put(begun)
      else {
        // A job may be in flight there of which we shall never hear: nothing else must happen in it.
        for (const { session } of transactions) void session.destroy()
        onDoubt()
      }
      throw error
    }
  }
}
