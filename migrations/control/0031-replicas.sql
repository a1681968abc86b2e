-- Standbys of hosts that may answer reads.

create table cartage.replicas (
  -- Of the hosts: a connection names either by its id.
  id         integer primary key default nextval('cartage.hosts_id_seq'),
  host_id    integer not null references cartage.hosts on delete cascade,
  name       text not null unique,
  sealed_url bytea not null
);
create index replicas_by_host on cartage.replicas (host_id);

-- Where the last change of rights in a tenant database is in the log of its host: a replica that has not replayed it answers nothing for
-- that database. Of no use once it is older than the data of a replica may be.
create table cartage.replica_fences (
  database_id integer primary key references cartage.databases on delete cascade,
  -- Positions of another host mean nothing.
  host_id     integer not null references cartage.hosts on delete cascade,
  position    pg_lsn not null,
  raised_at   timestamptz not null default now()
);
create index replica_fences_by_time on cartage.replica_fences (raised_at);

-- Where the reads of a key go, unless a request says otherwise.
alter table cartage.api_keys add column read_from text not null default 'primary' check (read_from in ('primary', 'replica'));
