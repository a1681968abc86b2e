import { renderFallback } from '../jobs/fallback-template.ts'
import { isFinal, type Job } from '../jobs/job.ts'
import { abandon, accepted, beginStep, stepAborted, stepFailed, stepSucceeded } from '../jobs/job-state.ts'
import { runningStep, type Step } from '../jobs/job-step.ts'
import type { Flight } from '../jobs/job-store.ts'
import { stepSettled } from '../jobs/statement-outcome.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import {
  advance,
  announce,
  beginAgain,
  beginRun,
  end,
  type Interruption,
  isAnnounced,
  isBesideControl,
  type JobRun,
  releaseJob,
  type Stop,
  save,
} from './job-run.ts'
import { openSession } from './open-session.ts'
import type { GivenJob } from './queue-exchange.ts'
import { runStatement, type Statement, type StatementOutcome, timeoutText } from './run-statement.ts'
import { settleUntilKnown } from './settle-flight.ts'
import type { WorkContext } from './work-context.ts'

/** How a worker parts from a job; `replaced`: it has ended, and another one was given in its place. */
export type Parting = 'ended' | 'replaced' | Exclude<Interruption, 'other epoch'>

/** Goes on with a job from where it is to its end, as long as it is ours. */
export async function executeJob(context: WorkContext, given: GivenJob): Promise<Parting> {
  let run: JobRun | undefined = beginRun(context, given)
  try {
    for (;;) {
      const interruption = await runToEnd(context, run)
      if (interruption !== 'other epoch') return interruption ?? (run.isReplaced ? 'replaced' : 'ended')
      const again = await beginAgain(context, run)
      if (!again) return 'no longer ours'
      run = again
    }
  } finally {
    run.session?.release()
  }
}

/** First what became of the statement in flight, then step by step. */
async function runToEnd(context: WorkContext, run: JobRun): Promise<Interruption | undefined> {
  if (run.flight && !isAnnounced(run)) {
    const interruption = await settleLoss(context, run, lostWithItsWorker(run.flight))
    if (interruption) return interruption
  }
  while (!isFinal(run.job.status)) {
    if (context.interrupted.aborted) return releaseJob(context, run)
    const interruption = await runStep(context, run)
    if (interruption) return interruption
  }
  return end(context, run)
}

/** Connects, begins the step, announces and sends its statement, and settles how that ended. */
async function runStep(context: WorkContext, run: JobRun): Promise<Interruption | undefined> {
  const opened = await openSession(context, run)
  if (opened.kind === 'vanished') {
    run.job = accepted(abandon(run.job, opened.reason, new Date()))
    return undefined
  }
  if (opened.kind === 'unreachable') return releaseJob(context, run)
  run.session = opened.session
  if (!isAnnounced(run)) run.job = accepted(beginStep(run.job, new Date()))
  const { ahead } = run
  run.ahead = null
  const outcome = await runStatement<Stop>({
    session: opened.session,
    ahead,
    statement: statementOf(context, run),
    announce: (flight) => announce(context, run, flight),
    interrupted: context.interrupted,
  })
  return settle(context, run, outcome)
}

function statementOf(context: WorkContext, run: JobRun): Statement {
  const { config } = context
  const step = runningStep(run.job)!
  const limitMs = Math.min(config.jobTimeoutMs, longestTimeoutMs)
  return {
    text: step.kind === 'item' ? step.statement : renderFallback(step.statement, valuesOf(run.job, step)),
    timeoutMs: step.kind === 'item' ? Math.min(step.timeoutMs ?? limitMs, limitMs) : limitMs,
    isBesideControl: isBesideControl(run),
    isFollowed: isFollowed(context, run),
  }
}

/** Whether a transaction should be begun ahead: for the next step, or for the next job of the user. */
function isFollowed({ begunTransactions }: WorkContext, run: JobRun): boolean {
  const isLast = isFinal(accepted(stepSucceeded(run.job, new Date())).status)
  if (!isLast) return true
  const { userId, isFollowed: hasMoreWaiting } = run.claimed
  const isExpected = hasMoreWaiting || begunTransactions.isSteady(userId)
  return isBesideControl(run) && begunTransactions.isWorthwhile && isExpected
}

