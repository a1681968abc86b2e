import type { RefusingLimit, UsageKind, UsagePeriod } from '../contract/usage-names.ts'
import type { TenantDatabase } from '../postgres/tenant-names.ts'
import type { Queryable } from '../postgres/transaction.ts'

export type UsageRow = Readonly<{
  userId: number
  kind: UsageKind
  requests: number
  jobs: number
  postgresMs: number
  rowsOut: number
  rowsIn: number
  bytesOut: number
  bytesIn: number
}>

/** Requests that were refused because their account was at this limit. */
export type RefusalRow = Readonly<{ userId: number; limit: RefusingLimit; requests: number }>

export type UsageBatch = Readonly<{
  process: string
  number: number
  rows: readonly UsageRow[]
  refusals?: readonly RefusalRow[]
}>

/** Adds a batch to the current hour, by the clock of the database. A batch that was added before changes nothing. */
export async function writeUsage(
  control: Queryable,
  { process, number, rows, refusals = [] }: UsageBatch,
): Promise<void> {
  const column = (name: keyof UsageRow) => rows.map((row) => row[name])
  const refused = (name: keyof RefusalRow) => refusals.map((row) => row[name])
  await control.query(
    `with turn as (
       insert into cartage.usage_writers as known (process, last_batch) values ($1, $2)
       on conflict (process) do update set last_batch = excluded.last_batch, written_at = clock_timestamp()
       where known.last_batch < excluded.last_batch
       returning process
     ),
     refused as (
       insert into cartage.refusals as known (user_id, hour, limit_name, requests)
       select user_id, date_trunc('hour', clock_timestamp(), 'UTC'), limit_name, requests
       from unnest($12::integer[], $13::text[], $14::bigint[]) as counted (user_id, limit_name, requests)
       where exists (select from turn)
       order by user_id, limit_name
       on conflict (user_id, hour, limit_name) do update set requests = known.requests + excluded.requests
     )
     insert into cartage.usage as known
       (user_id, hour, kind, requests, jobs, postgres_ms, rows_out, rows_in, bytes_out, bytes_in)
     select user_id, date_trunc('hour', clock_timestamp(), 'UTC'), kind,
       requests, jobs, round(postgres_ms), rows_out, rows_in, bytes_out, bytes_in
     from unnest($3::integer[], $4::text[], $5::bigint[], $6::bigint[], $7::float8[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])
       as counted (user_id, kind, requests, jobs, postgres_ms, rows_out, rows_in, bytes_out, bytes_in)
     where exists (select from turn)
     -- One lock order, so that two processes do not wait for each other.
     order by user_id, kind
     on conflict (user_id, hour, kind) do update set
       requests = known.requests + excluded.requests,
       jobs = known.jobs + excluded.jobs,
       postgres_ms = known.postgres_ms + excluded.postgres_ms,
       rows_out = known.rows_out + excluded.rows_out,
       rows_in = known.rows_in + excluded.rows_in,
       bytes_out = known.bytes_out + excluded.bytes_out,
       bytes_in = known.bytes_in + excluded.bytes_in`,
    [
      process,
      number,
      column('userId'),
      column('kind'),
      column('requests'),
      column('jobs'),
      column('postgresMs'),
      column('rowsOut'),
      column('rowsIn'),
      column('bytesOut'),
      column('bytesIn'),
      refused('userId'),
      refused('limit'),
      refused('requests'),
    ],
  )
}

/** An account whose data is to be measured. */
export type Unmeasured = TenantDatabase & Readonly<{ userId: number; schema: string }>

/**
 * Takes some accounts whose data was not measured in this hour: each is given to one process, once. Accounts that have
 * waited longest come first, so that none is left out if there are too many for an hour.
 */
export async function takeUnmeasured(control: Queryable, most: number): Promise<readonly Unmeasured[]> {
  const { rows } = await control.query<Unmeasured>(
    `with now as (select date_trunc('hour', clock_timestamp(), 'UTC') as hour),
     due as (
       select u.id from cartage.users u cross join now
       left join cartage.usage_measurements known on known.user_id = u.id
       where u.state = 'active' and (known.taken_at is null or known.taken_at < now.hour)
       order by known.taken_at nulls first, u.id limit $1
     ),
     taken as (
       insert into cartage.usage_measurements as known (user_id)
       -- One lock order, so that two processes do not wait for each other.
       select id from due order by id
       on conflict (user_id) do update set taken_at = excluded.taken_at
       where known.taken_at < (select hour from now)
       returning user_id
     )
     select u.id as "userId", d.host_id as "hostId", d.name as database, u.schema_name as schema
     from taken join cartage.users u on u.id = taken.user_id join cartage.databases d on d.id = u.database_id
     order by u.id`,
    [most],
  )
  return rows
}

