import type { ClaimedJob, ClaimRequest, Claims } from '../jobs/claim-store.ts'
import { isInDoubt } from '../postgres/control/group-commit.ts'
import type { BegunSession, BegunTransactions } from './begun-transactions.ts'

/** A claimed job, and the transaction in which its first statement can be sent, or already is in flight. */
export type GivenJob = Readonly<{ claimed: ClaimedJob; begun: BegunSession | undefined }>

export type Exchange<Answer> = Readonly<{
  /** None: claim no job, not even to replace one that ends. */
  request: Omit<ClaimRequest, 'transactions'> | undefined
  /** Transactions begun ahead, for the claimed jobs. */
  offered: readonly BegunSession[]
  send: (request?: ClaimRequest) => Promise<Answer>
}>

/** One exchange with the queue, which may return jobs. */
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
      // The answer was lost: a job that we never hear of may be in flight in this transaction, so it must not be used.
      if (isInDoubt(error)) void begun.session.destroy()
      else begunTransactions.put(begun)
    }
    throw error
  }
}

/** The offered transaction in which the job is in flight, if any. */
function beginningOf(
  { userId, flight }: ClaimedJob,
  offered: readonly BegunSession[],
): BegunSession | undefined {
  return offered.find((begun) => flight?.xid === begun.flight.xid && userId === begun.userId)
}
