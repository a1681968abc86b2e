-- What accounts use, by the hour (UTC) and kind. Processes add what they have counted, once a minute. No foreign key: it would make
-- this wait for changes of accounts. Rows of deleted accounts are removed every hour.

create table cartage.usage (
  user_id     integer not null,
  hour        timestamptz not null,
  -- The kind of a request or statement; 'disk' for the size of the data.
  kind        text not null,
  requests    bigint not null default 0,
  -- Jobs and imports that a worker has ended.
  jobs        bigint not null default 0,
  postgres_ms bigint not null default 0,
  rows_out    bigint not null default 0,
  rows_in     bigint not null default 0,
  bytes_out   bigint not null default 0,
  bytes_in    bigint not null default 0,
  -- Of the kind 'disk' only.
  disk_bytes  bigint,
  primary key (user_id, hour, kind)
) with (fillfactor = 70);
create index usage_by_hour on cartage.usage (hour);

-- When the data of an account was last given to a process to be measured.
create table cartage.usage_measurements (
  user_id  integer primary key,
  taken_at timestamptz not null default clock_timestamp()
);

-- The last batch that each process has written, so that one whose answer was lost is not added twice.
create table cartage.usage_writers (
  process    text primary key,
  last_batch integer not null,
  written_at timestamptz not null default clock_timestamp()
);
