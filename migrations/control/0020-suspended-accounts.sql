-- Suspended accounts: no request of theirs is served, and their jobs wait. The data stays.

alter table cartage.users add column suspended_at timestamptz,
  -- What callers with a key of the account are told.
  add column suspended_reason text,
  -- When the last suspension ended.
  add column resumed_at timestamptz,
  add constraint users_suspended_for_a_reason check ((suspended_at is null) = (suspended_reason is null));

-- Of a suspended account: no worker is given a job of this queue. In the row that a claim locks, so that a claim which has waited
-- for the lock sees it.
alter table cartage.job_queues add column is_held boolean not null default false;

-- Holds the queues of a user, or lets them go on. The workers are told: they release the jobs of the user that they run, or may
-- claim again.
create function cartage.hold_jobs(owner integer, hold boolean) returns void language plpgsql
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

-- The jobs that count for the limit of a host. Not those that a suspended account has begun: they wait without a worker.
create function cartage.count_running(of_host integer) returns bigint
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
    where q.pending > 0 and not q.is_held and q.is_import = of_imports and q.running < per_user
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

-- Whether a job, or import, waits that a worker could be given.
create or replace function cartage.is_any_waiting(of_imports boolean, per_user integer, hosts integer[]) returns boolean
-- In plpgsql, which keeps the plan.
language plpgsql as $$
begin
  return exists (
    select from cartage.job_queues q join cartage.users u on u.id = q.user_id
    where q.pending > 0 and not q.is_held and q.is_import = of_imports and q.running < per_user
      and q.host_id = any (hosts) and u.state = 'active'
  );
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

-- Gives a worker a new job at once, as JSON; it is never pending. Null if it has to go through the queue, and then nothing is
-- written: because another job waits, or because it was queued before and the answer was lost.
create or replace function cartage.start_job(
  new_job json, claimant integer, per_user integer, per_host integer, open_hosts integer[]
) returns json language plpgsql as $$
declare
  owner integer := new_job ->> 'user_id';
  job_id uuid := new_job ->> 'id';
  queue cartage.job_queues;
begin
  select q.* into queue from cartage.job_queues q
  where q.user_id = owner and not q.is_import and not q.is_held and q.pending = 0 and q.running < per_user
    and q.host_id = any (open_hosts)
    and not exists (select from cartage.job_queues w where w.pending > 0 and not w.is_held and not w.is_import)
  for update skip locked;
  -- As in cartage.claim_jobs: no session waits for this lock, and the session that holds it waits for no other.
  if not found or not pg_try_advisory_xact_lock(7238010) then
    return null;
  end if;
  if exists (select from cartage.jobs j where j.user_id = owner and j.id = job_id)
     or not exists (select from cartage.users u where u.id = owner and u.state = 'active')
     or cartage.count_running(queue.host_id) >= per_host then
    return null;
  end if;

  update cartage.job_queues q set running = q.running + 1, last_served = clock_timestamp()
  where q.user_id = owner and not q.is_import;
  insert into cartage.jobs (
    user_id, host_id, id, definition, idempotency_key, request_hash,
    status, worker_id, claim
  )
  values (
    owner, queue.host_id, job_id, new_job -> 'definition',
    new_job ->> 'idempotency_key', decode(new_job ->> 'request_hash', 'hex'),
    'running', claimant, gen_random_uuid()
  );
  return (select row_to_json(r) from cartage.runnable_jobs r where r.user_id = owner and r.id = job_id);
end
$$;
