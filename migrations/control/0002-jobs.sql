-- Batch jobs, the queue they wait in, and the workers that run them.

create table cartage.jobs (
  user_id     integer not null references cartage.users on delete cascade,
  id          uuid not null,
  -- Oldest first.
  position    bigint generated always as identity,
  host_id     integer not null,
  status      text not null default 'pending'
              check (status in ('pending', 'running', 'done', 'failed', 'cancelled', 'unknown')),
  -- What the client asked for, and what has become of it so far (null: nothing yet). Apart, because the second
  -- is written again at every step.
  definition  json not null,
  progress    json,

  -- The worker that has it while it runs; null: whoever comes first may go on with it.
  worker_id   integer,
  -- The fencing token: counts how often the job changed hands.
  attempt     integer not null default 0,

  -- The statement in flight: written and flushed before the statement is sent, so that after any crash PostgreSQL
  -- can be asked what became of it. No xid: it runs outside of a transaction of ours, and nobody can tell.
  flight_xid           xid8,
  flight_pid           integer,
  flight_backend_start timestamptz,
  -- How often the backend of this step was lost.
  flight_losses        smallint not null default 0,

  -- Somebody waits for the end, and wants to be notified.
  is_watched      boolean not null default false,
  idempotency_key text,
  request_hash    bytea,
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  primary key (user_id, id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Small whatever the number of finished jobs. None of them has a column that changes while a job runs, so that
-- writing progress touches no index.
create index jobs_pending on cartage.jobs (user_id, position) where status = 'pending';
create index jobs_running on cartage.jobs (host_id) where status = 'running';
create index jobs_finished on cartage.jobs (finished_at) where finished_at is not null;
create unique index jobs_idempotency on cartage.jobs (user_id, idempotency_key) where idempotency_key is not null;

-- One row per user that ever had a job. It is locked before a job is claimed, and its counters change only
-- together with the status of a job. (Created after cartage.jobs: when a user is deleted, its jobs go first, in
-- the order in which everybody else locks the two.)
create table cartage.job_queues (
  user_id     integer primary key references cartage.users on delete cascade,
  host_id     integer not null references cartage.hosts,
  pending     integer not null default 0 check (pending >= 0),
  running     integer not null default 0 check (running >= 0),
  last_served timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index job_queues_waiting on cartage.job_queues (last_served) where pending > 0;

-- A worker is alive while it holds the advisory lock of its id; the heartbeat tells of one that holds it but is
-- stopped. A row that is gone means: declared dead, and its jobs may be taken.
create table cartage.workers (
  id           integer generated always as identity primary key,
  name         text not null,
  started_at   timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp()
);

-- The life of the server, from one crash to the next: as the table is unlogged, a crash empties it. What was learnt of
-- a transaction in one life (its xid, that it committed) may not be true in the next, unless it was flushed before.
create unlogged table cartage.server_life (
  is_current boolean primary key default true check (is_current),
  id         uuid not null default gen_random_uuid()
);

-- A job with all that it takes to run it.
create view cartage.runnable_jobs as
  select j.user_id, j.id, j.status, j.definition, j.progress, j.attempt, j.created_at, j.updated_at,
         j.flight_xid, j.flight_pid, j.flight_backend_start, j.flight_losses,
         u.username, u.master_role, u.schema_name, d.host_id, d.name as database_name
  from cartage.jobs j
  join cartage.users u on u.id = j.user_id
  join cartage.databases d on d.id = u.database_id;

-- Gives a worker up to `wanted` waiting jobs, and up to `wanted_orphans` running ones that have no worker. Least
-- served user first, oldest job first. A row of nulls at the end says: there was more, but somebody was working on
-- it; ask again soon.
create function cartage.claim_jobs(
  claimant integer, wanted integer, wanted_orphans integer,
  per_user integer, per_host integer, open_hosts integer[]
) returns setof cartage.runnable_jobs
language plpgsql
-- Planning anew each time would take several times as long as the work itself.
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
declare
  queue cartage.job_queues;
  free_hosts integer[];
  passed_over integer[] := '{}';
  owners integer[];
  claimed uuid[];
  claimed_id uuid;
begin
  if not exists (select from cartage.job_queues q where q.pending > 0)
     and not exists (select from cartage.jobs j where j.status = 'running' and j.worker_id is null) then
    return;
  end if;

  -- Only one claims at a time, so that the limits are exact. If the claim is lost with the server, so is nothing
  -- else: before a statement is sent a later write is flushed. So the lock is not held for the disk.
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(7238010);

  with orphans as (
    select o.user_id, o.id from cartage.jobs o join cartage.users u on u.id = o.user_id
    where o.status = 'running' and o.worker_id is null and o.host_id = any (open_hosts) and u.state = 'active'
    limit wanted_orphans for update of o skip locked
  ), adopted as (
    update cartage.jobs j set worker_id = claimant, attempt = j.attempt + 1
    from orphans o where j.user_id = o.user_id and j.id = o.id
    returning j.user_id, j.id
  )
  select coalesce(array_agg(a.user_id), '{}'), coalesce(array_agg(a.id), '{}') into owners, claimed from adopted a;

  while wanted > 0 loop
    select coalesce(array_agg(h.id), '{}') into free_hosts from unnest(open_hosts) h (id)
    where (select count(*) from cartage.jobs j where j.status = 'running' and j.host_id = h.id) < per_host;

    select q.* into queue from cartage.job_queues q
    where q.pending > 0 and q.running < per_user
      and q.host_id = any (free_hosts) and q.user_id <> all (passed_over)
      and exists (select from cartage.users u where u.id = q.user_id and u.state = 'active')
    order by q.last_served limit 1 for update of q skip locked;
    exit when not found;

    update cartage.jobs j
    set status = 'running', worker_id = claimant, attempt = j.attempt + 1, updated_at = clock_timestamp()
    where j.user_id = queue.user_id and j.id = (
      select p.id from cartage.jobs p where p.user_id = queue.user_id and p.status = 'pending'
      order by p.position limit 1 for update skip locked
    )
    returning j.id into claimed_id;
    if not found then
      passed_over := passed_over || queue.user_id;
      continue;
    end if;

    update cartage.job_queues q
    set pending = q.pending - 1, running = q.running + 1, last_served = clock_timestamp()
    where q.user_id = queue.user_id;
    owners := owners || queue.user_id;
    claimed := claimed || claimed_id;
    wanted := wanted - 1;
  end loop;

  return query select r.* from unnest(owners, claimed) c (user_id, id) join cartage.runnable_jobs r using (user_id, id);

  if wanted > 0 and exists (
    select from cartage.job_queues q join cartage.users u on u.id = q.user_id
    where q.pending > 0 and q.running < per_user and q.host_id = any (free_hosts) and u.state = 'active'
  ) then
    return next null::cartage.runnable_jobs;
  end if;
end
$$;
