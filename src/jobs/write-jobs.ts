import type { Pool } from 'pg'
import { type ClaimedJob, type ClaimedRow, readClaimedJob } from './claim-store.ts'
import type { Job } from './job.ts'
import { type Flight, progressOf, type StoredJob } from './job-store.ts'

/** What has become of a job, its status included. It is written only if the job is still as `from` says. */
export type JobWrite = Readonly<{
  from: StoredJob
  job: Job
  /** The statement that is about to be sent. */
  flight: Flight | null
  /** How often the backend of this step was lost. */
  losses: number
  /** The life of the server in which all this was learnt; null where that does not matter. */
  life: string | null
  /** No worker has it any more. One that still runs is for whichever worker comes first. */
  isReleased: boolean
}>

/** `not ours`: the job has changed hands, or ended. `other life`: the server has crashed since what is written was learnt. */
export type Written = 'written' | 'not ours' | 'other life'

export type WriteResult = Readonly<{
  outcome: Written
  /** When it was written, if it was. */
  at: Date
}>

/** What a worker wants to be given: a job for each that it ends, and perhaps more. */
export type Wishes = Readonly<{
  workerId: number
  /** More waiting jobs, and running ones that have lost their worker. */
  wanted: number
  wantedOrphans: number
  perUser: number
  perHost: number
  openHosts: readonly number[]
  /** Open transactions in which nothing has happened yet, for the next job of their user. */
  transactions: readonly OpenTransaction[]
}>

export type OpenTransaction = Readonly<{
  userId: number
  flight: Flight
  /** The life of the server in which it was begun. */
  life: string
}>

/** A job given here that is in flight is so in a transaction of the worker, or was when it lost its last one. */
export type WrittenJobs = Readonly<{
  results: readonly WriteResult[]
  /** The jobs in the place of those that have ended. */
  next: readonly ClaimedJob[]
  /** Those that were wanted besides. */
  claimed: readonly ClaimedJob[]
  /** There may be more to be had. */
  isLeft: boolean
}>

/**
 * Writes in one transaction what has become of some jobs, and gives a worker others. While somebody else works on one of
 * them this waits, if `isPatient`; else nothing is written, and PostgreSQL's error says so.
 */
export async function writeJobs(
  control: Pick<Pool, 'query'>,
  writes: readonly JobWrite[],
  { isPatient = true, wishes }: { isPatient?: boolean; wishes?: Wishes | undefined } = {},
): Promise<WrittenJobs> {
  const { rows } = await control.query<{ written: WrittenRecord }>({
    name: 'write-jobs',
    text: 'select cartage.write_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9) as written',
    values: [
      JSON.stringify(writes.map(recordOf).sort(inOrder)),
      isPatient,
      wishes?.workerId,
      wishes?.wanted,
      wishes?.wantedOrphans,
      wishes?.perUser,
      wishes?.perHost,
      wishes?.openHosts,
      wishes && JSON.stringify(byUser(wishes.transactions)),
    ],
  })
  const { results, next = [], claimed = [], is_left: isLeft = false } = rows[0]!.written
  return {
    results: results.map(({ outcome, at }) => ({ outcome, at: new Date(at) })),
    next: next.map(readClaimedJob),
    claimed: claimed.map(readClaimedJob),
    isLeft,
  }
}

type WrittenRecord = Readonly<{
  results: readonly Readonly<{ outcome: Written; at: string }>[]
  next?: readonly ClaimedRow[]
  claimed?: readonly ClaimedRow[]
  is_left?: boolean
}>

/** As `cartage.write_jobs` reads it. */
function recordOf({ from, job, flight, losses, life, isReleased }: JobWrite, index: number) {
  return {
    number: index + 1,
    user_id: from.userId,
    id: from.job.id,
    attempt: from.attempt,
    life,
    old_status: from.job.status,
    new_status: job.status,
    is_released: isReleased,
    progress: progressOf(job),
    xid: flight?.xid,
    pid: flight?.pid,
    backend_start: flight?.backendStart,
    losses,
  }
}

function byUser(transactions: readonly OpenTransaction[]) {
  return Object.fromEntries(
    transactions.map(({ userId, life, flight: { xid, pid, backendStart } }) => [
      userId,
      { xid, pid, backend_start: backendStart, life },
    ]),
  )
}

/** Like this nobody waits for one who waits for him. */
function inOrder(one: WriteRecord, other: WriteRecord): number {
  return one.user_id - other.user_id || (one.id < other.id ? -1 : 1)
}

type WriteRecord = ReturnType<typeof recordOf>

/** The write that ends a job. */
export function endOf(from: StoredJob, job: Job, life: string | null = null): JobWrite {
  return { from, job, flight: null, losses: 0, life, isReleased: true }
}
