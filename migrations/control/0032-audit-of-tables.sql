-- Notes of tables that tenants drop, rename or make public are made in their databases. They are collected into the audit record
-- once each, in batches.

-- When a host is looked at next: one process at a time looks which of its databases were written to.
create table cartage.note_looks (
  host_id integer primary key references cartage.hosts on delete cascade,
  next_at timestamptz not null
);

create table cartage.note_turns (
  database_id integer primary key references cartage.databases on delete cascade,
  -- A process that collects takes the next turn first. What a process read in an earlier turn is not recorded any more.
  turn        bigint not null default 0,
  -- Rows ever inserted there, as PostgreSQL counts them, when its notes were last collected.
  inserted    bigint
);

-- Notes that are recorded and may still be in the tenant database.
create table cartage.collected_notes (
  database_id integer references cartage.databases on delete cascade,
  id          uuid,
  primary key (database_id, id)
);
