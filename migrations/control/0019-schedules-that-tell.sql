-- Whom a schedule tells: addresses of its document, which hear of its own jobs and of its end alone.
alter table cartage.webhooks add column schedule text,
  add foreign key (user_id, schedule) references cartage.schedules (user_id, name) on delete cascade,
  add check (job_id is null or schedule is null);
drop index cartage.webhooks_of_user;
create index webhooks_of_user on cartage.webhooks (user_id, created_at) where job_id is null and schedule is null;
create index webhooks_of_schedule on cartage.webhooks (user_id, schedule) where schedule is not null;
-- Of all addresses: one look tells that an account has none.
drop index cartage.webhooks_of_job;
create index webhooks_of_job on cartage.webhooks (user_id, job_id, id);

-- Runs with the settings of the function that ends the job.
create or replace function cartage.note_end_of_job() returns trigger language plpgsql as $$
declare
  event constant text := case
    when not new.is_import then 'job.' || new.status
    when new.status = 'done' then 'import.complete'
    else 'import.failure'
  end;
  most_pending constant integer := 10000;
  told uuid[];
  is_full boolean;
begin
  if not exists (select from cartage.webhooks w where w.user_id = new.user_id) then
    return null;
  end if;
  if new.is_import and exists (
    select from cartage.imports i where i.user_id = new.user_id and i.id = new.id and i.options ->> 'isPreview' = 'true'
  ) then
    return null;
  end if;
  told := array(
    select w.id from cartage.webhooks w
    where w.user_id = new.user_id and w.job_id is null and w.schedule is null and w.is_enabled and event = any (w.events)
    union all
    select w.id from cartage.webhooks w where w.user_id = new.user_id and w.job_id = new.id and event = any (w.events)
  );
  -- The definition has up to 1 MB: it is read only if a schedule may have to tell.
  if exists (select from cartage.webhooks w where w.user_id = new.user_id and w.schedule is not null) then
    told := told || array(
      select w.id from cartage.webhooks w
      where w.user_id = new.user_id and w.schedule = new.definition ->> 'schedule' and event = any (w.events)
    );
  end if;
  if cardinality(told) = 0 then
    return null;
  end if;
  select count(*) = most_pending into is_full
  from (select from cartage.webhook_deliveries d where d.user_id = new.user_id and d.status = 'pending' limit most_pending) pending;
  insert into cartage.webhook_deliveries (user_id, webhook_id, type, subject, status, failure)
  select new.user_id, w.id, event, new.id, case when is_full then 'undelivered' else 'pending' end,
    case when is_full then format('%s messages of this user were waiting', most_pending) end
  from unnest(told) w (id);
  return null;
end
$$;

-- Records how the jobs of schedules have ended. A schedule whose runs by the clock failed `most_failures` times in a row is disabled.
-- Returns the disabled ones.
create or replace function cartage.record_schedule_outcomes(most_failures integer)
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
      where w.user_id = run.user_id and w.job_id is null and (w.schedule is null or w.schedule = run.name)
        and w.is_enabled and 'schedule.disabled' = any (w.events);
      user_id := run.user_id;
      name := run.name;
      return next;
    end if;
  end loop;
end
$$;
