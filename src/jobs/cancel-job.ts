import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { isFinal } from '../contract/job-status.ts'
import { AppError, errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { Job } from './job.ts'
import { accepted, beginStep, cancel, claim } from './job-state.ts'
import { nextStep, stepName } from './job-step.ts'
import type { Flight, StoredJob } from './job-store.ts'
import { isNotToBeSent, listMarks, markNotToBeSent } from './mark-store.ts'
import { announceJobs } from './queue-store.ts'
import {
  isInFlight,
  type Patience,
  type SettledOutcome,
  settleFlight,
  stepSettled,
} from './statement-outcome.ts'
import { withLockedJob } from './with-locked-job.ts'
import { endOf, writeJobs } from './write-store.ts'

/**
 * Cancels a waiting or running job, and returns when its statement has been stopped. A statement that committed before
 * it could be stopped is done; if it was the last one, so is the job, and the cancel is refused.
 */
export async function cancelJob(databases: Databases, account: Account, id: string): Promise<Job> {
  const ended = await withLockedJob(databases, account, id, async (tx, found) => {
    if (isFinal(found.job.status)) throw errors.cancelRefused(found.job.status)
    const stopped = await stopJob(databases, account, found).catch(unlessNotStopped)
    if (!stopped) return undefined
    return end(tx, found, isFinal(stopped.status) ? stopped : accepted(cancel(stopped, new Date())))
  })
  if (ended.status !== 'cancelled') throw errors.cancelRefused(ended.status)
  return ended
}

function stopJob(databases: Databases, account: Account, found: StoredJob): Promise<Job | undefined> {
  const { job, flight } = found
  return flight ? stopStatement(databases, account, job, flight) : withLostSteps(databases, account, job)
}

/** While a backend does not end, the lock is released and the cancel is retried. */
function unlessNotStopped(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'statement-not-stopped') return undefined
  throw error
}

/**
 * Stops the running statement. Returns the job with the step done, or still running if it did not happen. Undefined:
 * the statement has ended, and only its worker knows how.
 */
async function stopStatement(
  databases: Databases,
  { hostId }: Account,
  job: Job,
  flight: Flight,
): Promise<Job | undefined> {
  if (flight.xid === null && !(await isInFlight(databases, hostId, flight))) return undefined
  const outcome = await settleFlight(databases, hostId, job.id, flight, whileLocked)
  return flight.xid === null || outcome.kind === 'aborted' ? job : accepted(stepSettled(job, outcome))
}

/** Meanwhile the job's row is locked, and a control connection is in use. */
const whileLocked: Patience = { attempts: 1, waitMs: 1_000 }

/**
 * The job's true state. After a restore or fail-over of the control database, a job on another host may have done more
 * than its row says: each statement that was sent has a mark on that host. Marks the next step so that it is not sent.
 */
async function withLostSteps(databases: Databases, { hostId }: Account, job: Job): Promise<Job | undefined> {
  if (hostId === firstHostId) return job
  const marks = await listMarks(databases, hostId, job.id)
  let known = job
  for (;;) {
    const next = nextStep(known)
    if (!next) return known
    const step = { jobId: job.id, step: stepName(next) }
    const flight = marks.get(step.step) ?? null
    const outcome = flight && (await settleMark(databases, hostId, job.id, flight))
    if (!outcome) {
      return (await markNotToBeSent(databases, hostId, step, flight)) ? known : undefined
    }
    const running = known.status === 'pending' ? accepted(claim(known, new Date())) : known
    const begun = accepted(beginStep(running, new Date()))
    known = accepted(stepSettled(begun, outcome))
  }
}

/** Undefined: the statement did not happen. */
async function settleMark(
  databases: Databases,
  hostId: number,
  jobId: string,
  flight: Flight,
): Promise<SettledOutcome | undefined> {
  if (isNotToBeSent(flight)) return undefined
  const outcome = await settleFlight(databases, hostId, jobId, flight, whileLocked)
  return outcome.kind === 'aborted' ? undefined : outcome
}

async function end(tx: ClientBase, from: StoredJob, job: Job): Promise<Job> {
  const { written } = await writeJobs(tx, [endOf(from, job)])
  const ended = written[0]!
  if (ended.outcome !== 'written') throw new Error(`a locked job was ${ended.outcome}`)
  await announceJobs(tx)
  return { ...job, updatedAt: ended.at }
}
