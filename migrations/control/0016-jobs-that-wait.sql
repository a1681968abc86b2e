-- Jobs that wait for a time: until their `not_before`, or after a failure until they are tried again. Such a job is pending, but not
-- in the queue of its user, so it holds up no other one. When its time has come, it is put at the end of the queue.

alter table cartage.jobs add column not_before timestamptz,
  -- A client follows the job: each change is notified.
  add column is_followed boolean not null default false,
  add constraint jobs_wait_while_pending check (not_before is null or status = 'pending');
alter table cartage.job_queues add column delayed integer not null default 0 check (delayed >= 0);
drop index cartage.jobs_pending;
create index jobs_pending on cartage.jobs (user_id, is_import, position) where status = 'pending' and not_before is null;
create index jobs_delayed on cartage.jobs (user_id) where not_before is not null;
create index jobs_due on cartage.jobs (not_before) where not_before is not null;

-- Puts jobs whose time has come into the queues of their users. Returns how many.
create function cartage.queue_due_jobs() returns integer language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  job record;
  owners integer[] := '{}';
  owner integer;
begin
  for job in
    select d.user_id, d.id from cartage.jobs d where d.not_before <= clock_timestamp()
    order by d.not_before limit 200 for update skip locked
  loop
    update cartage.jobs j
    set not_before = null, position = default, revision = j.revision + 1, write_id = null
    where j.user_id = job.user_id and j.id = job.id;
    owners := owners || job.user_id;
  end loop;
  -- One lock order, jobs before queues, and these by user, so no deadlock.
  for owner in select o from unnest(owners) o order by o loop
    update cartage.job_queues q set pending = q.pending + 1, delayed = q.delayed - 1
    where q.user_id = owner and not q.is_import;
  end loop;
  if cardinality(owners) > 0 then
    perform cartage.tell('cartage_jobs', '');
  end if;
  return cardinality(owners);
end
$$;

-- Gives a worker the oldest job, or import, of the least recently served user on one of the hosts, as JSON. With `on_host`:
-- only if that user is on this host.
create or replace function cartage.take_job(
  claimant integer, of_imports boolean, per_user integer, hosts integer[], on_host integer default null
) returns json language plpgsql as $$
declare
  queue cartage.job_queues;
  passed_over integer[] := '{}';
  taken record;
begin
  loop
    select q.* into queue from cartage.job_queues q
    where q.pending > 0 and q.is_import = of_imports and q.running < per_user
      and q.host_id = any (hosts) and q.user_id <> all (passed_over)
      and exists (select from cartage.users u where u.id = q.user_id and u.state = 'active')
    order by q.last_served limit 1 for update of q skip locked;
    if not found or queue.host_id <> on_host then
      return null;
    end if;

    update cartage.jobs j
    set status = 'running', worker_id = claimant, claim = gen_random_uuid(), revision = j.revision + 1, write_id = null,
        updated_at = clock_timestamp()
    from cartage.users u join cartage.databases d on d.id = u.database_id
    where u.id = queue.user_id and j.user_id = queue.user_id and j.id = (
      -- No job overtakes an older one: while another session has locked the oldest, as ?wait= does, its user is passed over.
      select p.id from cartage.jobs p
      where p.user_id = queue.user_id and p.is_import = of_imports and p.status = 'pending' and p.not_before is null
        and p.position = (
        select o.position from cartage.jobs o
        where o.user_id = queue.user_id and o.is_import = of_imports and o.status = 'pending' and o.not_before is null
        order by o.position limit 1
      )
      for update skip locked
    )
    -- As in cartage.runnable_jobs.
    returning j.user_id, j.id, j.status, j.definition, j.progress, j.claim, j.revision, j.created_at, j.updated_at,
      j.flight_xid, j.flight_pid, j.flight_backend_start, j.flight_losses, j.flight_restarts,
      u.username, u.master_role, u.schema_name, d.host_id, d.name as database_name
    into taken;
    exit when found;
    passed_over := passed_over || queue.user_id;
  end loop;

  update cartage.job_queues q
  set pending = q.pending - 1, running = q.running + 1, last_served = clock_timestamp()
  where q.user_id = queue.user_id and q.is_import = of_imports;
  return row_to_json(taken);
end
$$;

-- Writes each job, if it is the next write of its claim. `answers` has the order of the writes. For jobs that changed their status,
-- `owners`, `imports`, `old_statuses` and `new_statuses` have one entry each, with `delayed` for a pending job that
-- waits for its time; `freed_hosts` has the host of each job that has ended and was no import.
create or replace function cartage.write_each_job(
  writes json, current_epoch uuid,
  out answers json[], out owners integer[], out imports boolean[], out old_statuses text[], out new_statuses text[], out freed_hosts integer[]
) language plpgsql as $$
declare
  job record;
  written record;
