import { randomUUID } from 'node:crypto'
import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { limitOf } from '../config/account-limits.ts'
import type { Config } from '../config/config.ts'
import { errors } from '../errors.ts'
import type { JobDefinition } from '../jobs/job.ts'
import { enqueueJobs } from '../jobs/queue-store.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { dueAfter, dueTimes } from './due-times.ts'
import { type PlannedRun, planRuns } from './plan-runs.ts'
import {
  type DueSchedule,
  insertRuns,
  lockDueSchedule,
  lockSchedule,
  type NewRun,
  readManualTime,
  setNextDue,
} from './schedule-store.ts'

/**
 * Runs one schedule that is due. Its row is locked, and its jobs, the record of each due time and the next due time are
 * written in one transaction: so whatever is killed, each due time has one job or one recorded skip. False: none is due.
 */
export async function runDueSchedule(
  { control }: Databases,
  config: Config,
  which: 'oldest' | 'any' = 'oldest',
): Promise<boolean> {
  return inTransaction(control, async (tx) => {
    await tx.query(lockLimit)
    const found = await lockDueSchedule(tx, which)
    if (!found) return false
    await runLocked(tx, config, found)
    return true
  })
}

/** The same for a schedule that the transaction has locked. Returns the next due time; one that has passed: there are more. */
export async function runLocked(
  tx: ClientBase,
  config: Config,
  found: DueSchedule,
): Promise<Date | undefined> {
  const { schedule, now, isJobOpen } = found
  const { due, next } = await dueTimes(schedule, firstDue(found, config), now, mostAtOnce)
  const isAll = !next || next > now
  const runs = planRuns(schedule, due, now, isJobOpen, isAll)
  await insertRuns(tx, found, await makeJobs(tx, config, found, runs))
  await setNextDue(tx, found, next)
  return next
}

/** What is older than the records of runs are kept is not recorded any more. */
function firstDue({ schedule, nextDueAt, now }: DueSchedule, { jobRetentionDays }: Config): Date {
  const oldest = new Date(now.getTime() - jobRetentionDays * dayMs)
  const first = nextDueAt ?? now
  return first >= oldest ? first : (dueAfter(schedule, oldest) ?? first)
}

/** Makes a job of the schedule at once. */
export async function runScheduleNow(
  { control }: Databases,
  config: Config,
  account: Account,
  name: string,
): Promise<string> {
  return inTransaction(control, async (tx) => {
    const found = await lockSchedule(tx, account, name)
    if (!found) throw errors.scheduleNotFound(name)
    if (found.isJobOpen && found.schedule.overlap === 'skip') throw errors.scheduleRunning(name)
    const dueAt = await readManualTime(tx, found)
    const [run] = await makeJobs(tx, config, found, [{ dueAt, skipped: null }])
    if (!run?.jobId) throw errors.jobQueueFull(limitOf(config, account.setLimits, 'jobs_queued').value)
    await insertRuns(tx, found, [{ ...run, isManual: true }])
    return run.jobId
  })
}

async function makeJobs(
  tx: ClientBase,
  config: Config,
  { account, schedule }: DueSchedule,
  runs: readonly PlannedRun[],
): Promise<readonly NewRun[]> {
  const definition: JobDefinition = { ...schedule.job, schedule: schedule.name }
  const jobs = runs.map(({ skipped }) => (skipped ? null : newJob(account as Account, definition)))
  const wanted = jobs.filter((job) => job !== null)
  const { queued } = wanted.length > 0 ? await enqueueJobs(tx, config, wanted) : { queued: [] }
  const made = new Set(wanted.filter((_, place) => queued[place]))
  return runs.map((run, place) => {
    const job = jobs[place]
    if (!job) return { ...run, jobId: null }
    return made.has(job) ? { ...run, jobId: job.id } : { ...run, jobId: null, skipped: 'queue-full' }
  })
}

const newJob = (account: Account, definition: JobDefinition) => ({
  id: randomUUID(),
  account,
  definition,
  idempotencyKey: null,
  requestHash: null,
})

/** Deleting an account takes these locks in another order: wait less than the deadlock timeout, then retry. */
const lockLimit = `set local lock_timeout = '500ms'`
const mostAtOnce = 500
const dayMs = 86_400_000
