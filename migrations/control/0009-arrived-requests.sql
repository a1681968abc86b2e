-- Requests that are run once at most, though they may arrive again: browsers and proxies send a request a second time when
-- its connection breaks before the answer. Logged, so that no crash of the server forgets one whose work has been committed.
create table cartage.arrived_requests (
  -- No reference: ids are not given out again, and a user that is deleted need not wait for these rows.
  user_id    integer not null,
  -- The SHA-256 of the Idempotency-Key.
  key_hash   bytea not null,
  arrived_at timestamptz not null default now(),
  primary key (user_id, key_hash)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index arrived_requests_by_age on cartage.arrived_requests (arrived_at);
