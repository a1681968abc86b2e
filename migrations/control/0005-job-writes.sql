-- Whatever becomes of jobs is written by one function, that of many jobs at a time; and whoever ends a job is given the
-- next one in the same breath.

-- Gives a worker the oldest job of the least served user on one of the hosts. With a place: only if that user's turn is
-- there.
create function cartage.take_job(claimant integer, per_user integer, hosts integer[], place integer default null)
returns cartage.runnable_jobs language plpgsql as $$
declare
  queue cartage.job_queues;
  passed_over integer[] := '{}';
  taken uuid;
  job cartage.runnable_jobs;
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

    update cartage.jobs j
    set status = 'running', worker_id = claimant, attempt = j.attempt + 1, updated_at = clock_timestamp()
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
  select r.* into job from cartage.runnable_jobs r where r.user_id = queue.user_id and r.id = taken;
  return job;
end
$$;

-- Gives a worker up to `wanted` waiting jobs, and up to `wanted_orphans` running ones that have no worker. A row of
-- nulls at the end says: there was more, but somebody was working on it; ask again soon.
create or replace function cartage.claim_jobs(
  claimant integer, wanted integer, wanted_orphans integer,
  per_user integer, per_host integer, open_hosts integer[]
) returns setof cartage.runnable_jobs
language plpgsql
-- Planning anew each time would take several times as long as the work itself.
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
declare
  orphan record;
  free_hosts integer[];
  job cartage.runnable_jobs;
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
    return query select r.* from cartage.runnable_jobs r where r.user_id = orphan.user_id and r.id = orphan.id;
  end loop;

  while wanted > 0 loop
    select coalesce(array_agg(h.id), '{}') into free_hosts from unnest(open_hosts) h (id)
    where (select count(*) from cartage.jobs j where j.status = 'running' and j.host_id = h.id) < per_host;

    job := cartage.take_job(claimant, per_user, free_hosts);
    exit when job.id is null;
    return next job;
    wanted := wanted - 1;
  end loop;

  if wanted > 0 and exists (
    select from cartage.job_queues q join cartage.users u on u.id = q.user_id
    where q.pending > 0 and q.running < per_user and q.host_id = any (free_hosts) and u.state = 'active'
  ) then
    return next null::cartage.runnable_jobs;
  end if;
end
$$;

-- Writes what has become of jobs, each only if it is still in the hands of the writer (`attempt`), as the writer thinks
-- (`old_status`), and, where a life is given, in the same life of the server. Answers in the order of the writes.
--
-- The claimant, if there is one, is given a job for each that it ends, on the same host: then neither the limit of the
-- host nor that of the user can be exceeded, and no lock is needed that others would have to wait for. If somebody on
-- another host comes first, the claimant is given none and has to ask like everybody else.
create function cartage.write_jobs(
  writes json, is_patient boolean, claimant integer, per_user integer, open_hosts integer[]
) returns table (outcome text, written_at timestamptz, next_job json)
language plpgsql
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
declare
  wanted record;
  written record;
  queue record;
  outcomes text[] := '{}';
  times timestamptz[] := '{}';
  -- Where a place has become free by which of the writes.
  places integer[] := '{}';
  -- The jobs that have come to another status, from which to which.
  owners integer[] := '{}';
  old_statuses text[] := '{}';
  new_statuses text[] := '{}';
  taken cartage.runnable_jobs;
begin
  if not is_patient then
    perform set_config('lock_timeout', '100ms', true);
  end if;

  -- First the jobs, which come in order, then the queues in order: like this nobody waits for one who waits for him.
  for wanted in
    select w.* from json_to_recordset(writes) as w (
      number integer, user_id integer, id uuid, attempt integer, life uuid, old_status text, new_status text, is_released boolean,
      progress json, xid xid8, pid integer, backend_start timestamptz, losses smallint
    )
  loop
    update cartage.jobs j
    set status = wanted.new_status, progress = wanted.progress,
        worker_id = case when wanted.new_status = 'running' and not wanted.is_released then j.worker_id end,
        flight_xid = wanted.xid, flight_pid = wanted.pid, flight_backend_start = wanted.backend_start,
        flight_losses = wanted.losses, updated_at = clock_timestamp(),
        finished_at = case when wanted.new_status not in ('pending', 'running') then clock_timestamp() end
    where j.user_id = wanted.user_id and j.id = wanted.id and j.attempt = wanted.attempt and j.status = wanted.old_status
      and (wanted.life is null or exists (select from cartage.server_life l where l.id = wanted.life))
    returning j.updated_at, j.finished_at, j.host_id, j.is_watched into written;
    times[wanted.number] := written.updated_at;
    if not found then
      outcomes[wanted.number] := case
        when wanted.life is null or exists (select from cartage.server_life l where l.id = wanted.life) then 'not ours'
        else 'other life' end;
      continue;
    end if;

    outcomes[wanted.number] := 'written';
    if wanted.new_status <> wanted.old_status then
      owners := owners || wanted.user_id;
      old_statuses := old_statuses || wanted.old_status;
      new_statuses := new_statuses || wanted.new_status;
    end if;
    if written.finished_at is not null then
      places[wanted.number] := written.host_id;
      if written.is_watched then
        perform pg_notify('cartage_finished_jobs', wanted.id::text);
      end if;
    elsif wanted.is_released then
      perform pg_notify('cartage_jobs', 'orphan');
    end if;
  end loop;

  for queue in
    select c.owner as user_id,
      count(*) filter (where c.new = 'pending') - count(*) filter (where c.old = 'pending') as pending,
      count(*) filter (where c.new = 'running') - count(*) filter (where c.old = 'running') as running
    from unnest(owners, old_statuses, new_statuses) c (owner, old, new) group by c.owner order by c.owner
  loop
    update cartage.job_queues q set pending = q.pending + queue.pending, running = q.running + queue.running
    where q.user_id = queue.user_id;
  end loop;

  for number in 1 .. json_array_length(writes) loop
    outcome := outcomes[number];
    written_at := times[number];
    next_job := null;
    if claimant is not null and places[number] = any (open_hosts) then
      taken := cartage.take_job(claimant, per_user, open_hosts, places[number]);
      if taken.id is not null then
        next_job := row_to_json(taken);
      end if;
    end if;
    return next;
  end loop;
end
$$;
