-- Links to the rows of a query, for people without a key. They run as the key that made them, and end with it.
create table cartage.exports (
  id            uuid primary key default gen_random_uuid(),
  user_id       integer not null references cartage.users on delete cascade,
  key_id        integer not null references cartage.api_keys on delete cascade,
  -- Of the token that the key had then: a new token ends the link too.
  key_hash      bytea not null,
  -- Of the secret in the address.
  secret_hash   bytea not null,
  query         text not null,
  format        text not null,
  filename      text,
  max_downloads integer check (max_downloads > 0),
  downloads     integer not null default 0,
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null
);

create index on cartage.exports (user_id, created_at);
create index on cartage.exports (key_id);
