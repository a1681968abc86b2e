import { isDeepStrictEqual } from 'node:util'
import type { ItemDocument, JobDocument } from '../src/contract/documents.ts'
import type { PlayedJob } from './load.ts'
import type { Plan, PlannedStatement } from './plan.ts'

/** What is known of statements besides the jobs. */
export type Evidence = Readonly<{
  /** How often it was applied. */
  timesApplied: (entry: string) => number
  timesSent: (entry: string) => number
  /** It was done, and lost by a fail-over. */
  isLostByReplication: (entry: string) => boolean
  /** No attack was a reason to restart a statement or to lose its outcome. */
  wasGentle: boolean
}>

export type Judgement = Readonly<{
  statements: number
  /** Jobs that lost their backend too often, and those with an unknown outcome. */
  givenUp: number
  unknown: number
  lostByReplication: number
  sentAgain: number
  problems: readonly string[]
}>

/** Compares a job at the end with its plan and with what was applied. */
export function judgeJob(played: PlayedJob, now: JobDocument, evidence: Evidence): Judgement {
  const { plan, final } = played
  const statements = statementsOf(played, now)
  const isLost = ({ statement: { entry }, status }: Played) =>
    status === 'done' && evidence.timesApplied(entry) === 0 && evidence.isLostByReplication(entry)
  const isSentAgain = ({ statement: { entry, manner } }: Played) =>
    manner !== 'outside' && evidence.timesSent(entry) > 1
  const problems = statements.flatMap((each) => {
    const problem = isLost(each)
      ? undefined
      : problemOf(each, now, evidence.timesApplied(each.statement.entry))
    // Its own time limit is a reason.
    const isHarmed =
      isSentAgain(each) || (each.status === 'unknown' && each.statement.timeoutMs === undefined)
    const harm = evidence.wasGentle && isHarmed ? 'begun anew or unknown for no reason' : undefined
    return [problem, harm].flatMap((text) =>
      text ? [`${each.statement.entry} (${each.statement.manner}): ${text}`] : [],
    )
  })
  if (!isDeepStrictEqual(now, final)) problems.push(`a final job has changed from ${JSON.stringify(final)}`)
  const inconsistency = inconsistencyOf(plan, now)
  if (inconsistency) problems.push(inconsistency)
  return {
    statements: statements.length,
    givenUp: statements.filter(({ reason }) => reason?.startsWith(givenUp)).length,
    unknown: statements.filter(({ status }) => status === 'unknown').length,
    lostByReplication: statements.filter(isLost).length,
    sentAgain: statements.filter(isSentAgain).length,
    problems: problems.map((problem) => `${plan.key}: ${problem} ${JSON.stringify(now)}`),
  }
}

const givenUp = 'The connection was lost'

type Played = Readonly<{ statement: PlannedStatement; status: string; reason: string | undefined }>

/** Every statement of a plan, with its status in the job. */
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

function problemOf({ statement, status, reason }: Played, job: JobDocument, count: number) {
  const { manner, timeoutMs } = statement
  if (count > 1) return `applied ${count} times`
  if (status === 'done' && manner === 'failing') return 'done, but it cannot succeed'
  if (status === 'done' && count !== 1) return 'done, but not applied'
  if (status === 'running') return `running in a job that is ${job.status}`
  if (status === 'unknown') return manner === 'outside' ? undefined : 'unknown, but it can be known'
  // Stopped while it ran outside a transaction of the service: it may have committed.
  const mayBeThere = manner === 'outside' && (job.status === 'cancelled' || hasTimeAfterCommit(statement))
  if (status !== 'done' && count !== 0 && !mayBeThere) return `${status}, but applied`
  const expected = [
    givenUp,
    ...(manner === 'failing' ? ['division by zero'] : []),
    ...(timeoutMs === undefined ? [] : ['canceling statement due to statement timeout']),
  ]
  if (status === 'failed' && !expected.some((words) => reason?.startsWith(words))) {
    return `failed for no reason: ${reason}`
  }
  return undefined
}

/** Its time limit may end between its own commit and its end. */
const hasTimeAfterCommit = ({ text, timeoutMs }: PlannedStatement) =>
  timeoutMs !== undefined && text.startsWith('do ')

/** Items are done in order up to the first that is not; the job's status follows from theirs. */
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