begin
  answers := '{}';
  owners := '{}';
  imports := '{}';
  old_statuses := '{}';
  new_statuses := '{}';
  freed_hosts := '{}';
  for job in
    select w.* from json_to_recordset(writes) as w (
      number integer, user_id integer, id uuid, claim uuid, revision integer, write_id uuid, epoch uuid,
      old_status text, new_status text, is_released boolean, progress json,
      xid xid8, pid integer, backend_start timestamptz, losses smallint, restarts smallint, was_delayed boolean, delay_ms bigint
    )
  loop
    update cartage.jobs j
    set status = job.new_status, progress = job.progress,
        worker_id = case when job.new_status = 'running' and not job.is_released then j.worker_id end,
        claim = case when job.new_status = 'running' and not job.is_released then j.claim end,
        revision = j.revision + 1, write_id = job.write_id,
        flight_xid = job.xid, flight_pid = job.pid, flight_backend_start = job.backend_start,
        flight_losses = job.losses, flight_restarts = job.restarts, updated_at = clock_timestamp(),
        not_before = clock_timestamp() + job.delay_ms * interval '1 millisecond',
        finished_at = case when job.new_status not in ('pending', 'running') then clock_timestamp() end
    where j.user_id = job.user_id and j.id = job.id
      and j.claim is not distinct from job.claim and j.revision = job.revision and j.status = job.old_status
      and (job.epoch is null or job.epoch = current_epoch)
    returning j.updated_at, j.finished_at, j.host_id, j.is_import, j.is_watched, j.is_followed into written;
    if not found then
      answers[job.number] :=
        cartage.answer_refused_write(job.user_id, job.id, job.write_id, job.epoch, current_epoch);
      continue;
    end if;

    answers[job.number] := json_build_object('outcome', 'written', 'at', written.updated_at);
    if job.new_status <> job.old_status then
      owners := owners || job.user_id;
      imports := imports || written.is_import;
      old_statuses := old_statuses || case when job.was_delayed then 'delayed' else job.old_status end;
      new_statuses := new_statuses || case when job.delay_ms is not null then 'delayed' else job.new_status end;
    end if;
    if written.is_followed then
      perform cartage.tell('cartage_followed_jobs', job.id::text);
    end if;
    if written.finished_at is not null then
      if not written.is_import then
        freed_hosts := freed_hosts || written.host_id;
      end if;
      if written.is_watched then
        perform cartage.tell('cartage_finished_jobs', job.id::text);
      end if;
    elsif job.is_released then
      perform cartage.tell('cartage_jobs', 'orphan');
    end if;
  end loop;
end
$$;

-- Counts jobs that changed their status in the queues of their users.
create or replace function cartage.count_status_changes(
  owners integer[], imports boolean[], old_statuses text[], new_statuses text[]
) returns void language plpgsql as $$
begin
  for number in 1 .. cardinality(owners) loop
    update cartage.job_queues q
    set pending = q.pending + (new_statuses[number] = 'pending')::integer - (old_statuses[number] = 'pending')::integer,
        running = q.running + (new_statuses[number] = 'running')::integer - (old_statuses[number] = 'running')::integer,
        delayed = q.delayed + (new_statuses[number] = 'delayed')::integer - (old_statuses[number] = 'delayed')::integer
    where q.user_id = owners[number] and q.is_import = imports[number];
  end loop;
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
      idempotency_key text, request_hash text, not_before timestamptz
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
        user_id, host_id, id, is_import, definition, idempotency_key, request_hash, created_at, updated_at, not_before
      )
      values (
        job.user_id, queue.host_id, job.id, job.is_import, job.definition, job.idempotency_key, decode(job.request_hash, 'hex'),
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

-- Puts jobs into the queues of their users; the jobs come in the order of their users. Returns `queued` of
-- cartage.enqueue_each_job.
--
-- The claimant, if there is one, is given at once what it wants (`claimed` and `has_more` as in cartage.claim_jobs), so that a job
-- is queued and claimed with one wait for the disk. Without a claimant all workers are woken. A single job that comes while none
-- waits does not go through the queue at all.
create or replace function cartage.enqueue_jobs(
  jobs json, is_patient boolean, queue_limit integer, per_user integer,
  claimant integer, wanted integer, wanted_orphans integer, per_host integer, open_hosts integer[],
  wanted_imports integer, imports_per_user integer
) returns json language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp as $$
declare
  started json;
  outcome record;
  given record;
begin
  if not is_patient then
    perform set_config('lock_timeout', '100ms', true);
  end if;

  if wanted > 0 and json_array_length(jobs) = 1 and not (jobs #>> '{0,is_import}')::boolean
     and coalesce((jobs #>> '{0,not_before}')::timestamptz <= clock_timestamp(), true) then
    started := cartage.start_job(jobs -> 0, claimant, per_user, per_host, open_hosts);
    if started is not null then
      return json_build_object(
        'queued', json_build_array(started -> 'created_at'), 'claimed', json_build_array(started), 'has_more', false
      );
    end if;
  end if;

  outcome := cartage.enqueue_each_job(jobs, queue_limit, per_user, imports_per_user);
  if outcome.is_worker_needed and claimant is null then
    perform cartage.tell('cartage_jobs', '');
  elsif outcome.is_worker_needed then
    given := cartage.claim_jobs(
      claimant, wanted, wanted_orphans, per_user, per_host, open_hosts, wanted_imports, imports_per_user
    );
    return json_build_object('queued', outcome.queued, 'claimed', given.claimed, 'has_more', given.has_more);
  end if;
  return json_build_object('queued', outcome.queued);
end
$$;
