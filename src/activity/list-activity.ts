import { operator, recordAudit } from '../audit/audit-store.ts'
import { type JobStatement, readJobStatements } from '../jobs/activity-store.ts'
import type { Databases } from '../postgres/databases.ts'
import { longText, shortText, TextCut } from './answer-questions.ts'
import { askProcesses } from './ask-processes.ts'
import { lookAtBackends, type SeenBackend } from './look-at-backends.ts'
import type { ActiveStatement, Blocker } from './question.ts'

/** What runs now, of all accounts or of one. */
export type WantedActivity = Readonly<{
  username?: string | undefined
  /** With whole texts; that is recorded. */
  isFull: boolean
  limit: number
}>

export type ListedStatement = Readonly<
  Pick<ActiveStatement, 'id' | 'username' | 'key' | 'kind' | 'waitsFor' | 'waitEvent' | 'text' | 'isCut'>
> &
  Readonly<{
    since: Date
    host: string
    /** The statements that hold it up, by id; a backend that belongs to none by its pid and role. */
    blockedBy: readonly string[]
  }>

export type ListedActivity = Readonly<{
  statements: readonly ListedStatement[]
  /** Beyond the limit. */
  left: number
  /** How many processes did not answer. */
  silent: number
}>

/** The longest running first: what the processes tell, and the jobs, which the control database knows. */
export async function listActivity(databases: Databases, filter: WantedActivity): Promise<ListedActivity> {
  const { control } = databases
  const { username = null, isFull, limit } = filter
  if (isFull) await recordReading(databases, username)
  const [{ answers, silent }, jobs] = await Promise.all([
    askProcesses(control, { ask: 'list', username, isFull, limit }, answerMs),
    readJobStatements(control, { username, limit, textLength: (isFull ? longText : shortText) + 1 }),
  ])
  const told = [
    ...answers.flatMap(({ statements }) => statements),
    ...(await toldJobs(databases, jobs.statements, isFull)),
  ]
  const all = told.toSorted((a, b) => b.runMs - a.runMs)
  const left = jobs.left + answers.reduce((sum, answer) => sum + answer.left, 0)
  const shown = all.slice(0, limit)
  return {
    statements: shown.map((one) => listed(databases, one, all)),
    left: left + all.length - shown.length,
    silent,
  }
}

const recordReading = ({ control }: Databases, username: string | null) =>
  recordAudit(control, {
    actor: operator,
    action: 'activity.read',
    account: username,
    details: { text: 'full' },
  })

/** A process that works answers in milliseconds. */
const answerMs = 2_000

async function toldJobs(
  databases: Databases,
  jobs: readonly JobStatement[],
  isFull: boolean,
): Promise<readonly ActiveStatement[]> {
  const inFlight = jobs.flatMap((job) => (job.pid === null ? [] : [{ ...job, pid: job.pid }]))
  const backends = await lookAtBackends(databases, inFlight)
  // The pid of a flight that has just ended may be another's by now.
  const seen = new Map(
    inFlight.map(({ jobId, backendStart }, place) => {
      const backend = backends[place]
      return [jobId, backend?.backendStart === backendStart ? backend : undefined]
    }),
  )
  const cut = new TextCut(isFull)
  return jobs.map((job) => toldJob(job, seen.get(job.jobId), cut))
}

function toldJob(job: JobStatement, seen: SeenBackend | undefined, cut: TextCut): ActiveStatement {
  const { jobId, username, key, isImport, runMs, hostId, text } = job
  return {
    id: jobId,
    username,
    key,
    kind: isImport ? 'import' : 'job',
    runMs,
    waitsFor: seen?.waitsFor ?? null,
    waitEvent: seen?.waitEvent ?? null,
    hostId,
    pid: seen?.pid ?? null,
    blockedBy: seen?.blockedBy ?? [],
    ...(text === null ? { text: null, isCut: false } : cut.take(text)),
  }
}

function listed(
  { hosts }: Databases,
  { runMs, hostId, pid: _pid, blockedBy, ...one }: ActiveStatement,
  all: readonly ActiveStatement[],
): ListedStatement {
  const nameOf = ({ pid, role }: Blocker) =>
    all.find((other) => other.hostId === hostId && other.pid === pid)?.id ??
    `pid ${pid}${role === null ? '' : ` (${role})`}`
  return {
    ...one,
    since: new Date(Date.now() - runMs),
    // Another process may know a host that this one has yet to hear of.
    host: hosts.has(hostId) ? hosts.get(hostId).name : `host ${hostId}`,
    blockedBy: [...new Set(blockedBy.map(nameOf))],
  }
}
