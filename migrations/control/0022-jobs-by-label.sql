-- The list of jobs in the order of an index, whatever it is filtered by. Labels and schedule are columns: an index over the definition
-- would read all of it at each change of a job, and it may have 1 MB.

alter table cartage.jobs add column labels text[], add column schedule text;
drop index cartage.jobs_labelled, cartage.jobs_scheduled, cartage.jobs_listed, cartage.jobs_delayed;

update cartage.jobs j
set labels = nullif(array(select distinct json_array_elements_text(j.definition -> 'labels')), '{}'),
    schedule = j.definition ->> 'schedule'
where j.definition -> 'labels' is not null or j.definition ->> 'schedule' is not null;
-- Up to 0.1.0 the row of an import did not say so.
update cartage.jobs j set is_import = true from cartage.imports i
where j.user_id = i.user_id and j.id = i.id and not j.is_import;

-- The status stands before the time, so that the few failed ones among a million are found at once; a list of all merges the
-- statuses.
create index jobs_listed on cartage.jobs (user_id, status, created_at, id) where finished_at is not null and not is_import;
create index jobs_scheduled on cartage.jobs (user_id, schedule, status, created_at, id)
  where finished_at is not null and schedule is not null;
create index jobs_waiting on cartage.jobs (user_id, created_at, id) where status = 'pending' and not is_import;

-- The labels of finished jobs. Kept by triggers, so a job without labels costs nothing. The job of a schedule has two rows for each
-- label: with its schedule, and with none.
create table cartage.job_labels (
  user_id    integer not null,
  label      text not null,
  schedule   text not null,
  status     text not null,
  created_at timestamptz not null,
  job_id     uuid not null,
  primary key (user_id, label, schedule, status, created_at, job_id)
);
insert into cartage.job_labels (user_id, label, schedule, status, created_at, job_id)
select j.user_id, l.label, s.schedule, j.status, j.created_at, j.id
from cartage.jobs j, unnest(j.labels) l (label), unnest(array['', j.schedule]) s (schedule)
where j.finished_at is not null and s.schedule is not null;

create function cartage.note_labels() returns trigger language plpgsql as $$
begin
  insert into cartage.job_labels (user_id, label, schedule, status, created_at, job_id)
  select new.user_id, l.label, s.schedule, new.status, new.created_at, new.id
  from unnest(new.labels) l (label), unnest(array['', new.schedule]) s (schedule) where s.schedule is not null;
  return null;
end
$$;

-- Once for all jobs that a statement deletes: a user who is deleted may have a million. EXECUTE plans it by their number.
create function cartage.remove_labels() returns trigger language plpgsql as $$
begin
  execute $delete$
    delete from cartage.job_labels l
    using gone j, unnest(j.labels) named (label), unnest(array['', j.schedule]) s (schedule)
    where j.finished_at is not null and l.user_id = j.user_id and l.label = named.label and l.schedule = s.schedule
      and l.status = j.status and l.created_at = j.created_at and l.job_id = j.id
  $delete$;
  return null;
end
$$;

create trigger note_labels after update on cartage.jobs for each row
  when (old.finished_at is null and new.finished_at is not null and new.labels is not null)
  execute function cartage.note_labels();
create trigger note_labels_of_finished after insert on cartage.jobs for each row
  when (new.finished_at is not null and new.labels is not null) execute function cartage.note_labels();
create trigger remove_labels after delete on cartage.jobs referencing old table as gone
  for each statement execute function cartage.remove_labels();

drop function cartage.labels_of;

-- Looks at jobs of a user in the order of `ids`, until the page is full, `most` have been looked at, or the definitions that were
-- read have `most_bytes`. `shown` has those that match; the next page follows after `next_at` and `next_id`, null at the end.
create function cartage.look_at_jobs(
  owner integer, ids uuid[], most integer, per_page integer, most_bytes integer,
  with_label text, of_schedule text, pattern text,
  out shown uuid[], out next_at timestamptz, out next_id uuid
) language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  job record;
  looked integer := 0;
  bytes bigint := 0;
  is_shown boolean;
begin
  shown := '{}';
  for place in 1 .. least(cardinality(ids), most) loop
    exit when cardinality(shown) = per_page;
    select j.id, j.created_at, j.definition, j.labels, j.schedule into job
    from cartage.jobs j where j.user_id = owner and j.id = ids[place];
    continue when not found;
    is_shown := (with_label is null or coalesce(with_label = any (job.labels), false))
      and (of_schedule is null or job.schedule is not distinct from of_schedule);
    if is_shown then
      bytes := bytes + octet_length(job.definition::text);
      exit when bytes > most_bytes and looked > 0;
      is_shown := pattern is null or exists (
        select from json_array_elements(job.definition -> 'items') item where item ->> 'statement' ilike pattern
      );
    end if;
    if is_shown then
      shown := shown || job.id;
    end if;
    looked := place;
    next_at := job.created_at;
    next_id := job.id;
  end loop;
  if looked = cardinality(ids) then
    next_at := null;
    next_id := null;
  end if;
end
$$;

-- Labels and schedule of new jobs are written by the functions in 0026-plans.sql.

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
  if new.schedule is not null then
    told := told || array(
      select w.id from cartage.webhooks w
      where w.user_id = new.user_id and w.schedule = new.schedule and event = any (w.events)
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
