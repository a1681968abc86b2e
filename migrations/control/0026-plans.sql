-- Limits of accounts: an own one beats that of the plan that the account refers to, and this beats the configured one.

create table cartage.plans (
  name       text primary key,
  limits     jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
alter table cartage.users add column plan text references cartage.plans;
create index users_plan on cartage.users (plan) where plan is not null;

-- The limits of the groups of endpoints were called `rate`.
update cartage.users
set limits = limits - 'rate' || jsonb_build_object('rates', limits -> 'rate') where limits ? 'rate';

-- What an account has in place of the configured limits.
create function cartage.merged_limits(of_plan jsonb, own jsonb) returns jsonb language sql stable as $$
  select coalesce(of_plan, '{}') || own || case
    when of_plan ? 'rates' and own ? 'rates' then jsonb_build_object('rates', (of_plan -> 'rates') || (own -> 'rates'))
    else '{}' end
$$;

-- In place of the configured limits; null: the configured one. In the row that a claim locks.
alter table cartage.job_queues add column most_running integer, add column most_pending integer;

-- Writes the limits of an account, or of all with a plan, into their queues, and has the workers look: more jobs may run now.
create function cartage.limit_jobs(owner integer, of_plan text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  -- One change at a time: the next one reads what the last one has written.
  perform pg_advisory_xact_lock(7238022);
  insert into cartage.job_queues as q (user_id, is_import, host_id, most_running, most_pending)
  select u.id, kind.is_import, d.host_id,
    (set_limits ->> case when kind.is_import then 'imports_at_once' else 'jobs_at_once' end)::integer,
    case when not kind.is_import then (set_limits ->> 'jobs_queued')::integer end
  from cartage.users u join cartage.databases d on d.id = u.database_id left join cartage.plans p on p.name = u.plan
  cross join lateral cartage.merged_limits(p.limits, u.limits) set_limits
  cross join (values (false), (true)) kind (is_import)
  -- One lock order, imports last and then by user, so no deadlock.
  where u.state <> 'deleting' and (u.id = owner or u.plan = of_plan) order by kind.is_import, u.id
  on conflict (user_id, is_import) do update
  set most_running = excluded.most_running, most_pending = excluded.most_pending;
  perform cartage.tell('cartage_jobs', '');
end
$$;

create or replace view cartage.runnable_jobs as
  select j.user_id, j.id, j.status, j.definition, j.progress, j.claim, j.revision, j.created_at, j.updated_at,
         j.flight_xid, j.flight_pid, j.flight_backend_start, j.flight_losses, j.flight_restarts,
         u.username, u.master_role, u.schema_name, d.host_id, d.name as database_name,
         cartage.merged_limits(p.limits, u.limits) as limits
  from cartage.jobs j
  join cartage.users u on u.id = j.user_id
  join cartage.databases d on d.id = u.database_id
  left join cartage.plans p on p.name = u.plan;

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
