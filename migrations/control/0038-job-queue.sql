-- The functions of the job queue, all in one file to read: the migrations before this one have changed them one after the other. Nothing
-- changes here. They are in the order in which a job meets them: queued, claimed, written. To change one, make a new file of all of
-- them with the same name and the next number.

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
    where q.pending + q.delayed < coalesce(q.most_pending, queue_limit)
    returning q.host_id, q.pending, q.running, q.most_running, clock_timestamp() as at into queue;
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
      not is_delayed and queue.pending = 1 and queue.running < coalesce(
        queue.most_running, case when job.is_import then imports_per_user else per_user end), false
    );
  end loop;
end
$$;

-- Gives a worker up to `wanted` waiting jobs, up to `wanted_imports` waiting imports, and up to `wanted_orphans` running ones of
-- either kind that have no worker, as JSON. Of a suspended account only those with a statement in flight, and with `is_held`: the
-- worker settles it and releases the job. Imports do not count for the limit of a host, so that no job waits for one.
-- `has_more`: there were more, but another session had locked them; ask again soon.
create or replace function cartage.claim_jobs(
  claimant integer, wanted integer, wanted_orphans integer,
  per_user integer, per_host integer, open_hosts integer[],
  wanted_imports integer default 0, imports_per_user integer default 0,
  out claimed json[], out has_more boolean
) language plpgsql as $$
declare
  orphan record;
  free_hosts integer[];
  job json;
begin
  claimed := '{}';
  has_more := false;
  -- One worker claims at a time, so that the limits are exact. No session waits for the lock: it may have writes to commit.
  if not pg_try_advisory_xact_lock(7238010) then
    has_more := true;
    return;
  end if;

  for orphan in
    select o.user_id, o.id, u.suspended_at is not null as is_held
    from cartage.jobs o join cartage.users u on u.id = o.user_id
    where o.status = 'running' and o.worker_id is null and o.host_id = any (open_hosts)
      and u.state = 'active' and (u.suspended_at is null or o.flight_pid is not null)
    limit wanted_orphans for update of o skip locked
  loop
    update cartage.jobs j
    set worker_id = claimant, claim = gen_random_uuid(), revision = j.revision + 1, write_id = null,
        updated_at = clock_timestamp()
    where j.user_id = orphan.user_id and j.id = orphan.id;
    claimed := claimed || (
      select row_to_json(o) from (
        select r.*, orphan.is_held from cartage.runnable_jobs r where r.user_id = orphan.user_id and r.id = orphan.id
      ) o
    );
  end loop;

  while wanted > 0 loop
    select coalesce(array_agg(h.id), '{}') into free_hosts from unnest(open_hosts) h (id)
    where cartage.count_running(h.id) < per_host;

    job := cartage.take_job(claimant, false, per_user, free_hosts);
    exit when job is null;
    claimed := claimed || job;
    wanted := wanted - 1;
  end loop;

  while wanted_imports > 0 loop
    job := cartage.take_job(claimant, true, imports_per_user, open_hosts);
    exit when job is null;
    claimed := claimed || job;
    wanted_imports := wanted_imports - 1;
  end loop;

  has_more := wanted > 0 and cartage.is_any_waiting(false, per_user, free_hosts)
    or wanted_imports > 0 and cartage.is_any_waiting(true, imports_per_user, open_hosts);
end
$$;

-- Gives a worker a job for each that it has ended, on the same host. So neither the limit of the host nor that of the user can be
-- exceeded, and no lock is needed that other workers would wait for. If the next user is on another host, the worker is given
-- none. What it wants beyond that follows in `claimed`. `has_more`: there may be more, so ask again soon.
create or replace function cartage.claim_next_jobs(
  claimant integer, freed_hosts integer[], wanted integer, wanted_orphans integer,
  per_user integer, per_host integer, open_hosts integer[], wanted_imports integer, imports_per_user integer,
  out claimed json[], out has_more boolean
) language plpgsql as $$
declare
  host integer;
  given json;
  more record;
begin
  claimed := '{}';
  foreach host in array freed_hosts loop
    continue when host <> all (open_hosts);
    given := cartage.take_job(claimant, false, per_user, open_hosts, host);
    continue when given is null;
    claimed := claimed || given;
  end loop;

  if wanted + wanted_orphans + wanted_imports > 0 then
    more := cartage.claim_jobs(
      claimant, wanted, wanted_orphans, per_user, per_host, open_hosts, wanted_imports, imports_per_user
    );
    claimed := claimed || more.claimed;
    has_more := more.has_more;
  else
    has_more := cartage.is_any_waiting(false, per_user, open_hosts);
  end if;
end
$$;

