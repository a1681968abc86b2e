import type { ClaimedJob, ClaimRequest, Claims } from '../jobs/claim-store.ts'
import { isInDoubt } from '../postgres/control/group-commit.ts'
import type { BegunSession, BegunTransactions } from './begun-transactions.ts'

/** A job that we were given, and the transaction in which its first statement can be sent, or already is in flight. */
export type GivenJob = Readonly<{ claimed: ClaimedJob; begun: BegunSession | undefined }>

export type Exchange<Answer> = Readonly<{
  /** None: no job is to be given, not even in the place of one that ends. */
  request: Omit<ClaimRequest, 'transactions'> | undefined
  /** Transactions that were begun ahead, for the jobs that are given. */
  offered: readonly BegunSession[]
  send: (request?: ClaimRequest) => Promise<Answer>
}>

/** One exchange with the queue, which may give us jobs. */
export async function exchangeWithQueue<Answer extends Claims>(
  begunTransactions: BegunTransactions,
  { request, offered, send }: Exchange<Answer>,
): Promise<Readonly<{ answer: Answer; given: readonly GivenJob[] }>> {
  try {
    const answer = await send(request && { ...request, transactions: offered })
    const given = answer.claimed.map((claimed) => ({ claimed, begun: beginningOf(claimed, offered) }))
    const used = new Set(given.map(({ begun }) => begun))
    for (const begun of offered) if (!used.has(begun)) begunTransactions.put(begun)
    return { answer, given }
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
