-- Queries that callers run by name.
create table cartage.saved_queries (
  user_id     integer not null references cartage.users on delete cascade,
  name        text not null,
  -- As sent, with its :name parameters.
  sql         text not null,
  description text not null,
  -- By name: type, default, required. JSON as text, as its order counts.
  params      text not null,
  -- Whether callers without a key may run it.
  is_public   boolean not null,
  -- Another one after each change.
  revision    uuid not null default gen_random_uuid(),
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp(),
  primary key (user_id, name)
);