-- Whether a job, or import, waits that a worker could be given.
create or replace function cartage.is_any_waiting(of_imports boolean, per_user integer, hosts integer[]) returns boolean
-- In plpgsql, which keeps the plan.
language plpgsql as $$
begin
  return exists (
    select from cartage.job_queues q join cartage.users u on u.id = q.user_id
    where q.pending > 0 and not q.is_held and q.is_import = of_imports and q.running < coalesce(q.most_running, per_user)
      and q.host_id = any (hosts) and u.state = 'active'
  );
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
    where q.pending > 0 and not q.is_held and q.is_import = of_imports and q.running < coalesce(q.most_running, per_user)
      and q.host_id = any (hosts) and q.user_id <> all (passed_over)
      and exists (select from cartage.users u where u.id = q.user_id and u.state = 'active')
    order by q.last_served limit 1 for update of q skip locked;
    if not found or queue.host_id <> on_host then
      return null;
    end if;

    update cartage.jobs j
    set status = 'running', worker_id = claimant, claim = gen_random_uuid(), revision = j.revision + 1, write_id = null,
        updated_at = clock_timestamp()
    from cartage.users u join cartage.databases d on d.id = u.database_id left join cartage.plans l on l.name = u.plan
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
      u.username, u.master_role, u.schema_name, d.host_id, d.name as database_name,
      cartage.merged_limits(l.limits, u.limits) as limits
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
  where q.user_id = job.user_id and not q.is_import and not q.is_held and q.pending = 0
    and q.running < coalesce(q.most_running, per_user)
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

-- Writes what has become of jobs, each only if it is the next write of its claim (`claim`, `revision`), if the job has the status
-- that the writer expects (`old_status`), and, if the write has an epoch, in the same epoch of the server. A repeated write is
-- answered again and changes nothing. Returns `written` in the order of the writes, and if there is a claimant, `claimed` and
-- `has_more` of cartage.claim_next_jobs.
create or replace function cartage.write_jobs(
  writes json, is_patient boolean, per_user integer,
  claimant integer, wanted integer, wanted_orphans integer, per_host integer, open_hosts integer[],
  wanted_imports integer, imports_per_user integer
) returns json language plpgsql
-- Planning each time would take several times as long as the work itself. So plans are kept for long, and must not depend on how
-- few rows there were when they were made.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp as $$
declare
  current_epoch uuid := (select l.id from cartage.server_epoch l);
  outcome record;
  next record;
begin
  if not is_patient then
    perform set_config('lock_timeout', '100ms', true);
  end if;

  -- One lock order, jobs before queues, and in both imports last and then by user, so no deadlock.
  outcome := cartage.write_each_job(writes, current_epoch);
  perform cartage.count_status_changes(outcome.owners, outcome.imports, outcome.old_statuses, outcome.new_statuses);

  if claimant is null or not exists (
    select from cartage.job_queues q where q.pending > 0 and (not q.is_import or wanted_imports > 0)
  ) and (
    wanted_orphans = 0
    or not exists (select from cartage.jobs j where j.status = 'running' and j.worker_id is null)
  ) then
    return json_build_object('written', outcome.answers);
  end if;

  next := cartage.claim_next_jobs(
    claimant, outcome.freed_hosts, wanted, wanted_orphans, per_user, per_host, open_hosts, wanted_imports, imports_per_user
  );
  return json_build_object('written', outcome.answers, 'claimed', next.claimed, 'has_more', next.has_more);
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

-- The answer to a write that changed no row. If its id is in the row already, it was repeated, as the first answer was lost.
create or replace function cartage.answer_refused_write(
  owner integer, job_id uuid, write uuid, write_epoch uuid, current_epoch uuid
) returns json language plpgsql as $$
declare
  written_at timestamptz;
begin
  select j.updated_at into written_at from cartage.jobs j
  where j.user_id = owner and j.id = job_id and j.write_id = write;
  return case
    when found then json_build_object('outcome', 'written', 'at', written_at)
    -- After a crash there is no epoch until a worker asks for one.
    when write_epoch is not null and write_epoch is distinct from current_epoch
      then json_build_object('outcome', 'other epoch')
    else json_build_object('outcome', 'not ours')
  end;
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

-- The jobs that count for the limit of a host. Not those that a suspended account has begun: they wait without a worker.
create or replace function cartage.count_running(of_host integer) returns bigint
-- In plpgsql, which keeps the plan.
language plpgsql as $$
begin
  return (
    select count(*) from cartage.jobs j
    where j.status = 'running' and j.host_id = of_host and not j.is_import and (
      j.worker_id is not null
      or not exists (select from cartage.users u where u.id = j.user_id and u.suspended_at is not null)
    )
  );
end
$$;

-- Puts jobs whose time has come into the queues of their users. Returns how many.
create or replace function cartage.queue_due_jobs() returns integer language plpgsql
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

-- Holds the queues of a user, or lets them go on. The workers are told: they release the jobs of the user that they run, or may
-- claim again.
create or replace function cartage.hold_jobs(owner integer, hold boolean) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  -- Waits for the claim under way, and the next one sees the suspension. The session that has the lock waits for no other.
  perform pg_advisory_xact_lock(7238010);
  insert into cartage.job_queues as q (user_id, is_import, host_id, is_held)
  select u.id, kind.is_import, d.host_id, hold
  from cartage.users u join cartage.databases d on d.id = u.database_id
  cross join (values (false), (true)) kind (is_import)
  -- One lock order, imports last, so no deadlock.
  where u.id = owner order by kind.is_import
  on conflict (user_id, is_import) do update set is_held = hold;
  perform cartage.tell('cartage_jobs', case when hold then 'held' else 'orphan' end);
end
$$;

-- Notifies, unless PostgreSQL's queue of notifications is half full: if it were full, the whole transaction would fail. A listener
-- that misses a notification finds out by polling.
create or replace function cartage.tell(channel text, message text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if pg_notification_queue_usage() < 0.5 then
    perform pg_notify(channel, message);
  end if;
end
$$;
