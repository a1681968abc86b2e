import { randomUUID } from 'node:crypto'
import type { Control } from '../postgres/transaction.ts'
import { type ClaimRequest, type Claims, type ClaimsRecord, claimValues, readClaims } from './claim-store.ts'
import type { Job } from './job.ts'
import { type Flight, progressOf, type StoredJob } from './job-store.ts'

/**
 * A change of a job. The fence: it is written only if the row still has the claim and revision of `from`. A late or
 * repeated write changes nothing.
 */
export type JobWrite = Readonly<{
  from: StoredJob
  /** A repeated write that finds its own id in the row succeeded the first time. */
  writeId: string
  job: Job
  /** The statement that is about to be sent. */
  flight: Flight | null
  /** How often the connection of this step was lost, and how often its worker or the whole server. */
  losses: number
  restarts: number
  /** The server epoch in which this was learnt; null if it does not matter. */
  epoch: string | null
  /** The worker gives the job up. If it is still running, any worker may take it over. */
  isReleased: boolean
  /** On disk before it is answered. False: a crash may lose it, and then loses all that followed from it. */
  isFlushed: boolean
  /** The job is pending, and waits this long before it is in the queue. */
  delayMs?: number
}>

/** `not ours`: the job was reassigned, or has ended. `other epoch`: the server has crashed since this was learnt. */
export type Written = 'written' | 'not ours' | 'other epoch'

export type WriteResult = Readonly<{
  outcome: Written
  /** When it was written, if it was. */
  at: Date
}>

/** The result of each write, and the claimed jobs: replacements for ended ones, and those requested. */
export type WrittenJobs = Claims & Readonly<{ written: readonly WriteResult[] }>

/**
 * Writes changes of jobs in one transaction, and gives a worker others: one for each that it ends, and what it asks
 * for. If a row is locked, this waits when `isPatient`; otherwise nothing is written, and PostgreSQL's error says so.
 * A claim alone need not be on disk: if a crash loses it, the job is claimed again, and all writes of the first claim are refused.
 */
export async function writeJobs(
  control: Control,
  writes: readonly JobWrite[],
  { isPatient = true, request }: { isPatient?: boolean; request?: ClaimRequest | undefined } = {},
): Promise<WrittenJobs> {
  const { rows } = await control.query<{ answer: WrittenRecord }>({
    ...(writes.some(({ isFlushed }) => isFlushed) ? writeFlushed : writeUnflushed),
    values: [
      JSON.stringify(inLockOrder(writes)),
      isPatient,
      request?.perUser,
      ...claimValues(request),
      request?.importsPerUser,
    ],
  })
  const { answer } = rows[0]!
  const written = answer.written.map(({ outcome, at }) => ({ outcome, at: new Date(at) }))
  return { written, ...readClaims(answer) }
}

const writeFlushed = {
  name: 'write-jobs',
  text: 'select cartage.write_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as answer',
}
/** A synchronous replica is waited for all the same: an old primary that has lost it must accept no announcement. */
const writeUnflushed = {
  name: 'write-jobs-unflushed',
  text: `${writeFlushed.text} from set_config('synchronous_commit',
    case current_setting('synchronous_standby_names') when '' then 'off' else current_setting('synchronous_commit') end, true)`,
}

type WrittenRecord = ClaimsRecord &
  Readonly<{ written: readonly Readonly<{ outcome: Written; at: string }>[] }>

/** As `cartage.write_jobs` reads it. */
function recordOf(
  { from, writeId, job, flight, losses, restarts, epoch, isReleased, delayMs }: JobWrite,
  index: number,
) {
  return {
    number: index + 1,
    user_id: from.userId,
    id: from.job.id,
    claim: from.claim,
    revision: from.revision,
    write_id: writeId,
    epoch,
    old_status: from.job.status,
    new_status: job.status,
    is_released: isReleased,
    progress: progressOf(job),
    xid: flight?.xid,
    pid: flight?.pid,
    backend_start: flight?.backendStart,
    losses,
    restarts,
    was_delayed: from.job.delayedUntil !== undefined,
    delay_ms: delayMs,
  }
}

/** One lock order, imports last and then by user, so no deadlock. */
function inLockOrder(writes: readonly JobWrite[]): readonly ReturnType<typeof recordOf>[] {
  const records = writes.map((write, index) => ({
    isImport: write.from.job.isImport ?? false,
    record: recordOf(write, index),
  }))
  return records
    .sort(
      (one, other) =>
        Number(one.isImport) - Number(other.isImport) ||
        one.record.user_id - other.record.user_id ||
        (one.record.id < other.record.id ? -1 : 1),
    )
    .map(({ record }) => record)
}

/** The write that ends a job. */
export function endOf(from: StoredJob, job: Job, epoch: string | null = null): JobWrite {
  const writeId = randomUUID()
  const none = { flight: null, losses: 0, restarts: 0 }
  return { from, writeId, job, ...none, epoch, isReleased: true, isFlushed: true }
}
