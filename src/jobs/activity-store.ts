import type { Queryable } from '../postgres/transaction.ts'

/** A running job, without its statements. */
export type RunningJob = Readonly<{
  id: string
  username: string
  /** The item that was begun last, from 1. */
  item: number
  items: number
  startedAt: Date
  host: string
  /** Null: its worker is gone, and another one is about to take it over. */
  worker: string | null
}>

/** A user whose jobs wait. */
export type WaitingUser = Readonly<{ username: string; jobs: number; oldestAt: Date }>

/** Up to a limit of each; `left` counts the rest. */
export type Activity = Readonly<{
  running: readonly RunningJob[]
  waiting: readonly WaitingUser[]
  left: Readonly<{ running: number; waiting: number }>
}>

/**
 * What the workers of all processes are doing, longest running first, and which users wait, in the order of their
 * turns.
 */
export async function readActivity(control: Queryable, limit: number): Promise<Activity> {
  const [running, waiting] = await Promise.all([readRunning(control, limit), readWaiting(control, limit)])
  return {
    running: running.map(({ total: _total, ...job }) => job),
    waiting: waiting.map(({ total: _total, ...user }) => user),
    left: { running: beyond(running), waiting: beyond(waiting) },
  }
}

/** Each row has the total count. */
type WithTotal = Readonly<{ total: number }>

const beyond = (rows: readonly WithTotal[]) => (rows[0]?.total ?? 0) - rows.length

async function readRunning(control: Queryable, limit: number): Promise<readonly (RunningJob & WithTotal)[]> {
  const { rows } = await control.query<RunningJob & WithTotal>(
    `select j.id, u.username, h.name as host, w.name as worker, count(*) over ()::integer as total,
       json_array_length(j.definition -> 'items') as items,
       greatest(1, (select count(*) from json_array_elements(j.progress -> 'items') item
         where item ->> 'startedAt' is not null))::integer as item,
       -- A job that was claimed together with a begun transaction has no progress yet.
       coalesce((j.progress #>> '{items,0,startedAt}')::timestamptz, j.updated_at) as "startedAt"
     from cartage.jobs j
     join cartage.users u on u.id = j.user_id
     join cartage.hosts h on h.id = j.host_id
     left join cartage.workers w on w.id = j.worker_id
     where j.status = 'running'
     order by "startedAt", j.id limit $1`,
    [limit],
  )
  return rows
}

async function readWaiting(control: Queryable, limit: number): Promise<readonly (WaitingUser & WithTotal)[]> {
  const { rows } = await control.query<WaitingUser & WithTotal>(
    `with waiting as (
       select user_id, sum(pending)::integer as pending, min(last_served) as last_served,
         count(*) over ()::integer as total
       from cartage.job_queues where pending > 0 group by user_id order by min(last_served) limit $1
     )
     select u.username, q.pending as jobs, oldest.created_at as "oldestAt", q.total
     from waiting q
     join cartage.users u on u.id = q.user_id
     cross join lateral (
       select j.created_at from cartage.jobs j where j.user_id = q.user_id and j.status = 'pending' and j.not_before is null
       order by j.position limit 1
     ) oldest
     order by q.last_served`,
    [limit],
  )
  return rows
}

/** The statement of a running job. */
export type JobStatement = Readonly<{
  jobId: string
  username: string
  /** The key that made an import, unless it was deleted since. Null for a job, which runs as the account. */
  key: string | null
  isImport: boolean
  /** Since the job began. */
  runMs: number
  hostId: number
  /** The pid of the statement in flight; null between two statements. */
  pid: number | null
  /** In seconds since 1970, which is the same text whatever the time zone. */
  backendStart: string | null
  /** The SQL of the item that began last. */
  text: string | null
}>

/** The longest running first, at most `limit`; `textLength` characters of each text. */
export async function readJobStatements(
  control: Queryable,
  { username, limit, textLength }: Readonly<{ username: string | null; limit: number; textLength: number }>,
): Promise<Readonly<{ statements: readonly JobStatement[]; left: number }>> {
  const { rows } = await control.query<JobStatement & WithTotal>(
    `with running as (
       select j.*, u.username, count(*) over ()::integer as total,
         coalesce((j.progress #>> '{items,0,startedAt}')::timestamptz, j.updated_at) as started_at
       from cartage.jobs j join cartage.users u on u.id = j.user_id
       where j.status = 'running' and ($1::text is null or u.username = $1)
       order by started_at, j.id limit $2
     )
     select r.id as "jobId", r.username, k.name as key, r.is_import as "isImport", r.total,
       greatest(0, extract(epoch from clock_timestamp() - r.started_at) * 1000)::float8 as "runMs",
       r.host_id as "hostId", r.flight_pid as pid, extract(epoch from r.flight_backend_start)::text as "backendStart",
       case when not r.is_import then left(r.definition -> 'items' -> (
         select greatest(1, count(*)) - 1 from json_array_elements(r.progress -> 'items') item
         where item ->> 'startedAt' is not null)::integer ->> 'statement', $3) end as text
     from running r
     left join cartage.imports i on i.user_id = r.user_id and i.id = r.id
     left join cartage.api_keys k on k.id = i.key_id
     order by r.started_at, r.id`,
    [username, limit, textLength],
  )
  return { statements: rows.map(({ total: _total, ...job }) => job), left: beyond(rows) }
}

/** The user whose job runs or waits under this id; undefined if there is none. */
export async function findActiveJob(
  control: Queryable,
  id: string,
): Promise<Readonly<{ username: string; isImport: boolean }> | undefined> {
  const { rows } = await control.query<{ username: string; isImport: boolean }>(
    // Each part has a partial index: the many finished jobs are not read.
    `select u.username, j.is_import as "isImport" from (
       select user_id, is_import from cartage.jobs where id = $1 and status = 'running'
       union all
       select user_id, is_import from cartage.jobs where id = $1 and status = 'pending' and not_before is null
       union all
       select user_id, is_import from cartage.jobs where id = $1 and status = 'pending' and not_before is not null
     ) j join cartage.users u on u.id = j.user_id`,
    [id],
  )
  return rows[0]
}
