import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import { isFinal, type JobStatus, jobStatuses } from '../contract/job-status.ts'
import type { Job } from './job.ts'
import { type JobRow, jobColumns, readJob } from './job-store.ts'

type Control = Pick<Pool, 'query'>

/** Which jobs to list. Absent: all. */
export type JobFilter = Readonly<{
  status?: JobStatus | undefined
  label?: string | undefined
  /** By the time of creation. */
  since?: Date | undefined
  until?: Date | undefined
  /** Part of the SQL, in any case. */
  text?: string | undefined
}>

/** A place in the list: jobs after it are older. */
export type ListPlace = Readonly<{
  /** Microseconds since 1970: a JavaScript Date has only milliseconds. */
  createdAt: string
  id: string
}>

export type JobPage = Readonly<{ jobs: readonly Job[]; next: ListPlace | undefined }>

/**
 * One page of a user's jobs, newest first, without imports. It ends early when its definitions reach 4 MB, so that a
 * hundred jobs of 1 MB are never in memory at once.
 */
export async function listJobs(
  control: Control,
  account: Account,
  filter: JobFilter,
  perPage: number,
  after?: ListPlace,
): Promise<JobPage> {
  const { status, label, since, until, text } = filter
  const { rows } = await control.query<ListedRow>({
    text: label === undefined ? listText(finishedOfEachStatus) : listText(finishedWithLabel),
    values: [
      account.userId,
      (status ? [status] : jobStatuses).filter(isFinal),
      status ?? null,
      after?.createdAt ?? null,
      after?.id ?? null,
      since ?? '-infinity',
      until ?? 'infinity',
      text === undefined ? null : `%${text.replace(/[\\%_]/g, '\\$&')}%`,
      label ?? null,
      perPage + 1,
    ],
  })
  const { length: fits } = rows.filter((row, at) => at === 0 || Number(row.bytes_to_here) <= maxPageBytes)
  const shown = rows.slice(0, Math.min(fits, perPage))
  const last = shown.at(-1)
  return {
    jobs: shown.map((row) => readJob({ ...row, username: account.username })),
    next: last && rows.length > shown.length ? { createdAt: last.created_micros, id: last.id } : undefined,
  }
}

type ListedRow = Omit<JobRow, 'username'> & { created_micros: string; bytes_to_here: string }

const maxPageBytes = 4 * 1024 ** 2

const ownJobs = `select * from cartage.jobs j where user_id = $1 and definition -> 'isImport' is null
  and ($4::bigint is null or (created_at, id) < (timestamptz 'epoch' + $4 * interval '1 microsecond', $5::uuid))
  and created_at >= $6 and created_at < $7
  and ($8::text is null or exists (
    select from json_array_elements(definition -> 'items') item where item ->> 'statement' ilike $8))`
const isLabelled = `($9::text is null or coalesce((definition -> 'labels')::jsonb ? $9, false))`
const newestFirst = 'order by created_at desc, id desc limit $10'

/** Each status has its part of the index. */
const finishedOfEachStatus = `select f.* from unnest($2::text[]) s (status), lateral (
  ${ownJobs} and finished_at is not null and j.status = s.status ${newestFirst}) f`

/** Those with the label are found first: they are few among a million. */
const finishedWithLabel = `${ownJobs} and finished_at is not null and status = any ($2) and id = any (array(
  select id from cartage.jobs where user_id = $1
    and definition -> 'labels' is not null and (definition -> 'labels')::jsonb ? $9)) ${newestFirst}`

function listText(finished: string): string {
  return `select ${jobColumns}, (extract(epoch from created_at) * 1000000)::bigint::text as created_micros,
      sum(octet_length(definition::text)) over (order by created_at desc, id desc) as bytes_to_here
    from (
      (${finished})
      union all (${ownJobs} and status = 'pending' and ($3::text is null or $3 = 'pending') and ${isLabelled})
      union all (${ownJobs} and status = 'running' and ($3::text is null or $3 = 'running') and ${isLabelled})
    ) found ${newestFirst}`
}

/** What a pending job waits for. */
export type QueuePlace = Readonly<{
  /** Unfinished jobs of the user that were queued before it. */
  ahead: number
  /** It is the user's turn, but every slot of the host is taken. */
  isHostBusy: boolean
}>

/** The place of a pending job in its user's queue; undefined if it is not pending any more. */
export async function queuePlaceOf(
  control: Control,
  { jobsPerUser, jobsPerHost }: Pick<Config, 'jobsPerUser' | 'jobsPerHost'>,
  { userId }: Account,
  id: string,
): Promise<QueuePlace | undefined> {
  const { rows } = await control.query<{ pending_ahead: number; running: number; on_host: number }>({
    name: 'queue-place-of',
    text: `select
        (select count(*)::integer from cartage.jobs o
          where o.user_id = j.user_id and o.status = 'pending' and not o.is_import and o.position < j.position) as pending_ahead,
        q.running,
        (select count(*)::integer from cartage.jobs r where r.status = 'running' and not r.is_import and r.host_id = j.host_id) as on_host
      from cartage.jobs j join cartage.job_queues q on q.user_id = j.user_id and not q.is_import
      where j.user_id = $1 and j.id = $2 and j.status = 'pending'`,
    values: [userId, id],
  })
  const [found] = rows
  if (!found) return undefined
  const isNext = found.pending_ahead + found.running < jobsPerUser
  return { ahead: found.pending_ahead + found.running, isHostBusy: isNext && found.on_host >= jobsPerHost }
}
