import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { isFinal, type Job } from './job.ts'
import { cancel, stepSucceeded, stepUnknown } from './job-state.ts'
import { type Flight, lockJob, type StoredJob } from './job-store.ts'
import { isInFlight, judgeFlight } from './judge-flight.ts'
import { announceJobs, endJob } from './queue-store.ts'
import { outcomeTooOld } from './unknown-reasons.ts'

/**
 * Cancels a job that waits or runs, and answers when its statement has been stopped. A statement that committed
 * before it could be stopped is done; if it was the last one, so is the job, and the cancel is refused.
 */
export async function cancelJob(databases: Databases, account: Account, id: string): Promise<Job> {
  for (const deadline = Date.now() + patienceMs; ; ) {
    const ended = await inTransaction(databases.control, (tx) => tryToEnd(databases, tx, account, id))
    if (ended?.status === 'cancelled') return ended
    if (ended) throw errors.cancelRefused(ended.status)
    if (Date.now() > deadline) throw errors.statementNotStopped()
    await sleep(askAgainMs)
  }
}

const patienceMs = 20_000
const askAgainMs = 20

/**
 * The lock on the job is held from the first look to the last write: meanwhile its worker can neither record nor
 * begin anything, and if we die, nothing has been said. None: its worker has something to record first.
 */
async function tryToEnd(
  databases: Databases,
  tx: ClientBase,
  account: Account,
  id: string,
): Promise<Job | undefined> {
  await tx.query(
    `set local lock_timeout = '${patienceMs}ms'; set local idle_in_transaction_session_timeout = '60s'`,
  )
  const found = await lockJob(tx, account, id)
  if (!found) throw errors.jobNotFound(id)
  if (isFinal(found.job.status)) throw errors.cancelRefused(found.job.status)
  const stopped = found.flight ? await stopStatement(databases, account, found, found.flight) : found.job
  if (!stopped) return undefined
  return end(tx, found, isFinal(stopped.status) ? stopped : accepted(cancel(stopped, new Date())))
}

/** The job as it is once nothing of it runs any more: its step is done, or still marked as running and did not happen. */
async function stopStatement(
  databases: Databases,
  account: Account,
  { job }: StoredJob,
  flight: Flight,
): Promise<Job | undefined> {
  // It has ended, and only its worker knows how.
  if (flight.xid === null && !(await isInFlight(databases, account.hostId, flight))) return undefined
  const { outcome } = await judgeFlight(databases, account.hostId, flight)
  if (flight.xid === null || outcome === 'aborted') return job
  return accepted(
    outcome === 'committed' ? stepSucceeded(job, new Date()) : stepUnknown(job, outcomeTooOld, new Date()),
  )
}

async function end(tx: ClientBase, from: StoredJob, job: Job): Promise<Job> {
  const ended = await endJob(tx, from, job)
  if (ended.written !== 'written') throw new Error(`a locked job was ${ended.written}`)
  await announceJobs(tx)
  return { ...job, updatedAt: ended.at }
}

function accepted(transition: ReturnType<typeof cancel>): Job {
  if (!transition.ok) throw new Error(transition.message)
  return transition.job
}
