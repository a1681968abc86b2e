import type { Pool } from 'pg'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import { isFinal } from '../jobs/job.ts'
import { type JobWrite, type WriteResult as StoreResult, type Wishes, writeJobs } from '../jobs/write-jobs.ts'
import { GroupCommit, isInDoubt } from '../postgres/group-commit.ts'
import type { BegunSession, BegunTransactions } from './begun-transactions.ts'

/** A job that we were given, and the transaction in which its first statement can be sent, or already is in flight. */
export type GivenJob = Readonly<{ claimed: ClaimedJob; begun: BegunSession | undefined }>

/** Whether another job was given in the place of the one that has ended. */
export type WriteResult = StoreResult & Readonly<{ isReplaced: boolean }>

export type JobWriterOptions = Readonly<{
  control: Pool
  begunTransactions: BegunTransactions
  /** What to ask for now. None: nothing, not even in the place of a job that ends. */
  wishes: () => Omit<Wishes, 'transactions'> | undefined
  onGiven: (job: GivenJob) => void
  /** There may be more to be had. */
  onLeft: (wishes: Pick<Wishes, 'wantedOrphans'>) => void
  /** What was wished for has to be wished for again. */
  onFailure: () => void
}>

/** The conversation of a worker with the queue: writes what becomes of its jobs, and is given others. */
export class JobWriter {
  readonly #options: JobWriterOptions
  readonly #groupCommit = new GroupCommit<readonly JobWrite[], readonly WriteResult[]>((groups, isPatient) =>
    this.#converse(groups, isPatient),
  )

  constructor(options: JobWriterOptions) {
    this.#options = options
  }

  async write(write: JobWrite): Promise<WriteResult> {
    const [result] = await this.#groupCommit.write([write])
    return result!
  }

  /** Asks for jobs, along with whatever there is to write. */
  async ask(): Promise<void> {
    await this.#groupCommit.write([])
  }

  async #converse(
    groups: readonly (readonly JobWrite[])[],
    isPatient: boolean,
  ): Promise<readonly (readonly WriteResult[])[]> {
    const writes = groups.flat()
    const wishes = this.#wishes(writes, isPatient)
    const results = writes.length > 0 || wishes ? [...(await this.#write(writes, wishes, isPatient))] : []
    return groups.map(({ length }) => results.splice(0, length))
  }

  #wishes(writes: readonly JobWrite[], isPatient: boolean): WishesOfSessions | undefined {
    const wishes = this.#options.wishes()
    if (!wishes) return undefined
    const isEmpty = wishes.wanted + wishes.wantedOrphans === 0
    if (isEmpty && !writes.some(({ job }) => isFinal(job.status))) return undefined
    return { ...wishes, transactions: isPatient ? [] : this.#options.begunTransactions.takeAll() }
  }

  async #write(
    writes: readonly JobWrite[],
    wishes: WishesOfSessions | undefined,
    isPatient: boolean,
  ): Promise<readonly WriteResult[]> {
    const { control, onLeft } = this.#options
    try {
      const { results, next, claimed, isLeft } = await writeJobs(control, writes, { isPatient, wishes })
      this.#give([...next, ...claimed], wishes?.transactions ?? [])
      if (wishes && isLeft) onLeft(wishes)
      let replaced = next.length
      return results.map((result, index) => ({
        ...result,
        isReplaced: isFinal(writes[index]!.job.status) && result.outcome === 'written' && replaced-- > 0,
      }))
    } catch (error) {
      if (wishes) this.#withdraw(wishes, isPatient, error)
      throw error
    }
  }

  #give(jobs: readonly ClaimedJob[], transactions: readonly BegunSession[]): void {
    const left = new Set(transactions)
    for (const claimed of jobs) {
      const begun = transactions.find((each) => isInFlightThere(claimed, each))
      this.#options.onGiven({ claimed, begun })
      if (begun) left.delete(begun)
    }
    for (const begun of left) this.#options.begunTransactions.put(begun)
  }

  #withdraw({ transactions }: WishesOfSessions, isPatient: boolean, error: unknown): void {
    const isRefused = !isInDoubt(error)
    for (const begun of transactions) {
      if (isRefused) this.#options.begunTransactions.put(begun)
      // A job may be in flight there of which we shall never hear: nothing else must happen in it.
      else void begun.session.destroy()
    }
    // One that is refused even by itself would be so again.
    if (!(isRefused && isPatient)) this.#options.onFailure()
  }
}

type WishesOfSessions = Omit<Wishes, 'transactions'> & Readonly<{ transactions: readonly BegunSession[] }>

function isInFlightThere({ userId, flight }: ClaimedJob, begun: BegunSession): boolean {
  return flight !== null && flight.xid === begun.flight.xid && userId === begun.userId
}
