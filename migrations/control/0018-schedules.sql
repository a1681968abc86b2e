-- Schedules: jobs that are made by the clock. Each due time has one row in cartage.schedule_runs, written together with its job or with
-- the reason why it made none, and together with the next due time.

create table cartage.schedules (
  user_id         integer not null references cartage.users on delete cascade,
  name            text not null,
  cron            text not null,
  timezone        text not null,
  -- Of each of its jobs.
  definition      json not null,
  overlap         text not null check (overlap in ('skip', 'queue')),
  catch_up        text not null check (catch_up in ('none', 'last')),
  -- The first due time without a row in schedule_runs; null: it is disabled. It only grows, whatever the clock does, unless the rule is changed.
  next_due_at     timestamptz,
  disabled_reason text,
  runs_ok         integer not null default 0,
  runs_failed     integer not null default 0,
  -- In a row, those by the clock only.
  failures        integer not null default 0,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  primary key (user_id, name)
);
create index schedules_due on cartage.schedules (next_due_at) where next_due_at is not null;

create table cartage.schedule_runs (
  user_id   integer not null,
  name      text not null,
  due_at    timestamptz not null,
  -- Made on request, not by the clock.
  is_manual boolean not null default false,
  job_id    uuid,
  -- The final status of the job; null while it has none.
  outcome   text,
  skipped   text check (skipped in ('overlap', 'missed', 'queue-full')),
  primary key (user_id, name, due_at, is_manual),
  foreign key (user_id, name) references cartage.schedules on delete cascade,
  check ((job_id is null) <> (skipped is null))
);
create index schedule_runs_open on cartage.schedule_runs (user_id, name) where job_id is not null and outcome is null;
create index schedule_runs_due on cartage.schedule_runs (due_at);

-- The jobs of a schedule, newest first.
create index jobs_scheduled on cartage.jobs (user_id, (definition ->> 'schedule'), created_at, id)
  where definition ->> 'schedule' is not null;

-- Records how the jobs of schedules have ended. A schedule whose runs by the clock failed `most_failures` times in a row is disabled.
-- Returns the disabled ones.
create function cartage.record_schedule_outcomes(most_failures integer)
returns table (user_id integer, name text, reason text) language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  run record;
  changed cartage.schedules;
begin
  for run in
    select r.user_id, r.name, r.due_at, r.is_manual, j.status, j.progress ->> 'failedReason' as failed_reason
    from cartage.schedule_runs r
    join cartage.schedules s on s.user_id = r.user_id and s.name = r.name
    left join cartage.jobs j on j.user_id = r.user_id and j.id = r.job_id
    where r.job_id is not null and r.outcome is null and (j.id is null or j.finished_at is not null)
    -- Who deletes a schedule locks it before its runs.
    order by r.user_id, r.name, r.due_at limit 500 for update of s, r skip locked
  loop
    update cartage.schedule_runs r set outcome = coalesce(run.status, 'unknown')
    where r.user_id = run.user_id and r.name = run.name and r.due_at = run.due_at and r.is_manual = run.is_manual;
    update cartage.schedules s
    set runs_ok = s.runs_ok + (run.status = 'done')::integer,
        runs_failed = s.runs_failed + (run.status in ('failed', 'unknown'))::integer,
        failures = case
          when run.is_manual or run.status is null or run.status = 'cancelled' then s.failures
          when run.status = 'done' then 0
          else s.failures + 1 end
    where s.user_id = run.user_id and s.name = run.name and run.status is not null
    returning s.* into changed;
    if found and changed.failures >= most_failures and changed.next_due_at is not null then
      reason := format('It failed %s times in a row. The last error: %s', changed.failures, coalesce(run.failed_reason, 'unknown'));
      update cartage.schedules s set next_due_at = null, disabled_reason = left(reason, 2000), updated_at = clock_timestamp()
      where s.user_id = run.user_id and s.name = run.name;
      insert into cartage.webhook_deliveries (user_id, webhook_id, type, body)
      select w.user_id, w.id, 'schedule.disabled', json_build_object(
        'type', 'schedule.disabled',
        'timestamp', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'data', json_build_object('schedule', run.name, 'user', u.username, 'reason', left(reason, 2000)))
      from cartage.webhooks w join cartage.users u on u.id = w.user_id
      where w.user_id = run.user_id and w.job_id is null and w.is_enabled and 'schedule.disabled' = any (w.events);
      user_id := run.user_id;
      name := run.name;
      return next;
    end if;
  end loop;
end
$$;
