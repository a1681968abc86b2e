import { isFinal } from '../contract/job-status.ts'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'
import { releaseClaims } from '../jobs/queue-store.ts'
import { type Use, usageCounts } from '../usage/usage-counts.ts'
import { runImport } from './import-step.ts'
import { JobRun } from './job-run.ts'
import { end, type LeaveReason, release, reloadRun } from './record-run.ts'
import { runStep, settleTakenOver } from './run-step.ts'
import type { WorkContext } from './work-context.ts'

/** How a worker leaves a job: the ended job, or why it has not ended. `dropped`: an unexpected error. */
export type JobExit = Job | 'dropped' | Exclude<LeaveReason, 'other epoch'>

/** Continues a job to its end, as long as it is ours. Never rejects. */
export async function executeJob(context: WorkContext, claimed: ClaimedJob): Promise<JobExit> {
  const { log } = context
  logStart(context, claimed)
  const exit = await executeWhileOurs(context, claimed).catch((error: unknown) =>
    drop(context, claimed, error),
  )
  if (claimed.job.isImport && exit !== 'released') await context.imports.forget(claimed.job.id)
  log.debug({ jobId: claimed.job.id, exit: typeof exit === 'object' ? 'ended' : exit }, 'job')
  return exit
}

function logStart({ log, metrics }: WorkContext, { job, flight }: ClaimedJob): void {
  const isTakenOver = flight !== null
  if (isTakenOver) metrics?.jobTakenOver()
  const { id: jobId, user: username, items } = job
  log.info({ jobId, username, items: items.length }, isTakenOver ? 'job taken over' : 'job started')
}

/** After a crash of the server, starts again from the database's state. */
async function executeWhileOurs(context: WorkContext, claimed: ClaimedJob): Promise<JobExit> {
  let run = new JobRun(context.epoch.id, claimed)
  try {
    for (;;) {
      const exit = await runToEnd(context, run)
      if (exit !== 'other epoch') return exit
      const reloaded = await reloadRun(context, run)
      if (!reloaded) return 'no longer ours'
      run = reloaded
    }
  } finally {
    run.session?.release()
  }
}

/** First settles the statement in flight, then runs step by step. */
async function runToEnd(context: WorkContext, run: JobRun): Promise<Job | LeaveReason> {
  let interruption = await settleTakenOver(context, run)
  while (!interruption && !isFinal(run.job.status)) {
    interruption = await (context.interrupted.aborted ? release(context, run) : runNext(context, run))
  }
  if (interruption) return interruption
  const ended = await end(context, run)
  if (typeof ended === 'object') countUse(context, run, { jobs: 1 })
  return ended
}

async function runNext(context: WorkContext, run: JobRun): Promise<LeaveReason | undefined> {
  const startedAt = performance.now()
  try {
    return await (run.job.isImport ? runImport(context, run) : runStep(context, run))
  } finally {
    // Rows of a job are discarded.
    countUse(context, run, { ...run.takeFlow(), rowsOut: 0, postgresMs: performance.now() - startedAt })
  }
}

function countUse({ databases }: WorkContext, { claimed, job }: JobRun, use: Use): void {
  usageCounts(databases).add(claimed.userId, job.isImport ? 'import' : 'job', use)
}

async function drop(
  { databases, log, abandoned }: WorkContext,
  { job: { id: jobId }, claim }: ClaimedJob,
  error: unknown,
): Promise<JobExit> {
  if (abandoned.aborted) return 'dropped'
  log.error({ err: error, jobId }, 'a job was dropped')
  await releaseClaims(databases.control, [claim]).catch((again: unknown) =>
    log.error({ err: again, jobId }, 'cannot release a dropped job'),
  )
  return 'dropped'
}
