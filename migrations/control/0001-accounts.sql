-- Hosts, organizations, users and their keys: who exists, and where they live.

create table cartage.hosts (
  id         integer generated always as identity primary key,
  name       text not null unique,
  -- The administrative connection string, sealed with the server secret. Host 1 is the cluster of this database:
  -- its connection comes from the configuration, and this is null.
  sealed_url bytea,
  -- A rotation of the secret is not over: some roles there still have passwords of the old one.
  has_old_passwords boolean not null default false,
  created_at timestamptz not null default now()
);
insert into cartage.hosts (name) values ('local');

create table cartage.databases (
  id          integer generated always as identity primary key,
  host_id     integer not null references cartage.hosts,
  name        text not null,
  -- The newest tenant migration applied there.
  migrated_to text,
  unique (host_id, name)
);

create table cartage.organizations (
  id          integer generated always as identity primary key,
  name        text not null unique,
  database_id integer not null references cartage.databases,
  state       text not null default 'creating' check (state in ('creating', 'active', 'deleting')),
  created_at  timestamptz not null default now()
);

create table cartage.users (
  id              integer generated always as identity primary key,
  username        text not null unique,
  organization_id integer references cartage.organizations on delete cascade,
  org_role        text check (org_role in ('owner', 'admin', 'member')),
  database_id     integer not null references cartage.databases,
  schema_name     text not null,
  master_role     text not null unique,
  public_role     text not null unique,
  quota_in_bytes  bigint not null default 0 check (quota_in_bytes >= 0),
  api_key_quota   integer check (api_key_quota >= 0),
  limits          jsonb not null default '{}',
  state           text not null default 'creating' check (state in ('creating', 'active', 'deleting')),
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  check ((organization_id is null) = (org_role is null))
);
create unique index one_owner_per_organization on cartage.users (organization_id) where org_role = 'owner';
create index users_of_organization on cartage.users (organization_id);

-- Usernames and organization names share one name space: a path says /user/{either}.
create table cartage.account_names (
  name text primary key
);

create table cartage.api_keys (
  id              integer generated always as identity primary key,
  user_id         integer not null references cartage.users on delete cascade,
  name            text not null,
  type            text not null check (type in ('master', 'default', 'regular')),
  role_name       text not null unique,
  token_hash      bytea not null,
  token_encrypted bytea not null,
  -- What was asked for at creation; what is in force is read from the catalogs of the tenant database.
  grants          jsonb not null default '[]',
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  unique (user_id, name),
  unique (user_id, token_hash)
);
create index api_keys_by_token on cartage.api_keys (token_hash);
-- The orders in which a user's keys are listed.
create index api_keys_by_name on cartage.api_keys (user_id, type, name collate "C", id);
create index api_keys_by_creation on cartage.api_keys (user_id, type, created_at, id);
create index api_keys_by_change on cartage.api_keys (user_id, type, updated_at, id);