export async function writeDiskBytes(control: Queryable, userId: number, bytes: number): Promise<void> {
  await control.query(
    `insert into cartage.usage as known (user_id, hour, kind, disk_bytes)
     values ($1, date_trunc('hour', clock_timestamp(), 'UTC'), 'disk', $2)
     on conflict (user_id, hour, kind) do update set disk_bytes = excluded.disk_bytes`,
    [userId, bytes],
  )
}

/** Both are full hours. */
export type UsageSpan = Readonly<{ since: Date; until: Date; by: UsagePeriod }>

export type PeriodUse = Readonly<{
  from: Date
  /** By kind. */
  requests: Readonly<Record<string, number>>
  jobs: number
  postgresMs: number
  rowsOut: number
  rowsIn: number
  bytesOut: number
  bytesIn: number
  /** The largest that was measured; null if it was not measured. */
  diskBytes: number | null
}>

/** The periods in which something was used, the oldest first; from `since` to before `until`. */
export async function readUsage(
  control: Queryable,
  userId: number,
  { since, until, by }: UsageSpan,
): Promise<readonly PeriodUse[]> {
  const { rows } = await control.query<PeriodUse>(
    `with kinds as (
       select date_trunc($4, hour, 'UTC') as period, kind, sum(requests) as requests, sum(jobs) as jobs,
         sum(postgres_ms) as postgres_ms, sum(rows_out) as rows_out, sum(rows_in) as rows_in,
         sum(bytes_out) as bytes_out, sum(bytes_in) as bytes_in, max(disk_bytes) as disk_bytes
       from cartage.usage
       where user_id = $1 and hour >= $2 and hour < $3
       group by 1, 2
     )
     select period as "from",
       coalesce(json_object_agg(kind, requests order by kind) filter (where requests > 0), '{}') as requests,
       sum(jobs)::float8 as jobs, sum(postgres_ms)::float8 as "postgresMs",
       sum(rows_out)::float8 as "rowsOut", sum(rows_in)::float8 as "rowsIn",
       sum(bytes_out)::float8 as "bytesOut", sum(bytes_in)::float8 as "bytesIn",
       max(disk_bytes)::float8 as "diskBytes"
     from kinds group by period order by period`,
    [userId, since, until, by],
  )
  return rows
}

/** Deletes some rows past their time, or of deleted accounts. True: there may be more. */
export async function cleanUsage(control: Queryable, retentionDays: number): Promise<boolean> {
  const { rowCount: past } = await control.query(
    `delete from cartage.usage where ctid = any (array(
       select ctid from cartage.usage
       where hour < clock_timestamp() - make_interval(days => $1) limit ${stepRows}
     ))`,
    [retentionDays],
  )
  await control.query(
    `delete from cartage.refusals where ctid = any (array(
       select ctid from cartage.refusals known
       where hour < clock_timestamp() - make_interval(days => $1)
         or not exists (select from cartage.users u where u.id = known.user_id)
       limit ${stepRows}
     ))`,
    [retentionDays],
  )
  const gone = await findGone(control)
  if (gone.length > 0)
    await control.query(
      `delete from cartage.usage where ctid = any (array(
         select ctid from cartage.usage where user_id = any ($1::integer[]) limit ${stepRows}
       ))`,
      [gone],
    )
  await control.query(
    `delete from cartage.usage_writers where written_at < clock_timestamp() - interval '1 day'`,
  )
  await control.query(
    `delete from cartage.usage_measurements known
     where not exists (select from cartage.users u where u.id = known.user_id)`,
  )
  return (past ?? 0) >= stepRows || gone.length > 0
}

/** Some deleted accounts with rows. Steps from account to account by the index: each has thousands of rows. */
async function findGone(control: Queryable): Promise<readonly number[]> {
  const { rows } = await control.query<{ id: number }>(
    `with recursive counted (id) as (
       select min(user_id) from cartage.usage
       union all
       select (select min(user_id) from cartage.usage where user_id > counted.id) from counted
       where counted.id is not null
     )
     select id from counted
     where id is not null and not exists (select from cartage.users u where u.id = counted.id)
     limit ${stepUsers}`,
  )
  return rows.map(({ id }) => id)
}

const stepRows = 5_000
const stepUsers = 10
