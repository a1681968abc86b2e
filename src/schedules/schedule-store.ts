import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import { lockUser } from '../auth/account-store.ts'
import type { JobDefinition } from '../jobs/job.ts'
import { type Control, inTransaction, type Queryable } from '../postgres/transaction.ts'
import type { PlannedRun } from './plan-runs.ts'
import type { Schedule, ScheduleDefinition, ScheduleNotice, ScheduleRun } from './schedule.ts'

type ScheduleRow = Readonly<{
  name: string
  cron: string
  timezone: string
  definition: JobDefinition
  overlap: Schedule['overlap']
  catch_up: Schedule['catchUp']
  notify: readonly ScheduleNotice[] | null
  next_due_at: Date | null
  disabled_reason: string | null
  last_job: string | null
  last_status: string | null
  runs_ok: number
  runs_failed: number
  created_at: Date
  updated_at: Date
}>

const selectSchedules = `select s.*, last.job_id as last_job, coalesce(last.outcome, j.status) as last_status,
    (select json_agg(json_build_object('url', w.url, 'events', w.events, 'includeSql', w.include_sql) order by w.created_at, w.id)
     from cartage.webhooks w where w.user_id = s.user_id and w.schedule = s.name) as notify
  from cartage.schedules s
  left join lateral (
    select r.job_id, r.outcome from cartage.schedule_runs r
    where r.user_id = s.user_id and r.name = s.name and r.job_id is not null order by r.due_at desc limit 1
  ) last on true
  left join cartage.jobs j on j.user_id = s.user_id and j.id = last.job_id`

