import type { FinalStatus } from '../contract/job-status.ts'
import { reloadJob } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'
import { accepted, requeue, retryLater } from '../jobs/job-state.ts'
import { stepName } from '../jobs/job-step.ts'
import type { Flight } from '../jobs/job-store.ts'
import { isNotToBeSent, type Marked, markFlight, markNotToBeSent } from '../jobs/mark-store.ts'
import type { SettledOutcome } from '../jobs/statement-outcome.ts'
import { endOf, type JobWrite, type WriteResult } from '../jobs/write-store.ts'
import { backoff, retry } from '../waiting/retry.ts'
import { JobRun } from './job-run.ts'
import { settleUntilKnown } from './settle-flight.ts'
import type { WorkContext } from './work-context.ts'

/** Why we stop before the job has ended. */
export type LeaveReason = 'released' | 'no longer ours' | 'other epoch'

/** Why a statement must not be sent. `gone`: its host does not know the backend of its connection. */
export type NotSentReason = LeaveReason | SettledOutcome | 'gone'

/** Reloads the state from the database after a crash of the server: what we knew may no longer be true. */
export async function reloadRun(context: WorkContext, run: JobRun): Promise<JobRun | undefined> {
  await retryControlWrite(context, () => context.epoch.renew())
  const claimed = await retryControlWrite(context, () => reloadJob(context.databases.control, run.claimed))
  if (!claimed) return undefined
  const reloaded = new JobRun(context.epoch.id, claimed, run.session)
  reloaded.keepCountOf(run)
  return reloaded
}

/**
 * Records that a statement is about to be sent, before it is sent. The record must come before the statement in the same WAL: on
 * the host of the control database that is the job's row, on another host a mark there, and both must be on disk. An outcome: the
 * step was sent before and must not be sent again, although the restored or failed-over control database does not know it.
 */
export async function announce(
  context: WorkContext,
  run: JobRun,
  flight: Flight,
): Promise<NotSentReason | undefined> {
  // PostgreSQL refused to run it in the transaction announced before, so that flight is settled; its backend is ours.
  const refused = run.flight
  const interruption = followUp(run, await write(context, run.announce(flight)))
  return interruption ?? (run.isBesideControl ? undefined : mark(context, run, flight, refused))
}

async function mark(
  context: WorkContext,
  run: JobRun,
  flight: Flight,
  refused: Flight | null,
): Promise<NotSentReason | undefined> {
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

/** The same mark can be written again. Giving up too soon would leave it unknown whether the statement was sent. */
async function markPatiently(
  context: WorkContext,
  run: JobRun,
  flight: Flight,
  settled: Flight | null,
): Promise<Marked> {
  const { hostId } = run.claimed.target
  const put = () => markFlight(context.databases, hostId, placeOf(run), flight, settled)
  return retry(put, patience(context)).catch(() => 'gone')
}

/**
 * The transaction of a statement that runs outside of ours was rolled back. Its mark has no xid to ask for, so the next
 * attempt would take it for a statement whose outcome is unknown: replaces it. False: the host does not answer.
 */
export async function takeBackMark(context: WorkContext, run: JobRun, flight: Flight): Promise<boolean> {
  const { hostId } = run.claimed.target
  const put = () => markNotToBeSent(context.databases, hostId, placeOf(run), flight)
  return retry(put, patience(context)).then(
    () => true,
    () => false,
  )
}

const placeOf = ({ job, step }: JobRun) => ({ jobId: job.id, step: stepName(step) })

const patience = ({ interrupted }: WorkContext) => ({
  attempts: 41,
  isTransient: () => !interrupted.aborted,
  pauseMs: () => 250,
})

/** Compares the revision of our last write. The claim alone would not reveal a restored control database. */
async function isStillOurs(context: WorkContext, run: JobRun): Promise<boolean> {
  const found = await retryControlWrite(context, () => reloadJob(context.databases.control, run.claimed))
  return found?.revision === run.revision
}

export async function save(context: WorkContext, run: JobRun): Promise<LeaveReason | undefined> {
  return followUp(run, await write(context, run.toWrite()))
}

/** An untouched job returns to its place in the queue; any other stays running, without a worker. */
export async function release(context: WorkContext, run: JobRun): Promise<LeaveReason> {
  const job = run.isUntouched ? accepted(requeue(run.job, new Date())) : run.job
  const written = await write(context, { ...run.toWrite(job), isReleased: true })
  return followUp(run, written) ?? 'released'
}

/** The running item was rolled back: puts the job aside until its next attempt. */
export async function waitForRetry(context: WorkContext, run: JobRun): Promise<LeaveReason> {
  const { retry, retries = 0 } = run.job
  const delayMs = Math.min(retry!.backoffMs * 2 ** retries, longestBackoffMs)
  // Until when, the database tells by its own clock.
  const job = accepted(retryLater(run.job, new Date(), new Date()))
  const waiting = { ...run.toWrite(job), flight: null, losses: 0, restarts: 0, isReleased: true, delayMs }
  return followUp(run, await write(context, waiting)) ?? 'released'
}

const longestBackoffMs = 3_600_000

/** Returns the job as it has ended. */
export async function end(context: WorkContext, run: JobRun): Promise<Job | LeaveReason> {
  const ended = await write(context, endOf(run.toWrite().from, run.job, run.epoch))
  if (ended.outcome === 'written') logEnd(context, run.job, ended.at)
  return followUp(run, ended) ?? { ...run.job, updatedAt: ended.at }
}

/** Repeating it is safe: it is always the same write. */
function write(context: WorkContext, what: JobWrite): Promise<WriteResult> {
  return retryControlWrite(context, () => context.write(what))
}

/** Retries a write to the control database, with backoff, until it is answered. */
function retryControlWrite<T>({ log, abandoned }: WorkContext, write: () => Promise<T>): Promise<T> {
  return retry(write, {
    pauseMs: backoff(20, 1_000),
    onRetry: (error, pauseMs) =>
      log.warn({ err: error, pauseMs }, 'a write to the control database failed: trying again'),
    signal: abandoned,
  })
}

function followUp(run: JobRun, { outcome }: WriteResult): LeaveReason | undefined {
  if (outcome === 'other epoch') return 'other epoch'
  if (outcome === 'not ours') return 'no longer ours'
  run.noteWritten()
  return undefined
}

/** Never logs statements or their errors, which may contain user data. A SQLSTATE, or our own reason, is safe. */
function logEnd({ log, metrics }: WorkContext, job: Job, endedAt: Date): void {
  const startedAt = job.items[0]?.startedAt ?? endedAt
  const status = job.status as FinalStatus
  const dueAt = Math.max(job.createdAt.getTime(), job.notBefore ? Date.parse(job.notBefore) : 0)
  const waitMs = job.retries ? 0 : Math.max(0, startedAt.getTime() - dueAt)
  const runMs = Math.max(0, endedAt.getTime() - startedAt.getTime())
  const { failedSqlstate: sqlstate, failedReason } = job
  const reason = sqlstate === undefined ? failedReason : undefined
  log.info({ jobId: job.id, username: job.user, status, sqlstate, reason, waitMs, runMs }, 'job ended')
  metrics?.jobFinished({ status, waitMs, runMs })
}
