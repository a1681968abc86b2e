-- Jobs are put into the queue and written many at a time, and whoever ends a job is given the next one in the same
-- breath.

-- Gives a worker the oldest job of the least served user on one of the hosts, as JSON of cartage.runnable_jobs, which
-- also says whether more of that user are waiting. With a place: only if that user's turn is there.
--
-- The worker may have transactions open in which nothing has happened yet, by user: the first statement of a job of such
-- a user is already in flight there, if it was begun in this life of the server. (Its progress says nothing of that; see
-- readJob.)
create function cartage.take_job(
  claimant integer, per_user integer, hosts integer[],
  place integer default null, transactions jsonb default null, life uuid default null
) returns json language plpgsql as $$
declare
  queue cartage.job_queues;
  passed_over integer[] := '{}';
  flight jsonb;
  taken uuid;
begin
  loop
    select q.* into queue from cartage.job_queues q
    where q.pending > 0 and q.running < per_user
      and q.host_id = any (hosts) and q.user_id <> all (passed_over)
      and exists (select from cartage.users u where u.id = q.user_id and u.state = 'active')
    order by q.last_served limit 1 for update of q skip locked;
    if not found or queue.host_id <> place then
      return null;
    end if;

    flight := transactions -> queue.user_id::text;
    if (flight ->> 'life')::uuid is distinct from life then
      flight := null;
    end if;
    update cartage.jobs j
    set status = 'running', worker_id = claimant, attempt = j.attempt + 1, updated_at = clock_timestamp(),
        flight_xid = (flight ->> 'xid')::xid8, flight_pid = (flight ->> 'pid')::integer,
        flight_backend_start = (flight ->> 'backend_start')::timestamptz
    where j.user_id = queue.user_id and j.id = (
      select p.id from cartage.jobs p where p.user_id = queue.user_id and p.status = 'pending'
      order by p.position limit 1 for update skip locked
    )
    returning j.id into taken;
    exit when found;
    passed_over := passed_over || queue.user_id;
  end loop;

  update cartage.job_queues q
  set pending = q.pending - 1, running = q.running + 1, last_served = clock_timestamp()
  where q.user_id = queue.user_id;
  return (
    select row_to_json(f) from (
      select r.*, queue.pending > 1 as is_followed from cartage.runnable_jobs r
      where r.user_id = queue.user_id and r.id = taken
    ) f
  );
end
$$;

-- Gives a worker up to `wanted` waiting jobs, and up to `wanted_orphans` running ones that have no worker. A null at the
-- end says: there was more, but somebody was working on it; ask again soon.
drop function cartage.claim_jobs;
create function cartage.claim_jobs(
  claimant integer, wanted integer, wanted_orphans integer,
  per_user integer, per_host integer, open_hosts integer[]
) returns setof json language plpgsql
-- Planning anew each time would take several times as long as the work itself.
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
declare
  orphan record;
  free_hosts integer[];
  job json;
begin
  if not exists (select from cartage.job_queues q where q.pending > 0)
     and not exists (select from cartage.jobs j where j.status = 'running' and j.worker_id is null) then
    return;
  end if;

  -- Only one claims at a time, so that the limits are exact. If the claim is lost with the server, so is nothing
  -- else: before a statement is sent a later write is flushed. So the lock is not held for the disk.
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(7238010);

  for orphan in
    select o.user_id, o.id from cartage.jobs o join cartage.users u on u.id = o.user_id
    where o.status = 'running' and o.worker_id is null and o.host_id = any (open_hosts) and u.state = 'active'
    limit wanted_orphans for update of o skip locked
  loop
    update cartage.jobs j set worker_id = claimant, attempt = j.attempt + 1
    where j.user_id = orphan.user_id and j.id = orphan.id;
    return query select row_to_json(r) from cartage.runnable_jobs r
    where r.user_id = orphan.user_id and r.id = orphan.id;
  end loop;

  while wanted > 0 loop
    select coalesce(array_agg(h.id), '{}') into free_hosts from unnest(open_hosts) h (id)
    where (select count(*) from cartage.jobs j where j.status = 'running' and j.host_id = h.id) < per_host;

    job := cartage.take_job(claimant, per_user, free_hosts);
    exit when job is null;
    return next job;
    wanted := wanted - 1;
  end loop;

  if wanted > 0 and exists (
    select from cartage.job_queues q join cartage.users u on u.id = q.user_id
    where q.pending > 0 and q.running < per_user and q.host_id = any (free_hosts) and u.state = 'active'
  ) then
    return next null;
  end if;
end
$$;

