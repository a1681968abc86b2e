-- Who is told of the end of jobs and imports: addresses of an account, and those that one job names in `notify`. The latter are written
-- before their job; those of jobs that were never made are swept.
create table cartage.webhooks (
  id            uuid primary key default gen_random_uuid(),
  user_id       integer not null references cartage.users on delete cascade,
  -- Null: of all jobs and imports of the account.
  job_id        uuid,
  url           text not null,
  -- Which types of events are sent.
  events        text[] not null,
  -- With which messages are signed, encrypted; null: they are not.
  sealed_secret bytea,
  include_sql   boolean not null,
  is_enabled    boolean not null default true,
  created_at    timestamptz not null default clock_timestamp()
);

create index webhooks_of_user on cartage.webhooks (user_id, created_at) where job_id is null;
create index webhooks_of_job on cartage.webhooks (user_id, job_id, id) where job_id is not null;

-- The outbox: messages, each to one address. Written in the transaction that ends the job.
create table cartage.webhook_deliveries (
  id          uuid primary key default gen_random_uuid(),
  user_id     integer not null references cartage.users on delete cascade,
  webhook_id  uuid not null references cartage.webhooks on delete cascade,
  position    bigint generated always as identity,
  type        text not null,
  -- The job or import; null: a test.
  subject     uuid,
  -- As it was first sent: each attempt sends the same. Null once it is delivered, as the job tells it.
  body        text,
  status      text not null default 'pending' check (status in ('pending', 'delivered', 'undelivered')),
  attempts    integer not null default 0,
  -- Of the last attempt: the status of the answer, or why there was none.
  answer      smallint,
  failure     text,
  -- The next attempt. While one is under way, when another sender may take it over.
  due_at      timestamptz not null default clock_timestamp(),
  gives_up_at timestamptz not null default clock_timestamp() + interval '24 hours',
  -- The fence: only the sender that made the last attempt writes its outcome.
  claim       uuid,
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp()
);

create index deliveries_due on cartage.webhook_deliveries (user_id, due_at) where status = 'pending';
create index deliveries_listed on cartage.webhook_deliveries (user_id, position);
create index deliveries_of_webhook on cartage.webhook_deliveries (webhook_id, position);
-- Of one job and address the oldest goes first.
create index deliveries_in_order on cartage.webhook_deliveries (webhook_id, subject, position) where status = 'pending';
create index deliveries_ended on cartage.webhook_deliveries (status, updated_at) where status <> 'pending';

-- Runs with the settings of the function that ends the job.
create function cartage.note_end_of_job() returns trigger language plpgsql as $$
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
  if new.is_import and exists (
    select from cartage.imports i where i.user_id = new.user_id and i.id = new.id and i.options ->> 'isPreview' = 'true'
  ) then
    return null;
  end if;
  told := array(
    select w.id from cartage.webhooks w
    where w.user_id = new.user_id and w.job_id is null and w.is_enabled and event = any (w.events)
    union all
    select w.id from cartage.webhooks w where w.user_id = new.user_id and w.job_id = new.id and event = any (w.events)
  );
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

create trigger note_end after update on cartage.jobs for each row
  when (old.finished_at is null and new.finished_at is not null) execute function cartage.note_end_of_job();

-- An import that has failed before it was queued. At the end of the transaction, when its row in cartage.imports is written too.
create constraint trigger note_failed_import after insert on cartage.jobs deferrable initially deferred for each row
  when (new.is_import and new.finished_at is not null) execute function cartage.note_end_of_job();
