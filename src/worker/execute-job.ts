import { renderFallback } from '../jobs/fallback-template.ts'
import { isFinal, type Job } from '../jobs/job.ts'
import {
  abandon,
  accepted,
  beginStep,
  stepAborted,
  stepFailed,
  stepSucceeded,
  stepUnknown,
} from '../jobs/job-state.ts'
import { runningStep, type Step } from '../jobs/job-step.ts'
import type { Flight } from '../jobs/job-store.ts'
import { outcomeTooOld, outcomeUnknowable } from '../jobs/unknown-reasons.ts'
import {
  advance,
  announce,
  beginAgain,
  beginRun,
  end,
  giveBack,
  type Interruption,
  isAnnounced,
  isBesideControl,
  type JobRun,
  save,
} from './job-run.ts'
import type { GivenJob } from './job-writer.ts'
import { judgeStubbornly } from './judge-stubbornly.ts'
import { openSession } from './open-session.ts'
import { runStatement, type Statement, type StatementOutcome, timeoutText } from './run-statement.ts'
import type { WorkContext } from './work-context.ts'

/** How a worker parts from a job; `replaced`: it has ended, and another one was given in its place. */
export type Parting = 'ended' | 'replaced' | Exclude<Interruption, 'other life'>

/** Goes on with a job from where it is to its end, as long as it is ours. */
export async function executeJob(context: WorkContext, given: GivenJob): Promise<Parting> {
  let run: JobRun | undefined = beginRun(context, given)
  try {
    for (;;) {
      const interruption = await runToEnd(context, run)
      if (interruption !== 'other life') return interruption ?? (run.isReplaced ? 'replaced' : 'ended')
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
    // Its worker was lost while it ran.
    const loss = {
      kind: 'lost',
      flight: run.flight,
      reason: '',
      isTimedOut: false,
      isInnocent: true,
    } as const
    const interruption = await settleLoss(context, run, loss)
    if (interruption) return interruption
  }
  while (!isFinal(run.job.status)) {
    if (context.interrupted.aborted) return giveBack(context, run)
    const interruption = await runStep(context, run)
    if (interruption) return interruption
  }
  return end(context, run)
}

async function runStep(context: WorkContext, run: JobRun): Promise<Interruption | undefined> {
  const opened = await openSession(context, run)
  if (opened.kind === 'vanished') {
    run.job = accepted(abandon(run.job, opened.reason, new Date()))
    return undefined
  }
  if (opened.kind === 'unreachable') return giveBack(context, run)
  run.session = opened.session
  const before = isAnnounced(run) ? accepted(stepAborted(run.job, new Date())) : run.job
  if (!isAnnounced(run)) run.job = accepted(beginStep(run.job, new Date()))
  const { ahead } = run
  run.ahead = null
  let interruption: Interruption | undefined
  const isTold = async (flight: Flight) => {
    if (flight !== run.flight) interruption = await announce(context, run, flight)
    return interruption === undefined
  }
  const statement = statementOf(context, run)
  const outcome = await runStatement(opened.session, ahead, statement, isTold, context.interrupted)
  if (interruption) return interruption
  if (outcome.kind !== 'not-sent') return settle(context, run, outcome)
  run.job = before
  run.flight = null
  return beginStepAgain(context, run, outcome.cause)
}

/** The connection was lost before it was used. Another one may do, or the next attempt to connect tells what is wrong. */
async function beginStepAgain(
  context: WorkContext,
  run: JobRun,
  cause: unknown,
): Promise<Interruption | undefined> {
  await run.session?.destroy()
  run.session = null
  run.unsent += 1
  if (run.unsent < mostUnsent) return undefined
  context.health.failed(run.claimed.target.hostId, cause)
  return giveBack(context, run)
}

const mostUnsent = 3

function statementOf(context: WorkContext, run: JobRun): Statement {
  const { config } = context
  const step = runningStep(run.job)!
  const limitMs = Math.min(config.jobTimeoutMs, longestTimeoutMs)
  return {
    text: step.kind === 'item' ? step.statement : renderFallback(step.statement, valuesOf(run.job, step)),
    label: `cartage job ${run.job.id} ${labelOf(step)}`,
    timeoutMs: step.kind === 'item' ? Math.min(step.timeoutMs ?? limitMs, limitMs) : limitMs,
    isBesideControl: isBesideControl(run),
    isFollowed: isFollowed(context, run),
  }
}

/** Whether a transaction should be begun ahead: for the next step, or for the next job of the user. */
function isFollowed({ standby }: WorkContext, run: JobRun): boolean {
  const isLast = isFinal(accepted(stepSucceeded(run.job, new Date())).status)
  if (!isLast) return true
  const { userId, isFollowed: hasMoreWaiting } = run.claimed
  return isBesideControl(run) && standby.isWorthwhile && (hasMoreWaiting || standby.isSteady(userId))
}

const longestTimeoutMs = 2 ** 31 - 1

function valuesOf(job: Job, step: Step) {
  const failed = step.kind === 'item-fallback' ? job.items[step.index]! : job
  return { jobId: job.id, errorMessage: failed.failedReason ?? '' }
}

function labelOf(step: Step): string {
  if (step.kind === 'item') return String(step.index)
  return step.kind === 'item-fallback' ? `${step.index} ${step.event}` : step.event
}

async function settle(
  context: WorkContext,
  run: JobRun,
  outcome: Exclude<StatementOutcome, { kind: 'not-sent' }>,
): Promise<Interruption | undefined> {
  const at = new Date()
  switch (outcome.kind) {
    case 'not-allowed':
      return 'no longer ours'
    case 'lost':
      return settleLoss(context, run, outcome)
    case 'succeeded':
      advance(run, stepSucceeded(run.job, at))
      run.restsOnLife = !outcome.isOutside && isBesideControl(run)
      run.ahead = outcome.ahead
      break
    case 'failed':
      advance(run, stepFailed(run.job, clip(outcome.reason), at))
  }
  // Nobody could tell afterwards how it ended, so it is written down at once.
  return outcome.isOutside && !isFinal(run.job.status) ? save(context, run) : undefined
}

type Loss = Extract<StatementOutcome, { kind: 'lost' }>

async function settleLoss(context: WorkContext, run: JobRun, loss: Loss): Promise<Interruption | undefined> {
  const verdict = await judgeStubbornly(context, run.claimed.target.hostId, loss.flight)
  // Whoever takes the job next asks again.
  if (!verdict) return giveBack(context, run)
  const at = new Date()
  if (verdict.outcome === 'committed') {
    advance(run, stepSucceeded(run.job, at))
    run.restsOnLife = isBesideControl(run)
  } else if (loss.isTimedOut) advance(run, stepFailed(run.job, timeoutText, at))
  else if (verdict.outcome === 'unknown') {
    advance(run, stepUnknown(run.job, loss.flight.xid === null ? outcomeUnknowable : outcomeTooOld, at))
  } else retry(run, loss, loss.isInnocent || verdict.isServerRestarted || context.interrupted.aborted)
  return undefined
}

/** Not for ever, if it may be the statement itself that ends its backend. */
function retry(run: JobRun, { reason }: Loss, isInnocent: boolean): void {
  const losses = run.losses + (isInnocent ? 0 : 1)
  if (losses > retries) {
    advance(run, stepFailed(run.job, clip(`${lostTooOften}: ${reason}`), new Date()))
    return
  }
  run.job = accepted(stepAborted(run.job, new Date()))
  run.flight = null
  run.losses = losses
}

const retries = 2
const lostTooOften = `The connection was lost ${retries + 1} times while this statement ran`

/** A statement can raise an error as long as it likes. */
function clip(reason: string): string {
  if (reason.length <= longestReason) return reason
  return `${reason.slice(0, longestReason).replace(/[\ud800-\udbff]$/, '')}...`
}

const longestReason = 8_192
