-- The functions of the queue. Each takes or writes many jobs in one transaction, with one wait for the disk.

-- A notification that the queue has no room for would fail the whole transaction. Who misses one finds out by polling.
create function cartage.tell(channel text, message text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if pg_notification_queue_usage() < 0.5 then
    perform pg_notify(channel, message);
  end if;
end
$$;

-- A worker may have transactions open in which nothing has happened yet, by user: the first statement of a job of such a
-- user is already in flight there, if it was begun in this epoch of the server. (Its progress says nothing of that; see
-- readJob.)
create function cartage.flight_of(owner integer, transactions jsonb, epoch uuid) returns jsonb language sql immutable as $$
  select case when (transactions -> owner::text ->> 'epoch')::uuid = epoch then transactions -> owner::text end
$$;

-- Gives a worker the oldest job of the least served user on one of the hosts, as JSON, which also says whether more of
-- that user are waiting. With a place: only if that user's turn is there.
create function cartage.take_job(
  claimant integer, per_user integer, hosts integer[], transactions jsonb, epoch uuid, place integer default null
) returns json language plpgsql as $$
declare
  queue cartage.job_queues;
  passed_over integer[] := '{}';
  flight jsonb;
  taken record;
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

    flight := cartage.flight_of(queue.user_id, transactions, epoch);
    update cartage.jobs j
    set status = 'running', worker_id = claimant, claim = gen_random_uuid(), revision = j.revision + 1, write_id = null,
        updated_at = clock_timestamp(),
        flight_xid = (flight ->> 'xid')::xid8, flight_pid = (flight ->> 'pid')::integer,
        flight_backend_start = (flight ->> 'backend_start')::timestamptz
    from cartage.users u join cartage.databases d on d.id = u.database_id
    where u.id = queue.user_id and j.user_id = queue.user_id and j.id = (
      -- None overtakes another: while somebody holds the oldest, such as one who begins to wait for it, its user is passed over.
      select p.id from cartage.jobs p
      where p.user_id = queue.user_id and p.status = 'pending' and p.position = (
        select o.position from cartage.jobs o where o.user_id = queue.user_id and o.status = 'pending'
        order by o.position limit 1
      )
      for update skip locked
    )
    -- As in cartage.runnable_jobs.
    returning j.user_id, j.id, j.status, j.definition, j.progress, j.claim, j.revision, j.created_at, j.updated_at,
      j.flight_xid, j.flight_pid, j.flight_backend_start, j.flight_losses, j.flight_restarts,
      u.username, u.master_role, u.schema_name, d.host_id, d.name as database_name,
      queue.pending > 1 as is_followed
    into taken;
    exit when found;
    passed_over := passed_over || queue.user_id;
  end loop;

  update cartage.job_queues q
  set pending = q.pending - 1, running = q.running + 1, last_served = clock_timestamp()
  where q.user_id = queue.user_id;
  return row_to_json(taken);
end
$$;

-- Gives a worker up to `wanted` waiting jobs, and up to `wanted_orphans` running ones that have no worker, as JSON.
-- `has_more`: there was more, but somebody was working on it; ask again soon.
create function cartage.claim_jobs(
  claimant integer, wanted integer, wanted_orphans integer,
  per_user integer, per_host integer, open_hosts integer[], transactions jsonb, epoch uuid,
  out claimed json[], out has_more boolean
) language plpgsql as $$
declare
  orphan record;
  free_hosts integer[];
  job json;
begin
  claimed := '{}';
  has_more := false;
  -- Only one claims at a time, so that the limits are exact. Nobody waits for the lock: there may be writes to bring home.
  if not pg_try_advisory_xact_lock(7238010) then
    has_more := true;
    return;
  end if;

  for orphan in
    select o.user_id, o.id from cartage.jobs o join cartage.users u on u.id = o.user_id
    where o.status = 'running' and o.worker_id is null and o.host_id = any (open_hosts) and u.state = 'active'
    limit wanted_orphans for update of o skip locked
  loop
    update cartage.jobs j
    set worker_id = claimant, claim = gen_random_uuid(), revision = j.revision + 1, write_id = null,
        updated_at = clock_timestamp()
    where j.user_id = orphan.user_id and j.id = orphan.id;
    claimed := claimed || (
      select row_to_json(r) from cartage.runnable_jobs r where r.user_id = orphan.user_id and r.id = orphan.id
    );
  end loop;

  while wanted > 0 loop
    select coalesce(array_agg(h.id), '{}') into free_hosts from unnest(open_hosts) h (id)
    where (select count(*) from cartage.jobs j where j.status = 'running' and j.host_id = h.id) < per_host;

    job := cartage.take_job(claimant, per_user, free_hosts, transactions, epoch);
    exit when job is null;
    claimed := claimed || job;
    transactions := transactions - (job ->> 'user_id');
    wanted := wanted - 1;
  end loop;

  has_more := wanted > 0 and exists (
    select from cartage.job_queues q join cartage.users u on u.id = q.user_id
    where q.pending > 0 and q.running < per_user and q.host_id = any (free_hosts) and u.state = 'active'
  );
end
$$;

-- Writes what has become of jobs, each only if it is the next write of its claim (`claim`, `revision`), if the job has the
-- status that the writer thinks (`old_status`), and, where an epoch is given, in the same epoch of the server. A write
-- whose id is in the row already, as its answer was lost, is answered again and changes nothing. Answers `written` in the
-- order of the writes.
--
-- The claimant, if there is one, is given a job for each that it ends, on the same host: then neither the limit of the
-- host nor that of the user can be exceeded, and no lock is needed that others would have to wait for. If somebody on
-- another host comes first, it is given none there. What it wants besides comes after those in `claimed`. `has_more`:
-- there may be more to be had, so ask again soon.
create function cartage.write_jobs(
  writes json, is_patient boolean, per_user integer,
  claimant integer, wanted integer, wanted_orphans integer, per_host integer, open_hosts integer[], transactions jsonb
) returns json language plpgsql
-- Planning anew each time would take several times as long as the work itself. So a plan stays for long, and must not
-- depend on how few rows there were when it was made.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp as $$
declare
  current_epoch uuid := (select l.id from cartage.server_epoch l);
  job record;
  written record;
  results json[] := '{}';
  -- Those that have come to another status: whose they are, and from which status to which.
  owners integer[] := '{}';
  old_statuses text[] := '{}';
  new_statuses text[] := '{}';
  -- Where those that have ended were.
  places integer[] := '{}';
  place integer;
  given json;
  more record;
  claimed json[] := '{}';
  has_more boolean := false;
begin
  if not is_patient then
    perform set_config('lock_timeout', '100ms', true);
  end if;

  -- One lock order, jobs before queues and both by user, so no deadlock.
  for job in
    select w.* from json_to_recordset(writes) as w (
      number integer, user_id integer, id uuid, claim uuid, revision integer, write_id uuid, epoch uuid,
      old_status text, new_status text, is_released boolean, progress json,
      xid xid8, pid integer, backend_start timestamptz, losses smallint, restarts smallint
    )
  loop
    update cartage.jobs j
    set status = job.new_status, progress = job.progress,
        worker_id = case when job.new_status = 'running' and not job.is_released then j.worker_id end,
        claim = case when job.new_status = 'running' and not job.is_released then j.claim end,
        revision = j.revision + 1, write_id = job.write_id,
        flight_xid = job.xid, flight_pid = job.pid, flight_backend_start = job.backend_start,
        flight_losses = job.losses, flight_restarts = job.restarts, updated_at = clock_timestamp(),
        finished_at = case when job.new_status not in ('pending', 'running') then clock_timestamp() end
    where j.user_id = job.user_id and j.id = job.id
      and j.claim is not distinct from job.claim and j.revision = job.revision and j.status = job.old_status
      and (job.epoch is null or job.epoch = current_epoch)
    returning j.updated_at, j.finished_at, j.host_id, j.is_watched into written;
    if not found then
      select j.updated_at into written from cartage.jobs j
      where j.user_id = job.user_id and j.id = job.id and j.write_id = job.write_id;
      results[job.number] := case
        when found then json_build_object('outcome', 'written', 'at', written.updated_at)
        -- After a crash there is none, until a worker asks for it.
        when job.epoch is not null and job.epoch is distinct from current_epoch
          then json_build_object('outcome', 'other epoch')
        else json_build_object('outcome', 'not ours')
      end;
      continue;
    end if;

    results[job.number] := json_build_object('outcome', 'written', 'at', written.updated_at);
    if job.new_status <> job.old_status then
      owners := owners || job.user_id;
      old_statuses := old_statuses || job.old_status;
      new_statuses := new_statuses || job.new_status;
    end if;
    if written.finished_at is not null then
      places := places || written.host_id;
      if written.is_watched then
        perform cartage.tell('cartage_finished_jobs', job.id::text);
      end if;
    elsif job.is_released then
      perform cartage.tell('cartage_jobs', 'orphan');
    end if;
  end loop;

  for number in 1 .. cardinality(owners) loop
    update cartage.job_queues q
    set pending = q.pending + (new_statuses[number] = 'pending')::integer - (old_statuses[number] = 'pending')::integer,
        running = q.running + (new_statuses[number] = 'running')::integer - (old_statuses[number] = 'running')::integer
    where q.user_id = owners[number];
  end loop;

  if claimant is null or not exists (select from cartage.job_queues q where q.pending > 0) and (
    wanted_orphans = 0
    or not exists (select from cartage.jobs j where j.status = 'running' and j.worker_id is null)
  ) then
    return json_build_object('written', results);
  end if;

  foreach place in array places loop
    continue when place <> all (open_hosts);
    given := cartage.take_job(claimant, per_user, open_hosts, transactions, current_epoch, place);
    continue when given is null;
    claimed := claimed || given;
    transactions := transactions - (given ->> 'user_id');
  end loop;

  if wanted + wanted_orphans > 0 then
    more := cartage.claim_jobs(
      claimant, wanted, wanted_orphans, per_user, per_host, open_hosts, transactions, current_epoch
    );
    claimed := claimed || more.claimed;
    has_more := more.has_more;
  else
    has_more := exists (
      select from cartage.job_queues q join cartage.users u on u.id = q.user_id
      where q.pending > 0 and q.running < per_user and q.host_id = any (open_hosts) and u.state = 'active'
    );
  end if;
  return json_build_object('written', results, 'claimed', claimed, 'has_more', has_more);
end
$$;

-- Gives a worker a new job that nobody has to wait for, as JSON; it is never pending. Null, and nothing is written: it has
-- to go through the queue. That is so if anybody waits, or if it has been queued before, as the answer to that was lost.
create function cartage.start_job(
  new_job json, claimant integer, per_user integer, per_host integer, open_hosts integer[], transactions jsonb, epoch uuid
) returns json language plpgsql as $$
declare
  owner integer := new_job ->> 'user_id';
  job_id uuid := new_job ->> 'id';
  flight jsonb := cartage.flight_of(owner, transactions, epoch);
  queue cartage.job_queues;
begin
  select q.* into queue from cartage.job_queues q
  where q.user_id = owner and q.pending = 0 and q.running < per_user and q.host_id = any (open_hosts)
    and not exists (select from cartage.job_queues w where w.pending > 0)
  for update skip locked;
  -- As in cartage.claim_jobs: nobody waits for the lock, and who holds it waits for nobody.
  if not found or not pg_try_advisory_xact_lock(7238010) then
    return null;
  end if;
  if exists (select from cartage.jobs j where j.user_id = owner and j.id = job_id)
     or not exists (select from cartage.users u where u.id = owner and u.state = 'active')
     or (select count(*) from cartage.jobs j where j.status = 'running' and j.host_id = queue.host_id) >= per_host then
    return null;
  end if;

  update cartage.job_queues q set running = q.running + 1, last_served = clock_timestamp() where q.user_id = owner;
  insert into cartage.jobs (
    user_id, host_id, id, definition, idempotency_key, request_hash,
    status, worker_id, claim, flight_xid, flight_pid, flight_backend_start
  )
  values (
    owner, queue.host_id, job_id, new_job -> 'definition',
    new_job ->> 'idempotency_key', decode(new_job ->> 'request_hash', 'hex'),
    'running', claimant, gen_random_uuid(),
    (flight ->> 'xid')::xid8, (flight ->> 'pid')::integer, (flight ->> 'backend_start')::timestamptz
  );
  return (select row_to_json(r) from cartage.runnable_jobs r where r.user_id = owner and r.id = job_id);
end
$$;

-- Puts jobs into the queues of their users, which come in order. Answers in `queued` when each was created, in the order
-- of the jobs; null: the queue was full.
--
-- A worker is needed only by the first job that waits, and only if its user has a slot free: a worker that ends a job is
-- given the next one anyway. The claimant, if there is one, is given at once what it wants (`claimed` and `has_more` as in
-- cartage.write_jobs), so that a job is queued and claimed with one wait for the disk. If there is none, all are woken.
-- A job that comes alone while nobody waits does not go through the queue at all.
create function cartage.enqueue_jobs(
  jobs json, is_patient boolean, queue_limit integer, per_user integer,
  claimant integer, wanted integer, wanted_orphans integer, per_host integer, open_hosts integer[], transactions jsonb
) returns json language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp as $$
declare
  job record;
  queue record;
  known_at timestamptz;
  queued timestamptz[] := '{}';
  is_worker_needed boolean := false;
  current_epoch uuid;
  started json;
  given record;
begin
  if not is_patient then
    perform set_config('lock_timeout', '100ms', true);
  end if;
  if claimant is not null then
    current_epoch := (select l.id from cartage.server_epoch l);
  end if;

  if wanted > 0 and json_array_length(jobs) = 1 then
    started := cartage.start_job(jobs -> 0, claimant, per_user, per_host, open_hosts, transactions, current_epoch);
    if started is not null then
      return json_build_object(
        'queued', json_build_array(started -> 'created_at'), 'claimed', json_build_array(started), 'has_more', false
      );
    end if;
  end if;

  for job in
    select j.* from json_to_recordset(jobs) as j (
      user_id integer, host_id integer, id uuid, definition json, idempotency_key text, request_hash text
    )
  loop
    -- Repeated, as the answer to the first time was lost.
    select j.created_at into known_at from cartage.jobs j where j.user_id = job.user_id and j.id = job.id;
    if found then
      queued := array_append(queued, known_at);
      is_worker_needed := true;
      continue;
    end if;

    insert into cartage.job_queues as q (user_id, host_id, pending) values (job.user_id, job.host_id, 1)
    on conflict (user_id) do update set pending = q.pending + 1 where q.pending < queue_limit
    returning q.host_id, q.pending, q.running, clock_timestamp() as at into queue;
    if found then
      insert into cartage.jobs (user_id, host_id, id, definition, idempotency_key, request_hash, created_at, updated_at)
      values (
        job.user_id, queue.host_id, job.id, job.definition, job.idempotency_key, decode(job.request_hash, 'hex'),
        queue.at, queue.at
      );
    end if;
    queued := array_append(queued, queue.at);
    is_worker_needed := is_worker_needed or coalesce(queue.pending = 1 and queue.running < per_user, false);
  end loop;

  if is_worker_needed and claimant is null then
    perform cartage.tell('cartage_jobs', '');
  elsif is_worker_needed then
    given := cartage.claim_jobs(
      claimant, wanted, wanted_orphans, per_user, per_host, open_hosts, transactions, current_epoch
    );
    return json_build_object('queued', queued, 'claimed', given.claimed, 'has_more', given.has_more);
  end if;
  return json_build_object('queued', queued);
end
$$;
