import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import { isFinal, type JobStatus, jobStatuses } from '../contract/job-status.ts'
import type { Job } from './job.ts'
import { type JobRow, readJob } from './job-store.ts'

type Control = Pick<Pool, 'query'>

/** Which jobs to list. Absent: all. */
export type JobFilter = Readonly<{
  status?: JobStatus | undefined
  label?: string | undefined
  /** The name of the schedule that made them. */
  schedule?: string | undefined
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
 * hundred jobs of 1 MB are never in memory at once. `text` is looked for in the newest jobs only: a page may be empty and
 * still have a next one.
 */
export async function listJobs(
  control: Control,
  account: Account,
  filter: JobFilter,
  perPage: number,
  after?: ListPlace,
): Promise<JobPage> {
  const { status, label, schedule, since, until, text } = filter
  const looked = text === undefined ? perPage : Math.max(perPage, mostSearched)
  const { rows } = await control.query<ListedRow>({
    text: listText(
      schedule !== undefined
        ? finishedOfSchedule
        : label === undefined
          ? finishedOfEachStatus
          : finishedWithLabel,
    ),
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
      looked + 1,
      perPage,
      schedule ?? null,
    ],
  })
  const found = rows.flatMap((row) => (row.definition ? [{ ...row, definition: row.definition }] : []))
  const last = rows.at(-1)
  return {
    jobs: found.map((row) => readJob({ ...row, username: account.username })),
    next: last?.is_followed ? { createdAt: last.created_micros, id: last.id } : undefined,
  }
}

/** The last row is the last one that was looked at; without a definition it is not part of the page. */
type ListedRow = Omit<JobRow, 'username' | 'definition'> & {
  definition: JobRow['definition'] | null
  created_micros: string
  is_followed: boolean
}

const maxPageBytes = 4 * 1024 ** 2
/** As PostgreSQL stores them: what one request reads at most. */
const maxStoredBytes = 8 * 1024 ** 2
/** Jobs in which one request looks for a text. */
const mostSearched = 2_000

const ownJobs = `select * from cartage.jobs j where user_id = $1 and not is_import
  and ($4::bigint is null or (created_at, id) < (timestamptz 'epoch' + $4 * interval '1 microsecond', $5::uuid))
  and created_at >= $6 and created_at < $7`
const newestFirst = 'order by created_at desc, id desc limit $10'
const hasLabel = `cartage.labels_of(user_id, definition) @> array[$1 || ' ' || $9::text]`

/** Each status has its part of the index. */
const finishedOfEachStatus = `select f.* from unnest($2::text[]) s (status), lateral (
  ${ownJobs} and finished_at is not null and j.status = s.status ${newestFirst}) f where $9::text is null`

/** Those with the label are found first: they are few among a million. */
const finishedWithLabel = `${ownJobs} and finished_at is not null and status = any ($2) and id = any (array(
  select id from cartage.jobs where user_id = $1 and definition -> 'labels' is not null and ${hasLabel})) ${newestFirst}`

const isOfSchedule = `($12::text is null or definition ->> 'schedule' = $12)`

/** They have an index of their own. */
const finishedOfSchedule = `${ownJobs} and finished_at is not null and status = any ($2)
  and definition ->> 'schedule' = $12 and ($9::text is null or ${hasLabel}) ${newestFirst}`

/** Each state of waiting has an index of its own. */
const unfinishedStates = {
  pending: "status = 'pending' and not_before is null",
  delayed: "status = 'pending' and not_before is not null",
  running: "status = 'running'",
} as const

const unfinished = (state: keyof typeof unfinishedStates) =>
  `${ownJobs} and ${unfinishedStates[state]} and ($3::text is null or status = $3)
    and ($9::text is null or definition -> 'labels' is not null and ${hasLabel}) and ${isOfSchedule}`

/** Up to 0.1.0 the row of an import did not say so. */
const isShown = `definition -> 'isImport' is null and ($8::text is null or exists (
  select from json_array_elements(definition -> 'items') item where item ->> 'statement' ilike $8))`

/**
 * Looks at jobs until the page is full, by number or by bytes, or until it has looked at as many as one request may. Only
 * what is shown leaves the database, and the place of the last job that was looked at.
 */
function listText(finished: string): string {
  return `
    with candidates as materialized (
      select * from ((${finished}) union all (${unfinished('pending')})
        union all (${unfinished('delayed')}) union all (${unfinished('running')})) found ${newestFirst}
    ), sized as (
      select *, sum(pg_column_size(definition)) over (order by created_at desc, id desc) as stored from candidates
    ), searched as (
      select *, ${isShown} as is_shown from sized where stored - pg_column_size(definition) <= ${maxStoredBytes}
    ), counted as (
      select *, count(*) filter (where is_shown) over newest as shown,
        sum(octet_length(definition::text)) filter (where is_shown) over newest as bytes,
        row_number() over newest as place, (select count(*) from candidates) as candidates
      from searched window newest as (order by created_at desc, id desc)
    ), page as (
      select *, max(place) over () as last from counted
      where place < $10 and (coalesce(shown, 0) <= $11 and coalesce(bytes, 0) <= ${maxPageBytes} or shown = 1)
    )
    select user_id, id, status, case when is_shown then definition end as definition, progress, claim, revision,
      created_at, updated_at, not_before, flight_xid, flight_pid, flight_backend_start::text,
      (extract(epoch from created_at) * 1000000)::bigint::text as created_micros, place < candidates as is_followed
    from page where is_shown or place = last order by place`
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
  const { rows } = await control.query<{
    pending_ahead: number
    running: number
    most_running: number | null
    on_host: number
    is_delayed: boolean
  }>({
    name: 'queue-place-of',
    text: `select
        (select count(*)::integer from cartage.jobs o
          where o.user_id = j.user_id and o.status = 'pending' and o.not_before is null and not o.is_import
            and (j.not_before is not null or o.position < j.position)) as pending_ahead,
        q.running, q.most_running, j.not_before is not null as is_delayed,
        (select count(*)::integer from cartage.jobs r where r.status = 'running' and not r.is_import and r.host_id = j.host_id) as on_host
      from cartage.jobs j join cartage.job_queues q on q.user_id = j.user_id and not q.is_import
      where j.user_id = $1 and j.id = $2 and j.status = 'pending'`,
    values: [userId, id],
  })
  const [found] = rows
  if (!found) return undefined
  const isNext =
    !found.is_delayed && found.pending_ahead + found.running < (found.most_running ?? jobsPerUser)
  return { ahead: found.pending_ahead + found.running, isHostBusy: isNext && found.on_host >= jobsPerHost }
}
