import { limitOf } from '../config/account-limits.ts'
import { isFinal } from '../contract/job-status.ts'
import { renderFallback } from '../jobs/fallback-template.ts'
import type { Job } from '../jobs/job.ts'
import { abandon, accepted, beginStep, stepFailed, stepSucceeded } from '../jobs/job-state.ts'
import type { Step } from '../jobs/job-step.ts'
import type { Flight } from '../jobs/job-store.ts'
import { isInFlight, stepSettled } from '../jobs/statement-outcome.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import { isOneTransaction, isUtility } from '../sql/job-statement.ts'
import type { JobRun } from './job-run.ts'
import { openSession } from './open-session.ts'
import {
  announce,
  type LeaveReason,
  type NotSentReason,
  release,
  save,
  takeBackMark,
  waitForRetry,
} from './record-run.ts'
import { settleUntilKnown } from './settle-flight.ts'
import {
  beginStatement,
  type Loss,
  type StepOutcome,
  type StepStatement,
  sendStatement,
} from './statement.ts'
import type { WorkContext } from './work-context.ts'

/** Runs the next step of a job: connects; begins, announces and sends its statement; settles the outcome. */
export async function runStep(context: WorkContext, run: JobRun): Promise<LeaveReason | undefined> {
  if (run.session?.isLeftBehind) await run.dropSession()
  const opened = await openSession(context, run)
  if (opened.kind === 'vanished') return abandonJob(run, opened.reason)
  if (opened.kind === 'unreachable') return release(context, run)
  run.beginStep(opened.session)
  const statement = statementOf(context, run)
  const begun = await beginStatement(opened.session, statement, run.takeAhead())
  if (begun.kind === 'not-sent') return beginStepAgain(context, run, begun.cause)
  if (context.interrupted.aborted) {
    await run.dropUnsent()
    return release(context, run)
  }
  const stop = await announce(context, run, begun.flight)
  if (stop === 'gone') return beginStepAgain(context, run, new Error('its host does not know the connection'))
  if (stop) return stopStep(run, stop)
  const { flight } = begun
  // Such as CREATE INDEX CONCURRENTLY, which would leave an invalid index behind: only a stop cuts it short.
  const runsOn = flight.xid === null && isUtility(statement.text)
  const cut = runsOn ? context.stopping : context.interrupted
  return settle(context, run, await sendStatement(opened.session, statement, flight, cut))
}

export function abandonJob(run: JobRun, reason: string): undefined {
  run.advance(abandon(run.job, reason, new Date()))
}

function statementOf(context: WorkContext, run: JobRun): StepStatement {
  const { job, step } = run
  const { value: limitMs } = limitOf(context.config, run.claimed.limits, 'job_timeout_ms')
  return {
    params: step.kind === 'item' ? step.params : undefined,
    parameterTypes: context.parameterTypes,
    text: step.kind === 'item' ? step.statement : renderFallback(step.statement, valuesOf(job, step)),
    timeoutMs: step.kind === 'item' ? Math.min(step.timeoutMs ?? limitMs, limitMs) : limitMs,
    isBesideControl: run.isBesideControl,
    isRefusedInside: run.isRefusedInside,
    isFollowed: isFollowed(run),
  }
}

function valuesOf(job: Job, step: Step) {
  const failed = step.kind === 'item-fallback' ? job.items[step.index]! : job
  return { jobId: job.id, errorMessage: failed.failedReason ?? '' }
}

/** If the step succeeds, another one follows. */
function isFollowed(run: JobRun): boolean {
  return !isFinal(accepted(stepSucceeded(run.job, new Date())).status)
}

/**
 * The connection was lost before use, or leads to another server than the administrator's, as for a while after a
 * fail-over. Retries with another one; after several failures, with a growing pause.
 */
export async function beginStepAgain(
  context: WorkContext,
  run: JobRun,
  cause: unknown,
): Promise<LeaveReason | undefined> {
  if ((await run.dropUnsent()) < mostUnsent) return undefined
  const { health, interrupted } = context
  const isHostThere = await health.tenantFailed(run.claimed.target, cause, interrupted)
  if (!isHostThere || run.countRestart() <= mostRestarts) return release(context, run)
  const begun = accepted(beginStep(run.job, new Date()))
  run.advance(
    stepFailed(begun, 'The connection was lost repeatedly before the statement was sent', new Date()),
  )
  return undefined
}

const mostUnsent = 3

/** The statement was not sent: the job is no longer ours, or its step was sent before. */
export function stopStep(run: JobRun, stop: Exclude<NotSentReason, 'gone'>): LeaveReason | undefined {
  if (typeof stop === 'string') return stop
  run.advance(stepSettled(run.job, stop))
  return undefined
}

async function settle(
  context: WorkContext,
  run: JobRun,
  outcome: StepOutcome,
): Promise<LeaveReason | undefined> {
  switch (outcome.kind) {
    case 'refused':
      run.runOutside()
      return undefined
    case 'lost':
      return settleLoss(context, run, outcome)
    case 'succeeded':
      noteRunTime(context, run)
      run.advance(stepSucceeded(run.job, new Date(), outcome.rows))
      run.setAhead(outcome.ahead)
      break
    case 'failed':
      if (mayRetry(run, outcome)) return tryLater(context, run, outcome)
      run.advance(stepFailed(run.job, clip(outcome.reason), new Date(), outcome.sqlstate))
  }
  // Its outcome could not be determined later, so record it at once.
  return outcome.isOutside && !isFinal(run.job.status) ? save(context, run) : undefined
}

