-- The statements that people ran, as their programs told the service: the history of a key in every browser. The newest 500 of
-- a key are kept, for some days. They are removed with their key.
create table cartage.statement_history (
  -- Whose history it is in: the key that told it.
  key_id     integer not null references cartage.api_keys on delete cascade,
  -- Chosen by the program, so that one that is told twice is kept once.
  id         uuid not null,
  -- The order of the list.
  number     bigint generated always as identity,
  -- The key that ran it: the holder of the Master key can run SQL as other keys. No foreign key, so that it stays in the history of the
  -- Master key when the other key is deleted.
  ran_as     integer not null,
  noted_at   timestamptz not null default clock_timestamp(),
  text       text not null,
  -- The end of the text was too long to be kept.
  is_cut     boolean not null,
  outcome    text not null check (outcome in ('done', 'failed', 'stopped')),
  run_ms     bigint not null,
  row_count  bigint,
  -- Of the service, or the SQLSTATE of PostgreSQL.
  error_code text,
  primary key (key_id, id)
);
create index statement_history_by_key on cartage.statement_history (key_id, number);
create index statement_history_by_use on cartage.statement_history (ran_as, number);
create index statement_history_by_time on cartage.statement_history (noted_at);