-- Writes what has become of jobs, each only if it is still in the hands of the writer (`attempt`), as the writer thinks
-- (`old_status`), and, where a life is given, in the same life of the server. Answers `results` in the order of the
-- writes, and `next`, the jobs in the place of those that have ended.
--
-- The claimant, if there is one, is given a job for each that it ends, on the same host: then neither the limit of the
-- host nor that of the user can be exceeded, and no lock is needed that others would have to wait for. If somebody on
-- another host comes first, the claimant is given none and has to ask like everybody else.
create function cartage.write_jobs(
  writes json, is_patient boolean, claimant integer, per_user integer, open_hosts integer[], transactions jsonb
) returns json language plpgsql
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
declare
  current_life uuid := (select l.id from cartage.server_life l);
  wanted record;
  written record;
  results json[] := '{}';
  -- Those that have come to another status: whose they are, and from which status to which.
  owners integer[] := '{}';
  old_statuses text[] := '{}';
  new_statuses text[] := '{}';
  -- Where those that have ended were.
  places integer[] := '{}';
  place integer;
  next_job json;
  next_jobs json[] := '{}';
begin
  if not is_patient then
    perform set_config('lock_timeout', '100ms', true);
  end if;

  -- First the jobs, then the queues, both in the order of their users: like this nobody waits for one who waits for him.
  for wanted in
    select w.* from json_to_recordset(writes) as w (
      number integer, user_id integer, id uuid, attempt integer, life uuid, old_status text, new_status text,
      is_released boolean, progress json, xid xid8, pid integer, backend_start timestamptz, losses smallint
    )
  loop
    update cartage.jobs j
    set status = wanted.new_status, progress = wanted.progress,
        worker_id = case when wanted.new_status = 'running' and not wanted.is_released then j.worker_id end,
        flight_xid = wanted.xid, flight_pid = wanted.pid, flight_backend_start = wanted.backend_start,
        flight_losses = wanted.losses, updated_at = clock_timestamp(),
        finished_at = case when wanted.new_status not in ('pending', 'running') then clock_timestamp() end
    where j.user_id = wanted.user_id and j.id = wanted.id and j.attempt = wanted.attempt
      and j.status = wanted.old_status and (wanted.life is null or wanted.life = current_life)
    returning j.updated_at, j.finished_at, j.host_id, j.is_watched into written;
    if not found then
      results[wanted.number] := json_build_object(
        'outcome', case when wanted.life is null or wanted.life = current_life then 'not ours' else 'other life' end
      );
      continue;
    end if;

    results[wanted.number] := json_build_object('outcome', 'written', 'at', written.updated_at);
    if wanted.new_status <> wanted.old_status then
      owners := owners || wanted.user_id;
      old_statuses := old_statuses || wanted.old_status;
      new_statuses := new_statuses || wanted.new_status;
    end if;
    if written.finished_at is not null then
      places := places || written.host_id;
      if written.is_watched then
        perform pg_notify('cartage_finished_jobs', wanted.id::text);
      end if;
    elsif wanted.is_released then
      perform pg_notify('cartage_jobs', 'orphan');
    end if;
  end loop;

  for number in 1 .. cardinality(owners) loop
    update cartage.job_queues q
    set pending = q.pending + (new_statuses[number] = 'pending')::integer - (old_statuses[number] = 'pending')::integer,
        running = q.running + (new_statuses[number] = 'running')::integer - (old_statuses[number] = 'running')::integer
    where q.user_id = owners[number];
  end loop;

  foreach place in array places loop
    continue when claimant is null or place <> all (open_hosts);
    next_job := cartage.take_job(claimant, per_user, open_hosts, place, transactions, current_life);
    continue when next_job is null;
    next_jobs := next_jobs || next_job;
    transactions := transactions - (next_job ->> 'user_id');
  end loop;
  return json_build_object('results', results, 'next', next_jobs);
end
$$;

-- Puts jobs into the queues of their users, which come in order. Answers when each was created, in the order of the
-- jobs; null: the queue was full. A worker needs to be woken only by the first job that waits, and only if its user has
-- a slot free: whoever ends a job takes the next one anyway.
create function cartage.enqueue_jobs(jobs json, is_patient boolean, queue_limit integer, per_user integer)
returns setof timestamptz
language plpgsql
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
declare
  job record;
  queue record;
  wakes boolean := false;
begin
  if not is_patient then
    perform set_config('lock_timeout', '100ms', true);
  end if;

  for job in
    select j.* from json_to_recordset(jobs) as j (
      user_id integer, host_id integer, id uuid, definition json, idempotency_key text, request_hash text
    )
  loop
    insert into cartage.job_queues as q (user_id, host_id, pending) values (job.user_id, job.host_id, 1)
    on conflict (user_id) do update set pending = q.pending + 1 where q.pending < queue_limit
    returning q.host_id, q.pending, q.running, clock_timestamp() as at into queue;
    if found then
      insert into cartage.jobs (user_id, host_id, id, definition, idempotency_key, request_hash, created_at, updated_at)
      values (
        job.user_id, queue.host_id, job.id, job.definition, job.idempotency_key, decode(job.request_hash, 'hex'),
        queue.at, queue.at
      );
      wakes := wakes or queue.pending = 1 and queue.running < per_user;
    end if;
    return next queue.at;
  end loop;

  if wakes then
    perform pg_notify('cartage_jobs', '');
  end if;
end
$$;
