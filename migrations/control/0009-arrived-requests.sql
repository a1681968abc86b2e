-- Requests that are run once at most, though they may arrive again: browsers and proxies send a request a second time when
-- its connection breaks before the answer. Logged, so that no crash of the server forgets one whose work has been committed.
create table cartage.arrived_requests (
  -- Not of the user: whoever holds a key that may only read would have the requests of another refused by coming first. No
  -- reference: ids are not given out again, and a key that is deleted need not wait for these rows.
  api_key_id integer not null,
  -- The SHA-256 of the Idempotency-Key.
  key_hash   bytea not null,
  arrived_at timestamptz not null default now(),
  primary key (api_key_id, key_hash)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index arrived_requests_by_age on cartage.arrived_requests (arrived_at);
