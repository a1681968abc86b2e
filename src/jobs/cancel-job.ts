import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { isFinal, type Job } from './job.ts'
import { accepted, cancel, stepSucceeded, stepUnknown } from './job-state.ts'
import type { Flight, StoredJob } from './job-store.ts'
import { isInFlight, judgeFlight } from './judge-flight.ts'
import { announceJobs } from './queue-store.ts'
import { outcomeTooOld } from './unknown-reasons.ts'
import { withLockedJob } from './with-locked-job.ts'
import { endOf, writeJobs } from './write-jobs.ts'

/**
 * Cancels a job that waits or runs, and answers when its statement has been stopped. A statement that committed
 * before it could be stopped is done; if it was the last one, so is the job, and the cancel is refused.
 */
export async function cancelJob(databases: Databases, account: Account, id: string): Promise<Job> {
  const ended = await withLockedJob(databases, account, id, async (tx, found) => {
    if (isFinal(found.job.status)) throw errors.cancelRefused(found.job.status)
    const stopped = found.flight
      ? await stopStatement(databases, account, found.job, found.flight)
      : found.job
    if (!stopped) return undefined
    return end(tx, found, isFinal(stopped.status) ? stopped : accepted(cancel(stopped, new Date())))
  })
  if (ended.status !== 'cancelled') throw errors.cancelRefused(ended.status)
  return ended
}

/**
 * The job as it is once nothing of it runs any more: its step is done, or still marked as running and did not happen.
 * None: it has ended, and only its worker knows how.
 */
async function stopStatement(
  databases: Databases,
  { hostId }: Account,
  job: Job,
  flight: Flight,
): Promise<Job | undefined> {
  if (flight.xid === null && !(await isInFlight(databases, hostId, flight))) return undefined
  const { outcome } = await judgeFlight(databases, hostId, flight)
  if (flight.xid === null || outcome === 'aborted') return job
  const at = new Date()
  return accepted(outcome === 'committed' ? stepSucceeded(job, at) : stepUnknown(job, outcomeTooOld, at))
}

async function end(tx: ClientBase, from: StoredJob, job: Job): Promise<Job> {
  const { results } = await writeJobs(tx, [endOf(from, job)])
  const ended = results[0]!
  if (ended.outcome !== 'written') throw new Error(`a locked job was ${ended.outcome}`)
  await announceJobs(tx)
  return { ...job, updatedAt: ended.at }
}
