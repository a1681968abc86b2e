-- Templates of maps. They run as the key that made them, and end with it.
create table cartage.map_templates (
  user_id       integer not null references cartage.users on delete cascade,
  name          text not null,
  key_id        integer not null references cartage.api_keys on delete cascade,
  -- As sent, without the tokens of its viewers.
  template      text not null,
  -- `auth.valid_tokens` as JSON, encrypted.
  sealed_tokens bytea,
  -- Another one after each change: it ends the maps that were made before.
  revision      text not null,
  updated_at    timestamptz not null default clock_timestamp(),
  primary key (user_id, name)
);

create index on cartage.map_templates (key_id);
create unique index on cartage.map_templates (user_id, left(revision, 8));

-- The revision of the template that a map was made of; null: of none.
alter table cartage.maps add column revision text;
