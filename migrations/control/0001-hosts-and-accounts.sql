-- Hosts, databases, organizations, users and keys, and what processes share about them.

-- Hosts and databases

create table cartage.hosts (
  id         integer generated always as identity primary key,
  name       text not null unique,
  -- The administrative connection string, sealed with the server secret. Host 1 is the cluster of this database:
  -- its connection comes from the configuration, and this is null.
  sealed_url bytea,
  -- A rotation of the secret has not finished: some roles there still have passwords of the old secret.
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

-- Which server secret this installation uses. A process with another one does not start.
create table cartage.server_secret (
  id         integer primary key default 1 check (id = 1),
  -- Derived from the secret, which cannot be computed from it.
  verifier   bytea not null,
  rotated_at timestamptz
);

-- Organizations, users and their keys

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
  -- How many regular keys the user has. Every page of keys and every new key asks for it, so it is kept, not counted.
  regular_keys    integer not null default 0,
  state           text not null default 'creating' check (state in ('creating', 'active', 'deleting')),
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  check ((organization_id is null) = (org_role is null))
);
create unique index one_owner_per_organization on cartage.users (organization_id) where org_role = 'owner';
create index users_of_organization on cartage.users (organization_id);

-- Usernames and organization names share one name space: both stand in paths as /user/{name}.
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
  -- Of what a key was made with, only this is not in the catalogs of the tenant database.
  apis            text[] not null default '{}',
  services        text[] not null default '{}',
  has_table_metadata boolean not null default false,
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

create function cartage.count_regular_key() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    update cartage.users set regular_keys = regular_keys + 1 where id = new.user_id;
  else
    update cartage.users set regular_keys = regular_keys - 1 where id = old.user_id;
  end if;
  return null;
end
$$;
create trigger count_new_key after insert on cartage.api_keys
  for each row when (new.type = 'regular') execute function cartage.count_regular_key();
create trigger count_deleted_key after delete on cartage.api_keys
  for each row when (old.type = 'regular') execute function cartage.count_regular_key();

-- Future members of large organizations: ids of users whose roles are made ahead (src/accounts/spare-store.ts).
create table cartage.spare_members (
  user_id         integer primary key,
  organization_id integer not null references cartage.organizations on delete cascade,
  master_role     text not null unique,
  public_role     text not null unique,
  -- The member whose creation makes the roles. Null when that creation has ended, with or without success.
  made_with       integer references cartage.users on delete set null
);
create index spare_members_of_organization on cartage.spare_members (organization_id);
create index spare_members_by_maker on cartage.spare_members (made_with);

-- The leases of processes on what they remember of accounts and keys

-- The number of the last change of an account. It grows with the commit of each change: a process that reads a number sees all
-- changes up to it.
create sequence cartage.account_changes minvalue 0 start 0;
select nextval('cartage.account_changes');

-- One row for each process that may hold a lease. The table is logged, so that no crash of the server hides a lease that is
-- still valid.
create table cartage.cache_leases (
  id        bigint generated always as identity primary key,
  -- Up to this change the process has confirmed that it no longer trusts what it knew before.
  confirmed bigint not null,
  -- Grows with every renewal. If it does not grow for the time of a lease, the lease has ended.
  renewals  bigint not null default 0
) with (fillfactor = 50);

-- Requests

-- How far ahead of its rate each user is, in each group of endpoints. Unlogged: these rows change with every limited request, and
-- after a crash every limit may begin anew.
create unlogged table cartage.rate_limits (
  user_id        integer not null references cartage.users on delete cascade,
  endpoint_group text not null,
  -- When the next request would be due if all earlier ones had come evenly (the theoretical arrival time of GCRA).
  due_at         timestamptz not null,
  primary key (user_id, endpoint_group)
) with (fillfactor = 50);

-- Requests that run at most once, although they may arrive twice: browsers and proxies send a request again when its connection
-- breaks before the answer. The table is logged, so that no crash of the server forgets a request whose work was committed.
create table cartage.arrived_requests (
  -- The key, not the user: otherwise a key that may only read could have the requests of another key refused by sending the same
  -- Idempotency-Key first. No reference: ids are not used again, and deleting a key need not wait for these rows.
  api_key_id integer not null,
  -- The SHA-256 of the Idempotency-Key.
  key_hash   bytea not null,
  arrived_at timestamptz not null default now(),
  primary key (api_key_id, key_hash)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index arrived_requests_by_age on cartage.arrived_requests (arrived_at);

-- The audit record: who changed which account or key, and whose credentials were refused. It never holds tokens.
create table cartage.audit (
  id      bigint generated always as identity primary key,
  at      timestamptz not null default now(),
  -- `operator`, the user whose key was used, or the address that a refused request came from.
  actor   text not null,
  action  text not null,
  -- The user or organization that was acted on.
  account text,
  -- What was acted on within the account, such as the name of a key.
  subject text,
  details jsonb not null default '{}'
);
create index audit_by_time on cartage.audit (at);
create index audit_by_account on cartage.audit (account, id);

-- Append-only: no record is changed, and none is removed within its first thirty days.
create function cartage.keep_audit() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '30 days' then
    return old;
  end if;
  raise exception 'the audit record is append-only';
end
$$;
create trigger keep_audit before update or delete on cartage.audit
  for each row execute function cartage.keep_audit();
create trigger keep_all_audit before truncate on cartage.audit
  for each statement execute function cartage.keep_audit();
