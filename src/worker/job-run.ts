import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClaimedJob, reloadJob } from '../jobs/claim-store.ts'
import { isNotToBeSent, type Marked, markFlight } from '../jobs/flight-marks.ts'
import type { Job } from '../jobs/job.ts'
import { accepted, requeue, type Transition } from '../jobs/job-state.ts'
import { runningStep, stepName } from '../jobs/job-step.ts'
import type { Flight } from '../jobs/job-store.ts'
import type { SettledOutcome } from '../jobs/statement-outcome.ts'
import { endOf, type JobWrite } from '../jobs/write-jobs.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { Session } from '../postgres/session.ts'
import type { GivenJob, WriteResult } from './queue-exchange.ts'
import { retryControlWrite } from './retry-control-write.ts'
import { settleUntilKnown } from './settle-flight.ts'
import type { WorkContext } from './work-context.ts'

/** One job in our hands, as the next write will say. */
export type JobRun = {
  readonly claimed: ClaimedJob
  /**
   * The epoch of the control server in which everything here was learnt: a commit need not have been on the disk, and of a
   * server that has failed over even the row may be one that others had taken from us. So every write goes by it.
   */
  readonly epoch: string
  /** Of the row as we wrote it last. */
  revision: number
  job: Job
  flight: Flight | null
  losses: number
  restarts: number
  /** How often in a row a step could not even be begun. */
  unsent: number
  session: Session | null
  /** The transaction that is open on the session, for the next step. It may have been announced already. */
  ahead: Flight | null
  /** It has ended, and we were given another one in its place. */
  isReplaced: boolean
}

/** Why we stop before the job has ended. */
export type Interruption = 'released' | 'no longer ours' | 'other epoch'

/** Why a statement must not be sent. */
export type Stop = Interruption | SettledOutcome

export function beginRun({ epoch }: WorkContext, { claimed, begun }: GivenJob): JobRun {
  const isAnnounced = begun !== undefined && claimed.flight !== null
  return {
    claimed,
    epoch: begun?.epoch ?? epoch.id,
    revision: claimed.revision,
    job: claimed.job,
    flight: isAnnounced ? begun.flight : claimed.flight,
    losses: claimed.losses,
    restarts: claimed.restarts,
    unsent: 0,
    session: begun?.session ?? null,
    ahead: begun?.flight ?? null,
    isReplaced: false,
  }
}

/** The next step is in flight already, in the transaction that was begun for it. */
export function isAnnounced({ flight, ahead }: JobRun): boolean {
  return flight !== null && flight === ahead
}

/** From what the database says, after the server has crashed: what we knew besides may no longer be so. */
export async function beginAgain(context: WorkContext, run: JobRun): Promise<JobRun | undefined> {
  await retryControlWrite(context, () => context.epoch.renew())
  const claimed = await retryControlWrite(context, () => reloadJob(context.databases.control, run.claimed))
  return claimed && { ...beginRun(context, { claimed, begun: undefined }), session: run.session }
}

export function isBesideControl({ claimed }: JobRun): boolean {
  return claimed.target.hostId === firstHostId
}

export function advance(run: JobRun, transition: Transition): void {
  run.job = accepted(transition)
  run.flight = null
  run.losses = 0
  run.restarts = 0
  run.unsent = 0
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
  run.flight = flight
  const interruption = await save(context, run)
  return interruption ?? (isBesideControl(run) ? undefined : mark(context, run, flight, refused))
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
    if (marked === 'gone') return 'other epoch'
    if (!(await isStillOurs(context, run))) return 'no longer ours'
    if (!isNotToBeSent(marked)) {
      const outcome = await settleUntilKnown(context, run.claimed, marked)
      if (outcome?.kind !== 'aborted') return outcome ?? releaseJob(context, run)
    }
    settled = marked
  }
}

/** The same mark can be put again. Given up too soon, nobody could tell afterwards that the statement was not sent. */
async function markPatiently(
  { databases, interrupted }: WorkContext,
  { claimed, job }: JobRun,
  flight: Flight,
  settled: Flight | null,
): Promise<Marked> {
  const step = { jobId: job.id, step: stepName(runningStep(job)!) }
  for (let left = mostMarks; ; left -= 1) {
    try {
      return await markFlight(databases, claimed.target.hostId, step, flight, settled)
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
  return followUp(run, await write(context, writeOf(run)))
}

/** A job of which nothing has run goes back to its place in the queue; another stays running, without a worker. */
export async function releaseJob(context: WorkContext, run: JobRun): Promise<Interruption> {
  const isUntouched = !run.flight && run.job.items.every(({ status }) => status === 'pending')
  const job = isUntouched ? accepted(requeue(run.job, new Date())) : run.job
  const written = await write(context, { ...writeOf(run), job, isReleased: true })
  return followUp(run, written) ?? 'released'
}

export async function end(context: WorkContext, run: JobRun): Promise<Interruption | undefined> {
  const { job } = run
  keepBegun(context, run)
  const ended = await write(context, endOf(writeOf(run).from, job, run.epoch))
  run.isReplaced = ended.isReplaced
  if (ended.outcome === 'written') tell(context, job, ended.at)
  return followUp(run, ended)
}

/** What was begun ahead is for the next job of the user. */
function keepBegun({ begunTransactions }: WorkContext, run: JobRun): void {
  const { claimed, session, ahead: flight, epoch } = run
  begunTransactions.noteEnd(claimed.userId)
  if (!session || !flight) return
  begunTransactions.put({ userId: claimed.userId, session, flight, epoch, begunAt: performance.now() })
  run.session = null
  run.ahead = null
}

/** However often it is sent, it is one and the same write. */
function write(context: WorkContext, what: JobWrite): Promise<WriteResult> {
  return retryControlWrite(context, () => context.writer.write(what))
}

function writeOf(run: JobRun): JobWrite {
  const { claimed, revision, job, flight, losses, restarts, epoch } = run
  return {
    from: { ...claimed, revision },
    writeId: randomUUID(),
    job,
    flight,
    losses,
    restarts,
    epoch,
    isReleased: false,
  }
}

function followUp(run: JobRun, { outcome }: WriteResult): Interruption | undefined {
  if (outcome === 'other epoch') return 'other epoch'
  if (outcome === 'not ours') return 'no longer ours'
  run.revision += 1
  return undefined
}

/** Never what the statements or their errors say: that may be anybody's data. A SQLSTATE, or a reason of our own, is not. */
function tell({ log, metrics }: WorkContext, job: Job, endedAt: Date): void {
  const startedAt = job.items[0]?.startedAt ?? endedAt
  const status = job.status as 'done' | 'failed' | 'cancelled' | 'unknown'
  const waitMs = Math.max(0, startedAt.getTime() - job.createdAt.getTime())
  const runMs = Math.max(0, endedAt.getTime() - startedAt.getTime())
  const { failedSqlstate: sqlstate, failedReason } = job
  const reason = sqlstate === undefined ? failedReason : undefined
  log.info({ jobId: job.id, username: job.user, status, sqlstate, reason, waitMs, runMs }, 'job ended')
  metrics?.jobFinished({ status, waitMs, runMs })
}