function noteRunTime({ runTimes }: WorkContext, { claimed, step, runMs }: JobRun): void {
  if (step.kind !== 'item') return
  runTimes.note({ userId: claimed.userId, statement: step.statement, durationMs: runMs })
}

type Failure = Extract<StepOutcome, { kind: 'failed' }>

/** Only an item that ran in a transaction, ours or its own, and only after an error that another attempt may mend. */
function mayRetry({ job, step }: JobRun, { sqlstate: state = '', isOutside }: Failure): boolean {
  if (!job.retry || step.kind !== 'item') return false
  const isMendable = mendableClasses.has(state.slice(0, 2)) || state === sqlstate.cannotConnectNow
  if (!isMendable || (job.retries ?? 0) + 1 >= job.retry.attempts) return false
  return !isOutside || isOneTransaction(step.statement)
}

/** Transaction rollback (deadlock, serialization), insufficient resources, object not in prerequisite state (lock). */
const mendableClasses = new Set(['40', '53', '55'])

/** Asks PostgreSQL whether the transaction is aborted, as after any loss; if so, the job waits for its next attempt. */
async function tryLater(
  context: WorkContext,
  run: JobRun,
  failure: Failure,
): Promise<LeaveReason | undefined> {
  const flight = run.flight!
  await run.dropSession()
  if (failure.isOutside) return tryOutsideLater(context, run, failure, flight)
  const outcome = await settleUntilKnown(context, run.claimed, flight)
  if (!outcome) return release(context, run)
  if (outcome.kind === 'aborted') return waitForRetry(context, run)
  run.advance(stepSettled(run.job, outcome))
  return undefined
}

/** If the item is a transaction of its own, the error means that it was rolled back. */
async function tryOutsideLater(
  context: WorkContext,
  run: JobRun,
  { reason, sqlstate: state }: Failure,
  flight: Flight,
): Promise<LeaveReason | undefined> {
  if (run.isBesideControl || (await takeBackMark(context, run, flight))) return waitForRetry(context, run)
  run.advance(stepFailed(run.job, clip(reason), new Date(), state))
  return isFinal(run.job.status) ? undefined : save(context, run)
}

/** A job that we took over may be in flight on a connection of its last worker. */
export async function settleTakenOver(context: WorkContext, run: JobRun): Promise<LeaveReason | undefined> {
  const { flight } = run
  if (!flight) return undefined
  const reason = 'its worker was lost'
  const loss = { isTimedOut: false, isInnocent: true, isCut: false }
  return settleLoss(context, run, { kind: 'lost', flight, reason, ...loss })
}

export async function settleLoss(
  context: WorkContext,
  run: JobRun,
  loss: Loss,
): Promise<LeaveReason | undefined> {
  const isInnocent = loss.isInnocent || (loss.isCut && (await isStillRunning(context, run, loss)))
  const outcome = await settleUntilKnown(context, run.claimed, loss.flight)
  // The next worker of the job asks again.
  if (!outcome) return release(context, run)
  if (outcome.kind === 'committed') run.advance(stepSettled(run.job, outcome))
  else if (loss.isTimedOut && outcome.kind === 'aborted')
    run.advance(stepFailed(run.job, timeoutText, new Date(), sqlstate.queryCanceled))
  // Certain: the worker ended the backend, and it has ended.
  else if (loss.endReason)
    run.advance(stepFailed(run.job, loss.endReason, new Date(), sqlstate.insufficientPrivilege))
  else if (outcome.kind === 'unknown') run.advance(stepSettled(run.job, outcome))
  else if (context.interrupted.aborted) run.abortStep()
  else retryStep(run, loss, isInnocent || outcome.isServerRestarted)
  return undefined
}

/** The backend is still running: the network cut the connection, such as a proxy's idle limit, not the statement. */
function isStillRunning({ databases }: WorkContext, { claimed }: JobRun, { flight }: Loss): Promise<boolean> {
  return isInFlight(databases, claimed.target.hostId, flight).catch(() => false)
}

const timeoutText = 'canceling statement due to statement timeout'

/**
 * Retries the step a limited number of times: a few if the statement itself may have ended its backend, more if its
 * worker or the whole server went down, or the network cut its connection.
 */
function retryStep(run: JobRun, loss: Loss, isInnocent: boolean): void {
  const times = isInnocent ? run.countRestart() : run.countLoss()
  if (times <= (isInnocent ? mostRestarts : mostLosses)) {
    run.abortStep()
    return
  }
  const what = isInnocent
    ? `PostgreSQL, the worker or the network stopped ${times} times while this statement ran`
    : `The connection was lost ${times} times while this statement ran`
  const reason = clip(`${what}: ${loss.reason}`)
  run.advance(stepFailed(run.job, reason, new Date(), sqlstate.connectionFailure))
}

const mostLosses = 2
const mostRestarts = 9

/** A statement can raise errors of any length. */
export function clip(reason: string): string {
  if (reason.length <= longestReason) return reason
  return `${reason.slice(0, longestReason).replace(/[\ud800-\udbff]$/, '')}...`
}

const longestReason = 8_192
