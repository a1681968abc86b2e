import { LRUCache } from 'lru-cache'
import type { Account } from '../../auth/account.ts'
import type { Databases } from '../../postgres/databases.ts'
import { fingerprintOf } from '../../sql/fingerprint.ts'
import type { Job } from '../job.ts'
import { runningStep } from '../job-step.ts'
import { findStoredJob, type StoredJob } from '../job-store.ts'
import { lookAtStatements, type SeenStatement } from './look-at-statements.ts'
import { medianRunTime } from './run-time-store.ts'

/** How far a running job is. */
export type JobProgress = Readonly<{
  /** The item that runs, from 1. */
  item: number
  items: number
  seen: SeenStatement | undefined
  /** What is left of the median of the last five runs of the same statement. */
  etaMs: number | undefined
}>

/** Reads how far a job is; undefined if it is not running. */
export async function readJobProgress(
  databases: Databases,
  account: Account,
  id: string,
): Promise<JobProgress | undefined> {
  const stored = await findStoredJob(databases.control, account, id)
  if (stored?.job.status !== 'running') return undefined
  const [seen, median] = await Promise.all([
    seeStatement(databases, account, stored),
    medianOf(databases, stored.userId, stored.job),
  ])
  return progressWith(stored.job, seen, median)
}

/** With what was seen of its statement, and the median of its last runs. */
export function progressWith(
  job: Job,
  seen: SeenStatement | undefined,
  median: number | undefined,
): JobProgress {
  const step = runningStep(job)
  const begun = job.items.findLastIndex(({ startedAt }) => startedAt !== undefined)
  const item = step && 'index' in step ? step.index : Math.max(0, begun)
  const etaMs = median === undefined || !seen ? undefined : Math.max(0, Math.round(median - seen.runMs))
  return { item: item + 1, items: job.items.length, seen, etaMs }
}

/** The median time of the running statement; undefined if it never ran before. */
export async function medianOf(databases: Databases, userId: number, job: Job): Promise<number | undefined> {
  const step = runningStep(job)
  const fingerprint = step?.kind === 'item' ? fingerprintOf(step.statement) : undefined
  return fingerprint === undefined ? undefined : medianRunTime(databases.control, userId, fingerprint)
}

/** A host that does not answer takes nothing from the rest of the document. */
async function seeStatement(
  databases: Databases,
  { hostId, masterRole }: Account,
  { flight }: StoredJob,
): Promise<SeenStatement | undefined> {
  if (!flight) return undefined
  const key = `${hostId} ${flight.pid} ${flight.backendStart}`
  const known = recent.get(key)
  const asked = known ?? lookAtStatements(databases, hostId, [{ flight, masterRole }])
  if (!known) recent.set(key, asked)
  return asked.then(
    ([seen]) => seen,
    () => undefined,
  )
}

/** A client may ask in a loop, and reading locks holds up everybody who wants one. */
const recent = new LRUCache<string, ReturnType<typeof lookAtStatements>>({ max: 1_000, ttl: 250 })
