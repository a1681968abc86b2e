import type { Pool } from 'pg'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import { isFinal } from '../jobs/job.ts'
import {
  type ClaimRequest,
  type JobWrite,
  type WriteResult as StoreResult,
  writeJobs,
} from '../jobs/write-jobs.ts'
import { GroupCommit, isInDoubt } from '../postgres/group-commit.ts'
import type { BegunSession, BegunTransactions } from './begun-transactions.ts'

/** A job that we were given, and the transaction in which its first statement can be sent, or already is in flight. */
export type GivenJob = Readonly<{ claimed: ClaimedJob; begun: BegunSession | undefined }>

/** Whether another job was given in the place of the one that has ended. */
export type WriteResult = StoreResult & Readonly<{ isReplaced: boolean }>

export type QueueExchangeOptions = Readonly<{
  control: Pool
  begunTransactions: BegunTransactions
  /** What to ask for now. None: nothing, not even in the place of a job that ends. */
  request: () => Omit<ClaimRequest, 'transactions'> | undefined
  onGiven: (job: GivenJob) => void
  /** There may be more to be had. */
  onLeft: (request: Pick<ClaimRequest, 'wantedOrphans'>) => void
  /** What was requested has to be requested again. */
  onFailure: () => void
}>

/** The conversation of a worker with the queue: writes what becomes of its jobs, and is given others. */
export class QueueExchange {
  readonly #options: QueueExchangeOptions
  readonly #groupCommit = new GroupCommit<readonly JobWrite[], readonly WriteResult[]>((groups, isPatient) =>
    this.#converse(groups, isPatient),
  )

  constructor(options: QueueExchangeOptions) {
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
    const request = this.#claimRequest(writes, isPatient)
    const results = writes.length > 0 || request ? [...(await this.#write(writes, request, isPatient))] : []
    return groups.map(({ length }) => results.splice(0, length))
  }

  #claimRequest(writes: readonly JobWrite[], isPatient: boolean): SessionClaimRequest | undefined {
    const request = this.#options.request()
    if (!request) return undefined
    const isEmpty = request.wanted + request.wantedOrphans === 0
    if (isEmpty && !writes.some(({ job }) => isFinal(job.status))) return undefined
    return { ...request, transactions: isPatient ? [] : this.#options.begunTransactions.takeAll() }
  }

  async #write(
    writes: readonly JobWrite[],
    request: SessionClaimRequest | undefined,
    isPatient: boolean,
  ): Promise<readonly WriteResult[]> {
    const { control, onLeft } = this.#options
    try {
      const { results, next, claimed, hasMore } = await writeJobs(control, writes, { isPatient, request })
      this.#give([...next, ...claimed], request?.transactions ?? [])
      if (request && hasMore) onLeft(request)
      let replaced = next.length
      return results.map((result, index) => ({
        ...result,
        isReplaced: isFinal(writes[index]!.job.status) && result.outcome === 'written' && replaced-- > 0,
      }))
    } catch (error) {
      if (request) this.#withdraw(request, isPatient, error)
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

  #withdraw({ transactions }: SessionClaimRequest, isPatient: boolean, error: unknown): void {
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

type SessionClaimRequest = Omit<ClaimRequest, 'transactions'> &
  Readonly<{ transactions: readonly BegunSession[] }>

function isInFlightThere({ userId, flight }: ClaimedJob, begun: BegunSession): boolean {
  return flight !== null && flight.xid === begun.flight.xid && userId === begun.userId
}
