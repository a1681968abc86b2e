import { operator, recordAudit } from '../audit/audit-store.ts'
import { userByName } from '../auth/account-store.ts'
import { AppError, errors } from '../errors.ts'
import { findActiveJob, readJobStatements } from '../jobs/activity-store.ts'
import { cancelJob } from '../jobs/cancel-job.ts'
import type { Databases } from '../postgres/databases.ts'
import { askProcess, askProcesses } from './ask-processes.ts'
import type { Stopped } from './question.ts'

/** What was stopped, and how many processes did not answer: what they run was perhaps not stopped. */
export type ActivityStops = Readonly<{ stopped: readonly Stopped[]; silent: number }>

/**
 * Stops one statement, or cancels one job, for the operator. An id is used once, so a stop that comes late stops nothing
 * else. Throws if nothing runs under this id.
 */
export async function stopActivity(databases: Databases, id: string): Promise<ActivityStops> {
  const process = statementId.exec(id)?.[1]
  if (process === undefined && !jobId.test(id)) throw errors.activityNotFound(id)
  await recordRequest(databases, { subject: id })
  const stopped =
    process === undefined ? await stopJob(databases, id) : await stopStatement(databases, process, id)
  await record(databases, stopped)
  if (stopped.length === 0) throw errors.activityNotFound(id)
  return { stopped, silent: 0 }
}

/** Asks only the process that the id names: another one that does not answer is no reason to wait. */
async function stopStatement(
  { control }: Databases,
  process: string,
  id: string,
): Promise<readonly Stopped[]> {
  const answer = await askProcess(control, process, { ask: 'stop', id }, stopMs)
  if (!answer) throw errors.activityNotAnswered()
  return answer.stopped
}

const statementId = /^([0-9a-f]{12})-[0-9a-f]{12}$/
const jobId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Stops all statements of an account, and cancels its running jobs. Those that wait stay in the queue. */
export async function stopActivityOf(databases: Databases, username: string): Promise<ActivityStops> {
  const account = await userByName(databases.control, username)
  if (!account) throw errors.accountNotFound('User', username)
  await recordRequest(databases, { account: username })
  const { statements } = await readJobStatements(databases.control, {
    username,
    limit: mostJobs,
    textLength: 0,
  })
  const results = await Promise.allSettled([
    stopStatementsOf(databases, username),
    ...statements.map(async (job) => ({ stopped: await stopJob(databases, job.jobId), silent: 0 })),
  ])
  const done = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value)
  const stopped = done.flatMap((part) => part.stopped)
  await record(databases, stopped)
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
  return { stopped, silent: done.reduce((sum, part) => sum + part.silent, 0) }
}

/** An account runs few at once. */
const mostJobs = 1_000

async function stopStatementsOf({ control }: Databases, username: string): Promise<ActivityStops> {
  const { answers, silent } = await askProcesses(control, { ask: 'stop-all', username }, stopMs)
  return { stopped: answers.flatMap(({ stopped }) => stopped), silent }
}

/** Longer than a process takes to stop its statements. */
const stopMs = 6_000

async function stopJob(databases: Databases, id: string): Promise<readonly Stopped[]> {
  const found = await findActiveJob(databases.control, id)
  const account = found && (await userByName(databases.control, found.username))
  if (!account) return []
  try {
    await cancelJob(databases, account, id)
  } catch (error) {
    if (error instanceof AppError && hasEndedBefore.has(error.code)) return []
    throw error
  }
  const kind = found.isImport ? 'import' : 'job'
  return [{ id, username: found.username, key: null, kind, hasEnded: true }]
}

const hasEndedBefore: ReadonlySet<string> = new Set(['cancel-refused', 'job-not-found'])

/** Recorded before anything is stopped, because this process may die before it can record the result. */
const recordRequest = (
  { control }: Databases,
  meant: Readonly<{ subject: string }> | Readonly<{ account: string }>,
) => recordAudit(control, { actor: operator, action: 'activity.stop', ...meant })

async function record({ control }: Databases, stopped: readonly Stopped[]): Promise<void> {
  for (const { id, username, kind, key, hasEnded } of stopped) {
    await recordAudit(control, {
      actor: operator,
      action: 'activity.stopped',
      account: username,
      subject: id,
      details: { kind, ...(key !== null && { key }), ...(!hasEnded && { has_ended: false }) },
    })
  }
}