const longestTimeoutMs = 2 ** 31 - 1

function valuesOf(job: Job, step: Step) {
  const failed = step.kind === 'item-fallback' ? job.items[step.index]! : job
  return { jobId: job.id, errorMessage: failed.failedReason ?? '' }
}

async function settle(
  context: WorkContext,
  run: JobRun,
  outcome: StatementOutcome<Stop>,
): Promise<Interruption | undefined> {
  const at = new Date()
  switch (outcome.kind) {
    case 'not-sent':
      return beginStepAgain(context, run, outcome.cause)
    case 'stopped':
      if (typeof outcome.by === 'string') return outcome.by
      advance(run, stepSettled(run.job, outcome.by))
      return undefined
    case 'lost':
      return settleLoss(context, run, outcome)
    case 'succeeded':
      advance(run, stepSucceeded(run.job, at))
      run.ahead = outcome.ahead
      break
    case 'failed':
      advance(run, stepFailed(run.job, clip(outcome.reason), at, outcome.sqlstate))
  }
  // Nobody could tell afterwards how it ended, so it is written down at once.
  return outcome.isOutside && !isFinal(run.job.status) ? save(context, run) : undefined
}

/** The connection was lost before it was used. Another one may do, or the next attempt to connect tells what is wrong. */
async function beginStepAgain(
  context: WorkContext,
  run: JobRun,
  cause: unknown,
): Promise<Interruption | undefined> {
  abortStep(run)
  await run.session?.destroy()
  run.session = null
  run.unsent += 1
  if (run.unsent < mostUnsent) return undefined
  await context.health.tenantFailed(run.claimed.target, cause, context.interrupted)
  run.restarts += 1
  if (run.restarts <= mostRestarts) return releaseJob(context, run)
  const begun = accepted(beginStep(run.job, new Date()))
  advance(run, stepFailed(begun, 'The connection was lost again and again before the statement', new Date()))
  return undefined
}

const mostUnsent = 3

type Loss = Extract<StatementOutcome<never>, { kind: 'lost' }>

function lostWithItsWorker(flight: Flight): Loss {
  return { kind: 'lost', flight, reason: 'its worker was lost', isTimedOut: false, isInnocent: true }
}

async function settleLoss(context: WorkContext, run: JobRun, loss: Loss): Promise<Interruption | undefined> {
  const outcome = await settleUntilKnown(context, run.claimed, loss.flight)
  // Whoever takes the job next asks again.
  if (!outcome) return releaseJob(context, run)
  if (outcome.kind === 'committed') advance(run, stepSettled(run.job, outcome))
  else if (loss.isTimedOut) advance(run, stepFailed(run.job, timeoutText, new Date(), sqlstate.queryCanceled))
  else if (outcome.kind === 'unknown') advance(run, stepSettled(run.job, outcome))
  else if (context.interrupted.aborted) abortStep(run)
  else retry(run, loss, loss.isInnocent || outcome.isServerRestarted)
  return undefined
}

/**
 * Tries the step again, but not for ever, whatever ended it: not many times if the statement itself may have ended its
 * backend, more often if its worker or all of the server went down.
 */
function retry(run: JobRun, { reason }: Loss, isInnocent: boolean): void {
  if (isInnocent) run.restarts += 1
  else run.losses += 1
  if (run.losses > mostLosses) fail(`The connection was lost ${run.losses} times while this statement ran`)
  else if (run.restarts > mostRestarts)
    fail(`PostgreSQL or the worker stopped ${run.restarts} times while this statement ran`)
  else abortStep(run)

  function fail(what: string): void {
    advance(run, stepFailed(run.job, clip(`${what}: ${reason}`), new Date(), sqlstate.connectionFailure))
  }
}

const mostLosses = 2
const mostRestarts = 9

/** It did not happen, and its turn comes again. */
function abortStep(run: JobRun): void {
  run.job = accepted(stepAborted(run.job, new Date()))
  run.flight = null
}

/** A statement can raise an error as long as it likes. */
function clip(reason: string): string {
  if (reason.length <= longestReason) return reason
  return `${reason.slice(0, longestReason).replace(/[\ud800-\udbff]$/, '')}...`
}

const longestReason = 8_192
