import type { Account } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import { isFinal, type JobStatus, jobStatuses } from '../contract/job-status.ts'
import type { Control } from '../postgres/transaction.ts'
import type { Job } from './job.ts'
import { type JobRow, readJob } from './job-store.ts'

/** Which jobs to list. Absent: all. */
export type JobSearch = Readonly<{
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
 * hundred jobs of 1 MB are never in memory at once. With a filter it looks at the newest jobs only: a page may be empty
 * and still have a next one.
 */
export async function listJobs(
  control: Control,
  account: Account,
  filter: JobSearch,
  perPage: number,
  after?: ListPlace,
): Promise<JobPage> {
  const { label, schedule, since, until, text } = filter
  const end = earlier(after, until && { createdAt: `${until.getTime() * 1_000}`, id: firstId })
  const isSearch = [label, schedule, text].some((wanted) => wanted !== undefined)
  const { rows } = await control.query<ListedRow>({
    text: listText(filter),
    values: [
      account.userId,
      end.createdAt,
      end.id,
      since ?? '-infinity',
      isSearch ? mostLookedAt : perPage,
      perPage,
      maxPageBytes,
      label ?? null,
      schedule ?? null,
      text === undefined ? null : `%${text.replace(/[\\%_]/g, '\\$&')}%`,
    ],
  })
  const { next_micros: createdAt, next_id: id } = rows[0]!
  return {
    jobs: rows.flatMap((row) => (row.id === null ? [] : [readJob({ ...row, username: account.username })])),
    next: createdAt !== null && id !== null ? { createdAt, id } : undefined,
  }
}

/** The earlier of two places; of none, one after all jobs. One bound: PostgreSQL begins to read an index at one of them. */
function earlier(one: ListPlace | undefined, other: ListPlace | undefined): ListPlace {
  const [first = after9999, second = after9999] = [one, other]
  return BigInt(first.createdAt) < BigInt(second.createdAt) ? first : second
}

const firstId = '00000000-0000-0000-0000-000000000000'
const after9999: ListPlace = { createdAt: `${Date.UTC(10_000, 0) * 1_000}`, id: firstId }

/** Each has the place after which the next page begins. An empty page is one row without a job. */
type ListedRow = (Omit<JobRow, 'username'> | { readonly id: null }) & {
  readonly next_micros: string | null
  readonly next_id: string | null
}

const maxPageBytes = 4 * 1024 ** 2
/** Jobs among which one request looks for those that it shows. */
const mostLookedAt = 500

/**
 * Every part has an index in the order of the list, with the label, the schedule and the final status before the time. What
 * no index tells is told by `cartage.look_at_jobs`: the text, and the label and schedule of an unfinished job.
 */
function listText(filter: JobSearch): string {
  const parts = (filter.status ? [filter.status] : jobStatuses).map((status) => `(${partOf(filter, status)})`)
  return `
    select j.user_id, j.id, j.status, j.definition, j.progress, j.claim, j.revision, j.created_at, j.updated_at, j.not_before,
      j.flight_xid, j.flight_pid, j.flight_backend_start::text, l.next_id,
      (extract(epoch from l.next_at) * 1000000)::bigint::text as next_micros
    from cartage.look_at_jobs($1, array(
      select id from (${parts.join(' union all ')}) found ${newestFirst}
    ), $5, $6, $7, $8, $9, $10) l
    left join lateral unnest(l.shown) with ordinality s (id, place) on true
    -- One by one: the planner cannot know that they are few.
    left join lateral (select * from cartage.jobs where user_id = $1 and id = s.id limit 1) j on true
    order by s.place`
}

const newestFirst = 'order by created_at desc, id desc limit $5 + 1'

function partOf({ label, schedule }: JobSearch, status: JobStatus): string {
  const isByLabel = isFinal(status) && label !== undefined
  const [table, id] = isByLabel ? ['cartage.job_labels', 'job_id'] : ['cartage.jobs', 'id']
  const conditions = isByLabel
    ? `label = $8 and schedule = coalesce($9, '')`
    : isFinal(status)
      ? `finished_at is not null and not is_import ${schedule === undefined ? '' : 'and schedule = $9'}`
      : 'not is_import'
  return `select ${id} as id, created_at from ${table}
    where user_id = $1 and status = '${status}' and ${conditions} and created_at >= $4
      and (created_at, ${id}) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid) ${newestFirst}`
}

/** What a pending job waits for. */
export type QueuePlace = Readonly<{
  /** Unfinished jobs of the user that were queued before it. */
  ahead: number
  /** The job is next, but every slot of the host is taken. */
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
