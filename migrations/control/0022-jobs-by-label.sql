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

-- Gives a worker a new job at once, as JSON; it is never pending. Null if it has to go through the queue, and then nothing is
-- written: because another job waits, or because it was queued before and the answer was lost.
create or replace function cartage.start_job(
  new_job json, claimant integer, per_user integer, per_host integer, open_hosts integer[]
) returns json language plpgsql as $$
declare
  job record;
  queue cartage.job_queues;
begin
  select j.* into job from json_to_record(new_job) as j (
    user_id integer, id uuid, definition json, labels text[], schedule text, idempotency_key text, request_hash text
  );
  select q.* into queue from cartage.job_queues q
  where q.user_id = job.user_id and not q.is_import and not q.is_held and q.pending = 0 and q.running < per_user
    and q.host_id = any (open_hosts)
    and not exists (select from cartage.job_queues w where w.pending > 0 and not w.is_held and not w.is_import)
  for update skip locked;
  -- As in cartage.claim_jobs: no session waits for this lock, and the session that holds it waits for no other.
  if not found or not pg_try_advisory_xact_lock(7238010) then
    return null;
  end if;
  if exists (select from cartage.jobs j where j.user_id = job.user_id and j.id = job.id)
     or not exists (select from cartage.users u where u.id = job.user_id and u.state = 'active')
     or cartage.count_running(queue.host_id) >= per_host then
    return null;
  end if;

  update cartage.job_queues q set running = q.running + 1, last_served = clock_timestamp()
  where q.user_id = job.user_id and not q.is_import;
  insert into cartage.jobs (
    user_id, host_id, id, definition, labels, schedule, idempotency_key, request_hash,
    status, worker_id, claim
  )
  values (
    job.user_id, queue.host_id, job.id, job.definition, job.labels, job.schedule,
    job.idempotency_key, decode(job.request_hash, 'hex'),
    'running', claimant, gen_random_uuid()
  );
  return (select row_to_json(r) from cartage.runnable_jobs r where r.user_id = job.user_id and r.id = job.id);
end
$$;

-- Puts each job into the queue of its user. Returns when each was created, in the order of the jobs; null if the queue was full.
--
-- Only the first job that waits needs a worker, and only if its user has a free slot: a worker that ends a job is given the next
-- one anyway.
create or replace function cartage.enqueue_each_job(
  jobs json, queue_limit integer, per_user integer, imports_per_user integer,
  out queued timestamptz[], out is_worker_needed boolean
) language plpgsql as $$
declare
  job record;
  queue record;
  known_at timestamptz;
  is_delayed boolean;
begin
  queued := '{}';
  is_worker_needed := false;
  for job in
    select j.* from json_to_recordset(jobs) as j (
      user_id integer, host_id integer, id uuid, is_import boolean, definition json,
      labels text[], schedule text, idempotency_key text, request_hash text, not_before timestamptz
    )
  loop
    -- Repeated, as the first answer was lost.
    select j.created_at into known_at from cartage.jobs j where j.user_id = job.user_id and j.id = job.id;
    if found then
      queued := array_append(queued, known_at);
      is_worker_needed := true;
      continue;
    end if;

    is_delayed := coalesce(job.not_before > clock_timestamp(), false);
    insert into cartage.job_queues as q (user_id, is_import, host_id, pending, delayed)
    values (job.user_id, job.is_import, job.host_id, (not is_delayed)::integer, is_delayed::integer)
    on conflict (user_id, is_import) do update
    set pending = q.pending + excluded.pending, delayed = q.delayed + excluded.delayed
    where q.pending + q.delayed < queue_limit
    returning q.host_id, q.pending, q.running, clock_timestamp() as at into queue;
    if found then
      insert into cartage.jobs (
        user_id, host_id, id, is_import, definition, labels, schedule, idempotency_key, request_hash,
        created_at, updated_at, not_before
      )
      values (
        job.user_id, queue.host_id, job.id, job.is_import, job.definition, job.labels, job.schedule,
        job.idempotency_key, decode(job.request_hash, 'hex'),
        queue.at, queue.at, case when is_delayed then job.not_before end
      );
    end if;
    queued := array_append(queued, queue.at);
    is_worker_needed := is_worker_needed or coalesce(
      not is_delayed and queue.pending = 1 and queue.running < case when job.is_import then imports_per_user else per_user end, false
    );
  end loop;
end
$$;

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
