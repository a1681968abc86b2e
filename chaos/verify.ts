import { isDeepStrictEqual } from 'node:util'
import type { ItemDocument, JobDocument } from '../src/http/routes/job-document.ts'
import type { Load, PlayedJob } from './load.ts'
import type { Plan, PlannedStatement } from './plan.ts'
import type { Stage } from './stage.ts'

export type Findings = Readonly<{
  jobs: number
  statements: number
  byStatus: Readonly<Record<string, number>>
  /** Items that lost their backend too often, and items of which nobody knows. */
  givenUp: number
  unknown: number
  violations: readonly string[]
}>

/** Holds the jobs, the ledger and the counters against each other. */
export async function verify(stage: Stage, load: Load): Promise<Findings> {
  const ledger = await readLedger(stage)
  const violations = load.surprises.map(({ plan, what }) => `${plan.key}: ${what}`)
  const byStatus: Record<string, number> = {}
  const totals = { statements: 0, givenUp: 0, unknown: 0 }
  const expected = new Set<string>()
  for (const played of load.jobs) {
    const now = await load.read(played)
    byStatus[now.status] = (byStatus[now.status] ?? 0) + 1
    if (!isDeepStrictEqual(now, played.final)) {
      violations.push(`${played.plan.key}: a final job has changed: ${JSON.stringify([played.final, now])}`)
    }
    for (const { statement, status, reason } of statementsOf(played, now)) {
      expected.add(statement.entry)
      totals.statements += 1
      if (status === 'unknown') totals.unknown += 1
      if (reason?.startsWith('The connection was lost')) totals.givenUp += 1
      const problem = problemOf(statement, status, reason, now, ledger.get(statement.entry) ?? 0)
      if (problem)
        violations.push(`${statement.entry} (${statement.manner}): ${problem} ${JSON.stringify(now)}`)
    }
    const inconsistency = inconsistencyOf(played.plan, now)
    if (inconsistency) violations.push(`${played.plan.key}: ${inconsistency} ${JSON.stringify(now)}`)
  }
  for (const entry of ledger.keys()) if (!expected.has(entry)) violations.push(`${entry}: of no known job`)
  violations.push(...(await strayRows(stage, load.jobs.length)))
  for (const { role, crashes } of [...stage.servers, ...stage.workers]) {
    violations.push(...crashes.map((words) => `a ${role} process crashed: ${words}`))
  }
  return { jobs: load.jobs.length, byStatus, ...totals, violations }
}

async function readLedger(stage: Stage): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { account } of stage.users) {
    const { rows } = await stage.admin(
      'select entry from public.ledger union all select entry from public.slow_ledger',
      [],
      account.database,
    )
    for (const { entry } of rows) counts.set(entry, (counts.get(entry) ?? 0) + 1)
  }
  return counts
}

type Played = Readonly<{ statement: PlannedStatement; status: string; reason: string | undefined }>

/** Every statement of a plan, with what the job says of it. */
function statementsOf({ plan }: PlayedJob, job: JobDocument): Played[] {
  const items = itemsOf(job)
  const ofItems = plan.items.flatMap((item, index) => {
    const shown = items[index]!
    const fallbacks = [item.onsuccess, item.onerror].flatMap((statement) => {
      const isTheOne = statement === (shown.status === 'failed' ? item.onerror : item.onsuccess)
      const status = isTheOne ? shown.fallback_status! : 'skipped'
      return statement ? [{ statement, status, reason: shown.fallback_failed_reason }] : []
    })
    return [{ statement: item.statement, status: shown.status, reason: shown.failed_reason }, ...fallbacks]
  })
  const ofJob = [plan.onsuccess, plan.onerror].flatMap((statement) => {
    const isTheOne =
      statement === (items.every(({ status }) => status === 'done') ? plan.onsuccess : plan.onerror)
    const status = isTheOne ? job.fallback_status! : 'skipped'
    return statement ? [{ statement, status, reason: job.fallback_failed_reason }] : []
  })
  return [...ofItems, ...ofJob]
}

function itemsOf(job: JobDocument): readonly ItemDocument[] {
  if (typeof job.query === 'string') {
    const status = job.status === 'cancelled' ? 'pending' : job.status
    return [{ query: job.query, status, ...(job.failed_reason ? { failed_reason: job.failed_reason } : {}) }]
  }
  return 'query' in job.query ? job.query.query : job.query
}

function problemOf(
  { manner }: PlannedStatement,
  status: string,
  reason: string | undefined,
  job: JobDocument,
  count: number,
): string | undefined {
  if (count > 1) return `applied ${count} times`
  if (status === 'done' && manner === 'failing') return 'done, but it cannot succeed'
  if (status === 'done' && count !== 1) return 'done, but not applied'
  if (status === 'running') return `running in a job that is ${job.status}`
  if (status === 'unknown') return manner === 'outside' ? undefined : 'unknown, but it can be known'
  // Stopped from outside while it ran without a transaction of ours: it may have got far enough.
  const mayBeThere = manner === 'outside' && job.status === 'cancelled' && status !== 'done'
  if (status !== 'done' && count !== 0 && !mayBeThere) return `${status}, but applied`
  const isExpected = manner === 'failing' ? 'division by zero' : 'The connection was lost'
  if (
    status === 'failed' &&
    !reason?.startsWith(isExpected) &&
    !reason?.startsWith('The connection was lost')
  ) {
    return `failed for no reason: ${reason}`
  }
  return undefined
}

/** Items in order up to the first that is not done; the job's status follows from theirs. */
function inconsistencyOf(plan: Plan, job: JobDocument): string | undefined {
  const statuses = itemsOf(job).map(({ status }) => status)
  const end = statuses.findIndex((status) => status !== 'done')
  if (end >= 0 && statuses.slice(end + 1).some((status) => status !== 'pending' && status !== 'skipped')) {
    return 'an item was begun after one that did not succeed'
  }
  const decisive = end < 0 ? 'done' : statuses[end]
  if (job.status === 'cancelled') return undefined
  if (plan.form !== 'string' && job.status !== decisive) return `${job.status}, but its items say ${decisive}`
  return ['done', 'failed', 'unknown'].includes(job.status) ? undefined : 'not final'
}

/** Each request made one job, and the queues are empty. */
async function strayRows(stage: Stage, jobs: number): Promise<string[]> {
  const { rows } = await stage.admin(
    `select (select count(*) from cartage.jobs)::integer as jobs,
            (select count(*) from cartage.jobs where finished_at is null)::integer as unfinished,
            (select coalesce(sum(pending + running), 0) from cartage.job_queues)::integer as queued`,
  )
  const found = rows[0]
  return [
    ...(found.jobs === jobs ? [] : [`${found.jobs} jobs in the database for ${jobs} requests`]),
    ...(found.unfinished === 0 ? [] : [`${found.unfinished} jobs are not final`]),
    ...(found.queued === 0 ? [] : [`the counters of the queues say ${found.queued}`]),
  ]
}
