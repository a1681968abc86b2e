-- How long statements of jobs took, for the time that is left of one that runs: the last five runs of each user and statement, by
-- the fingerprint of libpg_query, newest first.
create table cartage.run_times (
  user_id      integer not null references cartage.users on delete cascade,
  fingerprint  text not null,
  durations_ms bigint[] not null,
  updated_at   timestamptz not null default clock_timestamp(),
  primary key (user_id, fingerprint)
) with (fillfactor = 70);
create index run_times_by_age on cartage.run_times (updated_at);
create index run_times_of_user on cartage.run_times (user_id, updated_at);
