-- Batch jobs, the queues of their users, and the workers that run them.

create table cartage.jobs (
  user_id     integer not null references cartage.users on delete cascade,
  id          uuid not null,
  -- The order of a user's queue.
  position    bigint generated always as identity,
  host_id     integer not null,
  status      text not null default 'pending'
              check (status in ('pending', 'running', 'done', 'failed', 'cancelled', 'unknown')),
  -- What the client asked for, and what has been done so far (null: nothing yet). Two columns, because `progress` is written
  -- again at every step.
  definition  json not null,
  progress    json,

  -- The worker that runs the job. Null while running: an orphan, which any worker may take over.
  worker_id   integer,
  -- The fence: a claim that is new whenever a worker is given the job, a revision that grows by one with every write, and the id
  -- of the last write, by which a repeated write is recognised.
  claim       uuid,
  revision    integer not null default 0,
  write_id    uuid,

  -- The statement in flight: written and flushed before the statement is sent, so that after any crash PostgreSQL can be asked
  -- for its outcome. Without an xid it runs outside of a transaction of ours, and its outcome cannot be known.
  flight_xid           xid8,
  flight_pid           integer,
  flight_backend_start timestamptz,
  -- How often this step lost its connection, and how often its worker or the server.
  flight_losses        smallint not null default 0,
  flight_restarts      smallint not null default 0,

  -- A client waits for the end, and is notified.
  is_watched      boolean not null default false,
  idempotency_key text,
  request_hash    bytea,
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  primary key (user_id, id),
  constraint jobs_are_sound check (
    (worker_id is null) = (claim is null)
    and (flight_pid is null) = (flight_backend_start is null)
    and (flight_xid is null or flight_pid is not null)
    and (status = 'running' or claim is null and flight_pid is null)
    and (finished_at is null) = (status in ('pending', 'running'))
  )
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- The indexes for the queue stay small, however many jobs have finished. No index has a column that changes while a job runs,
-- so writing progress changes no index.
create index jobs_pending on cartage.jobs (user_id, position) where status = 'pending';
create index jobs_running on cartage.jobs (host_id) where status = 'running';
create index jobs_finished on cartage.jobs (finished_at) where finished_at is not null;
create unique index jobs_idempotency on cartage.jobs (user_id, idempotency_key) where idempotency_key is not null;

-- One row for each user that ever had a job. It is locked before a job is claimed, and its counters change only together with the
-- status of a job. (Created after cartage.jobs: when a user is deleted, its jobs go first, which is the lock order everywhere.)
create table cartage.job_queues (
  user_id     integer primary key references cartage.users on delete cascade,
  host_id     integer not null references cartage.hosts,
  pending     integer not null default 0 check (pending >= 0),
  running     integer not null default 0 check (running >= 0),
  last_served timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index job_queues_waiting on cartage.job_queues (last_served) where pending > 0;

-- A worker is alive while it holds the advisory lock of its id. The heartbeat shows one that holds the lock but is stopped. A
-- worker without a row was declared dead, and its jobs may be taken over.
create table cartage.workers (
  -- Chosen at random by the worker: a counter could repeat a number after a fail-over or a restore.
  id           integer primary key,
  name         text not null,
  started_at   timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp()
);

-- The epoch of the server, from one crash to the next: the table is unlogged, so a crash empties it. What was learnt of a
-- transaction in one epoch (its xid, that it committed) may not be true in the next, unless it was flushed before.
create unlogged table cartage.server_epoch (
  is_current boolean primary key default true check (is_current),
  id         uuid not null default gen_random_uuid()
);

-- A job with all that it takes to run it.
create view cartage.runnable_jobs as
  select j.user_id, j.id, j.status, j.definition, j.progress, j.claim, j.revision, j.created_at, j.updated_at,
         j.flight_xid, j.flight_pid, j.flight_backend_start, j.flight_losses, j.flight_restarts,
         u.username, u.master_role, u.schema_name, d.host_id, d.name as database_name
  from cartage.jobs j
  join cartage.users u on u.id = j.user_id
  join cartage.databases d on d.id = u.database_id;
