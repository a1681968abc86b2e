import type { Pool } from 'pg'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import { type ClaimRequest, type JobWrite, type WriteResult, writeJobs } from '../jobs/write-store.ts'
import { isInDoubt } from '../postgres/control/group-commit.ts'
import type { BegunSession, BegunTransactions } from './begun-transactions.ts'

/** A job that we were given, and the transaction in which its first statement can be sent, or already is in flight. */
export type GivenJob = Readonly<{ claimed: ClaimedJob; begun: BegunSession | undefined }>

export type Exchange = Readonly<{
  writes: readonly JobWrite[]
  /** None: no job is to be given, not even in the place of one that ends. */
  request: Omit<ClaimRequest, 'transactions'> | undefined
  /** Waits for rows that somebody else holds. */
  isPatient: boolean
}>

export type Exchanged = Readonly<{
  /** What became of each write. */
  written: readonly WriteResult[]
  claimed: readonly GivenJob[]
  /** There may be more jobs to be had. */
  hasMore: boolean
}>

/**
 * One exchange with the queue: writes what became of our jobs, and asks for others. The transactions that were begun
 * ahead are offered for them.
 */
export async function exchangeWithQueue(
  control: Pool,
  begunTransactions: BegunTransactions,
  { writes, request, isPatient }: Exchange,
): Promise<Exchanged> {
  const offered = request && !isPatient ? begunTransactions.takeAll() : []
  try {
    const answer = await writeJobs(control, writes, {
      isPatient,
      request: request && { ...request, transactions: offered },
    })
    const claimed = answer.claimed.map((job) => ({ claimed: job, begun: beginningOf(job, offered) }))
    const used = new Set(claimed.map(({ begun }) => begun))
    for (const begun of offered) if (!used.has(begun)) begunTransactions.put(begun)
    return { written: answer.written, claimed, hasMore: answer.hasMore }
  } catch (error) {
    for (const begun of offered) {
      // After a lost answer a job may be in flight there of which we shall never hear: nothing else must happen in it.
      if (isInDoubt(error)) void begun.session.destroy()
      else begunTransactions.put(begun)
    }
    throw error
  }
}

/** The transaction of ours in which the job is in flight, if it is. */
function beginningOf(
  { userId, flight }: ClaimedJob,
  offered: readonly BegunSession[],
): BegunSession | undefined {
  return offered.find((begun) => flight?.xid === begun.flight.xid && userId === begun.userId)
}
