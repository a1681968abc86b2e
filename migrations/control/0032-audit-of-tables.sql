-- Notes of tables that tenants drop, rename or make public are made in their databases. They are collected into the audit record
-- once each, in batches.

-- The process that looks which databases of a host were written to, until its pass ends. It is another one's turn when this was
-- not renewed in time.
create table cartage.note_looks (
  host_id integer primary key references cartage.hosts on delete cascade,
  claim   uuid not null,
  until   timestamptz not null
);

create table cartage.note_turns (
  database_id integer primary key references cartage.databases on delete cascade,
  -- A process that collects takes the next turn first. What a process read in an earlier turn is not recorded any more.
  turn        bigint not null default 0,
  -- Rows ever inserted there, as PostgreSQL counts them, when its notes were last collected.
  inserted    bigint
);

-- The note that a record was made of: it is not recorded again when the tenant database is restored from a backup.
alter table cartage.audit add column note_id uuid;
create unique index audit_by_note on cartage.audit (note_id) where note_id is not null;

-- Notes that are recorded and may still be in the tenant database. (Of notes that are counted together, one has its id in the
-- audit record.)
create table cartage.collected_notes (
  database_id integer references cartage.databases on delete cascade,
  id          uuid,
  primary key (database_id, id)
);

-- Records to be sent to syslog, as cartage.audit_outbox has those for the file. Old records are not sent.
create table cartage.audit_syslog_outbox (
  id bigint primary key
);

create or replace function cartage.ship_audit() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into cartage.audit_outbox values (new.id);
    insert into cartage.audit_syslog_outbox values (new.id);
  else
    delete from cartage.audit_outbox where id = old.id;
    delete from cartage.audit_syslog_outbox where id = old.id;
  end if;
  return null;
end
$$;

-- The process that ships records. It is another one's turn when this was not renewed in time.
create table cartage.audit_shippers (
  sink  text primary key check (sink in ('file', 'syslog')),
  claim uuid not null,
  until timestamptz not null
);

-- When the rights of keys to make temporary tables are looked at next, in every database: by one process.
create table cartage.temporary_looks (
  is_only boolean primary key default true check (is_only),
  next_at timestamptz not null
);
