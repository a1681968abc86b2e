-- Maps made by instantiation, shared by all processes. The same config of one user is one map.
create table cartage.maps (
  user_id     integer not null references cartage.users on delete cascade,
  -- The beginning of the hash of the config.
  id          text not null,
  config      text not null,
  -- For each layer, whether its tiles show aggregated points, as the last instantiation told.
  aggregated  boolean[] not null,
  -- Made without a key: these go first when a user has too many.
  is_public   boolean not null,
  -- Written at most once an hour.
  used_at     timestamptz not null default clock_timestamp(),
  primary key (user_id, id)
);

create index on cartage.maps (user_id, is_public, used_at desc);
create index on cartage.maps (used_at);
