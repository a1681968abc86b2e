import { setTimeout as sleep } from 'node:timers/promises'
import type { FinalStatus } from '../contract/job-status.ts'
import { reloadJob } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'
import { accepted, requeue } from '../jobs/job-state.ts'
import { stepName } from '../jobs/job-step.ts'
import type { Flight } from '../jobs/job-store.ts'
import { isNotToBeSent, type Marked, markFlight } from '../jobs/mark-store.ts'
import type { SettledOutcome } from '../jobs/statement-outcome.ts'
import { endOf, type JobWrite, type WriteResult } from '../jobs/write-store.ts'
import { JobRun } from './job-run.ts'
import { settleUntilKnown } from './settle-flight.ts'
import type { WorkContext } from './work-context.ts'

/** Why we stop before the job has ended. */
export type Interruption = 'released' | 'no longer ours' | 'other epoch'

/** Why a statement must not be sent. `gone`: its host does not know the backend of its connection. */
export type Stop = Interruption | SettledOutcome | 'gone'

/** From what the database says, after the server has crashed: what we knew besides may no longer be so. */
export async function reloadRun(context: WorkContext, run: JobRun): Promise<JobRun | undefined> {
  await retryControlWrite(context, () => context.epoch.renew())
  const claimed = await retryControlWrite(context, () => reloadJob(context.databases.control, run.claimed))
  return claimed && new JobRun(context.epoch.id, { claimed, begun: undefined }, run.session)
}

/**
 * Writes down that a statement is about to be sent. That must be on the disk before it is; and on another host than that
 * of the control database also there, in the log in which the statement itself will be. An outcome: the step was sent
 * before and may not be sent again, although the control database, restored or failed over, knows nothing of it.
 */
export async function announce(context: WorkContext, run: JobRun, flight: Flight): Promise<Stop | undefined> {
  if (flight === run.flight) return undefined
  // PostgreSQL has refused to run it in the transaction announced before, so that flight is settled; its backend is ours.
  const refused = run.flight
  run.setFlight(flight)
  const interruption = await save(context, run)
  return interruption ?? (run.isBesideControl ? undefined : mark(context, run, flight, refused))
}

async function mark(
  context: WorkContext,
  run: JobRun,
  flight: Flight,
  refused: Flight | null,
): Promise<Stop | undefined> {
  let settled = refused
  for (;;) {
    const marked = await markPatiently(context, run, flight, settled)
    if (marked === 'marked') return undefined
    if (marked === 'gone') return 'gone'
    if (!(await isStillOurs(context, run))) return 'no longer ours'
    if (!isNotToBeSent(marked)) {
      const outcome = await settleUntilKnown(context, run.claimed, marked)
      if (outcome?.kind !== 'aborted') return outcome ?? release(context, run)
    }
    settled = marked
  }
}

/** The same mark can be put again. Given up too soon, nobody could tell afterwards that the statement was not sent. */
async function markPatiently(
  { databases, interrupted }: WorkContext,
  { claimed, job, step }: JobRun,
  flight: Flight,
  settled: Flight | null,
): Promise<Marked> {
  const place = { jobId: job.id, step: stepName(step) }
  for (let left = mostMarks; ; left -= 1) {
    try {
      return await markFlight(databases, claimed.target.hostId, place, flight, settled)
    } catch {
      if (left === 0 || interrupted.aborted) return 'gone'
      await sleep(markPauseMs)
    }
  }
}

const mostMarks = 40
const markPauseMs = 250

/** The very row that we wrote last. The claim alone would not tell of a control database that was set back. */
async function isStillOurs(context: WorkContext, run: JobRun): Promise<boolean> {
  const found = await retryControlWrite(context, () => reloadJob(context.databases.control, run.claimed))
  return found?.revision === run.revision
}

export async function save(context: WorkContext, run: JobRun): Promise<Interruption | undefined> {
  return followUp(run, await write(context, run.toWrite()))
}

/** A job of which nothing has run goes back to its place in the queue; another stays running, without a worker. */
export async function release(context: WorkContext, run: JobRun): Promise<Interruption> {
  const job = run.isUntouched ? accepted(requeue(run.job, new Date())) : run.job
  const written = await write(context, { ...run.toWrite(job), isReleased: true })
  return followUp(run, written) ?? 'released'
}

/** The job as it has ended. */
export async function end(context: WorkContext, run: JobRun): Promise<Job | Interruption> {
  const { begunTransactions } = context
  begunTransactions.noteEnd(run.claimed.userId)
  const begun = run.takeBegun()
  if (begun) begunTransactions.put(begun)
  const ended = await write(context, endOf(run.toWrite().from, run.job, run.epoch))
  if (ended.outcome === 'written') tell(context, run.job, ended.at)
  return followUp(run, ended) ?? { ...run.job, updatedAt: ended.at }
}

/** However often it is sent, it is one and the same write. */
function write(context: WorkContext, what: JobWrite): Promise<WriteResult> {
  return retryControlWrite(context, () => context.write(what))
}

/** Repeats a write to the control database, with backoff, until it is answered. */
async function retryControlWrite<T>({ log, abandoned }: WorkContext, write: () => Promise<T>): Promise<T> {
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, longestWritePauseMs)) {
    abandoned.throwIfAborted()
    try {
      return await write()
    } catch (error) {
      log.warn({ err: error, pauseMs }, 'the control database did not take a write')
      await sleep(pauseMs, undefined, { signal: abandoned })
    }
  }
}

const longestWritePauseMs = 1_000

function followUp(run: JobRun, { outcome }: WriteResult): Interruption | undefined {
  if (outcome === 'other epoch') return 'other epoch'
  if (outcome === 'not ours') return 'no longer ours'
  run.noteWritten()
  return undefined
}

/** Never what the statements or their errors say: that may be anybody's data. A SQLSTATE, or a reason of our own, is not. */
function tell({ log, metrics }: WorkContext, job: Job, endedAt: Date): void {
  const startedAt = job.items[0]?.startedAt ?? endedAt
  const status = job.status as FinalStatus
  const waitMs = Math.max(0, startedAt.getTime() - job.createdAt.getTime())
  const runMs = Math.max(0, endedAt.getTime() - startedAt.getTime())
  const { failedSqlstate: sqlstate, failedReason } = job
  const reason = sqlstate === undefined ? failedReason : undefined
  log.info({ jobId: job.id, username: job.user, status, sqlstate, reason, waitMs, runMs }, 'job ended')
  metrics?.jobFinished({ status, waitMs, runMs })
}