function readSchedule(row: ScheduleRow): Schedule {
  return {
    name: row.name,
    cron: row.cron,
    timezone: row.timezone,
    job: row.definition,
    isEnabled: row.next_due_at !== null,
    overlap: row.overlap,
    catchUp: row.catch_up,
    notify: row.notify ?? [],
    nextRunAt: row.next_due_at,
    disabledReason: row.disabled_reason,
    lastJob: row.last_job,
    lastStatus: row.last_status,
    runsOk: row.runs_ok,
    runsFailed: row.runs_failed,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export async function listSchedules(control: Control, { userId }: Account): Promise<readonly Schedule[]> {
  const { rows } = await control.query<ScheduleRow>(
    `${selectSchedules} where s.user_id = $1 order by s.name`,
    [userId],
  )
  return rows.map(readSchedule)
}

export async function findSchedule(
  control: Control,
  { userId }: Account,
  name: string,
): Promise<Schedule | undefined> {
  const { rows } = await control.query<ScheduleRow>(
    `${selectSchedules} where s.user_id = $1 and s.name = $2`,
    [userId, name],
  )
  return rows[0] && readSchedule(rows[0])
}

export async function isSchedule(control: Control, { userId }: Account, name: string): Promise<boolean> {
  const { rows } = await control.query<{ found: boolean }>(
    'select exists (select from cartage.schedules where user_id = $1 and name = $2) as found',
    [userId, name],
  )
  return rows[0]!.found
}

/** `nextDueAt`: null if it is disabled. A schedule that has the same times keeps its next one. */
export async function putSchedule(
  control: Control,
  { userId }: Account,
  schedule: ScheduleDefinition,
  nextDueAt: Date | null,
): Promise<void> {
  const { name, cron, timezone, job, overlap, catchUp } = schedule
  await control.query(
    `insert into cartage.schedules as s (user_id, name, cron, timezone, definition, overlap, catch_up, next_due_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (user_id, name) do update
     set definition = excluded.definition, overlap = excluded.overlap, catch_up = excluded.catch_up,
         next_due_at = case
           when excluded.next_due_at is null then null
           when (s.cron, s.timezone) = (excluded.cron, excluded.timezone) and s.next_due_at is not null then s.next_due_at
           else excluded.next_due_at end,
         cron = excluded.cron, timezone = excluded.timezone, updated_at = clock_timestamp(),
         failures = case when s.next_due_at is null then 0 else s.failures end, disabled_reason = null`,
    [userId, name, cron, timezone, JSON.stringify(job), overlap, catchUp, nextDueAt],
  )
}

/** How many there are, and the bytes of the definitions of all but this one. Locked against other requests that save one. */
export async function measureSchedules(
  tx: Control,
  { userId }: Account,
  name: string,
): Promise<Readonly<{ count: number; otherBytes: number }>> {
  await lockUser(tx, userId)
  const { rows } = await tx.query<{ count: number; otherBytes: number }>(
    `select count(*)::integer as count,
       coalesce(sum(octet_length(definition::text)) filter (where name <> $2), 0)::float8 as "otherBytes"
     from cartage.schedules where user_id = $1`,
    [userId, name],
  )
  return rows[0]!
}

/** The time by the clock of the database, or the last due time that has a record if that is later. */
export async function readDueFrom(tx: Control, { userId }: Account, name: string): Promise<Date> {
  const { rows } = await tx.query<{ from: Date }>(
    `select greatest(clock_timestamp(), max(due_at)) as from from cartage.schedule_runs
     where user_id = $1 and name = $2 and not is_manual`,
    [userId, name],
  )
  return rows[0]!.from
}

/** `before`: in the same transaction, while the schedule is locked. */
export async function deleteSchedule(
  control: Pool,
  { userId }: Account,
  name: string,
  before: (tx: Queryable) => Promise<void>,
): Promise<void> {
  const which = 'from cartage.schedules where user_id = $1 and name = $2'
  await inTransaction(control, async (tx) => {
    await tx.query(`select ${which} for update`, [userId, name])
    await before(tx)
    await tx.query(`delete ${which}`, [userId, name])
  })
}

/** The runs before a time, newest first. */
export async function listRuns(
  control: Control,
  { userId }: Account,
  name: string,
  { before, limit }: Readonly<{ before: Date | undefined; limit: number }>,
): Promise<readonly ScheduleRun[]> {
  const { rows } = await control.query<ScheduleRun>(
    `select r.due_at as "dueAt", r.is_manual as "isManual", r.job_id as "jobId", r.skipped,
       coalesce(r.outcome, j.status) as status
     from cartage.schedule_runs r left join cartage.jobs j on j.user_id = r.user_id and j.id = r.job_id
     where r.user_id = $1 and r.name = $2 and r.due_at < $3 order by r.due_at desc limit $4`,
    [userId, name, before ?? 'infinity', limit],
  )
  return rows
}

/** A schedule that is locked, with the time by the clock of the database. */
export type DueSchedule = Readonly<{
  account: Pick<Account, 'userId' | 'hostId' | 'username'>
  schedule: Pick<ScheduleDefinition, 'name' | 'cron' | 'timezone' | 'job' | 'overlap' | 'catchUp'>
  /** Null: it is disabled. */
  nextDueAt: Date | null
  now: Date
  isJobOpen: boolean
}>

type DueRow = Readonly<{
  user_id: number
  username: string
  host_id: number
  now: Date
  is_job_open: boolean
}> &
  ScheduleRow

const openJob = `exists (
  select from cartage.schedule_runs r left join cartage.jobs j on j.user_id = r.user_id and j.id = r.job_id
  where r.user_id = s.user_id and r.name = s.name and r.job_id is not null and r.outcome is null
    and j.finished_at is null and j.id is not null)`

/**
 * Locks one schedule that is due until the transaction ends: the oldest, or any. Those that another worker has locked are
 * passed over.
 */
export async function lockDueSchedule(
  tx: Control,
  which: 'oldest' | 'any',
): Promise<DueSchedule | undefined> {
  const { rows } = await tx.query<LockedRow>({
    name: 'lock-due-schedule',
    text: `select s.user_id, s.name from cartage.schedules s join cartage.users u on u.id = s.user_id
      where s.next_due_at <= statement_timestamp() and u.state = 'active' and u.suspended_at is null
      order by case when $1 = 'any' then random() end, s.next_due_at limit 1 for update of s skip locked`,
    values: [which],
  })
  return rows[0] && readLocked(tx, rows[0])
}

/** Locks one schedule, due or not. */
export async function lockSchedule(
  tx: Control,
  { userId }: Account,
  name: string,
): Promise<DueSchedule | undefined> {
  const { rows } = await tx.query<LockedRow>(
    'select user_id, name from cartage.schedules where user_id = $1 and name = $2 for update',
    [userId, name],
  )
  return rows[0] && readLocked(tx, rows[0])
}

type LockedRow = Readonly<{ user_id: number; name: string }>

/** A statement of its own: the one that waited for the lock does not see what was written meanwhile. */
async function readLocked(tx: Control, { user_id, name }: LockedRow): Promise<DueSchedule> {
  const { rows } = await tx.query<DueRow>({
    name: 'read-locked-schedule',
    text: `select s.*, u.username, d.host_id, clock_timestamp() as now, ${openJob} as is_job_open
      from cartage.schedules s join cartage.users u on u.id = s.user_id join cartage.databases d on d.id = u.database_id
      where s.user_id = $1 and s.name = $2`,
    values: [user_id, name],
  })
  return readDue(rows[0]!)
}

function readDue(row: DueRow): DueSchedule {
  const { name, cron, timezone, definition: job, overlap, catch_up: catchUp } = row
  return {
    account: { userId: row.user_id, hostId: row.host_id, username: row.username },
    schedule: { name, cron, timezone, job, overlap, catchUp },
    nextDueAt: row.next_due_at,
    now: row.now,
    isJobOpen: row.is_job_open,
  }
}

/** A run to be recorded: with its job, or with the reason of its skip. */
export type NewRun = PlannedRun & Readonly<{ jobId: string | null; isManual?: boolean }>

export async function insertRuns(
  tx: Control,
  { account, schedule }: DueSchedule,
  runs: readonly NewRun[],
): Promise<void> {
  await tx.query(
    `insert into cartage.schedule_runs (user_id, name, due_at, job_id, skipped, is_manual)
     select $1, $2, r.* from unnest($3::timestamptz[], $4::uuid[], $5::text[], $6::boolean[]) r`,
    [
      account.userId,
      schedule.name,
      runs.map(({ dueAt }) => dueAt),
      runs.map(({ jobId }) => jobId),
      runs.map(({ skipped }) => skipped),
      runs.map(({ isManual = false }) => isManual),
    ],
  )
}

/** The time of a run on request: one of its own, whatever the clock does. The schedule is locked. */
export async function readManualTime(tx: Control, { account, schedule }: DueSchedule): Promise<Date> {
  const { rows } = await tx.query<{ time: Date }>(
    `select greatest(clock_timestamp(), max(due_at) + interval '1 millisecond') as time from cartage.schedule_runs
     where user_id = $1 and name = $2 and is_manual`,
    [account.userId, schedule.name],
  )
  return rows[0]!.time
}

/** A rule that is never due again is disabled. */
export async function setNextDue(
  tx: Control,
  { account, schedule }: DueSchedule,
  next: Date | undefined,
): Promise<void> {
  await tx.query(
    `update cartage.schedules set next_due_at = $3, disabled_reason = case when $3::timestamptz is null then 'It is never due again' end
     where user_id = $1 and name = $2`,
    [account.userId, schedule.name, next ?? null],
  )
}

/** Records how jobs have ended; returns the schedules that were disabled for their failures. */
export async function recordOutcomes(
  control: Control,
  mostFailures: number,
): Promise<readonly Readonly<{ name: string; reason: string }>[]> {
  const { rows } = await control.query<{ name: string; reason: string }>({
    name: 'record-schedule-outcomes',
    text: 'select name, reason from cartage.record_schedule_outcomes($1)',
    values: [mostFailures],
  })
  return rows
}

/** Removes some runs past the retention of jobs; true: there may be more. */
export async function cleanRuns(control: Control, retentionDays: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.schedule_runs r using (
       select user_id, name, due_at, is_manual from cartage.schedule_runs
       where due_at < now() - $1 * interval '1 day' and (job_id is null or outcome is not null) limit 500
     ) old where r.user_id = old.user_id and r.name = old.name and r.due_at = old.due_at
       and r.is_manual = old.is_manual`,
    [retentionDays],
  )
  return rowCount === 500
}
