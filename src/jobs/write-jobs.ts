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
  /** The job that takes the place of the one that has ended. */
  next: ClaimedJob | undefined
}>

/** On what terms a worker that ends jobs is given others in their place. */
export type Succession = Readonly<{ workerId: number; perUser: number; openHosts: readonly number[] }>

/**
 * Writes in one transaction what has become of some jobs. While somebody else works on one of them this waits, if
 * `isPatient`; else nothing is written, and PostgreSQL's error says so.
 */
export async function writeJobs(
  control: Pick<Pool, 'query'>,
  writes: readonly JobWrite[],
  { isPatient = true, succession }: { isPatient?: boolean; succession?: Succession | undefined } = {},
): Promise<readonly WriteResult[]> {
  const { rows } = await control.query<ResultRow>({
    name: 'write-jobs',
    text: 'select outcome, written_at, next_job from cartage.write_jobs($1, $2, $3, $4, $5)',
    values: [
      JSON.stringify(writes.map(recordOf).sort(inOrder)),
      isPatient,
      succession?.workerId,
      succession?.perUser,
      succession?.openHosts,
    ],
  })
  return rows.map((row) => ({
    outcome: row.outcome,
    at: row.written_at,
    next: row.next_job ? readClaimedJob(row.next_job) : undefined,
  }))
}

type ResultRow = Readonly<{ outcome: Written; written_at: Date; next_job: ClaimedRow | null }>

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

/** Like this nobody waits for one who waits for him. */
function inOrder(one: WriteRecord, other: WriteRecord): number {
  return one.user_id - other.user_id || (one.id < other.id ? -1 : 1)
}

type WriteRecord = ReturnType<typeof recordOf>

/** The write that ends a job. */
export function endOf(from: StoredJob, job: Job, life: string | null = null): JobWrite {
  return { from, job, flight: null, losses: 0, life, isReleased: true }
}
