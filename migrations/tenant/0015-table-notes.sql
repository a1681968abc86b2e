-- Notes of tables that tenants drop, rename or make public. They are made in the transaction of the command. The service collects
-- them into the audit record of the control database, and deletes them. No tenant can read, write or remove one.

create table cartage.table_notes (
  -- Random: a number could come twice after a restore or a fail-over, and its note would count as collected.
  id        uuid primary key default gen_random_uuid(),
  at        timestamptz not null default clock_timestamp(),
  -- Who did it.
  username  text not null,
  role_name text not null,
  action    text not null,
  -- Whose table it is, and its name.
  account   text not null,
  subject   text,
  details   jsonb not null,
  transaction xid8 not null default pg_current_xact_id()
);
create index on cartage.table_notes (username);
create index on cartage.table_notes (username) where action = 'table.unnoted';

-- Tables that this transaction has made: nobody else has seen them, so their renaming and end are not noted. (An import fills a
-- table under another name first.)
create table cartage.made_tables (
  transaction xid8,
  relation    oid,
  primary key (transaction, relation)
);

create function cartage.forget_made() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from cartage.made_tables where transaction = new.transaction and relation = new.relation;
  return null;
end
$$;

create constraint trigger forget_made after insert on cartage.made_tables
  deferrable initially deferred for each row execute function cartage.forget_made();

create function cartage.is_made_here(table_oid oid) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return exists (
    select from cartage.made_tables where transaction = pg_current_xact_id() and relation = table_oid);
end
$$;

-- Whether this transaction has written a row that it sees: others' rows are not seen while they are in progress.
create function cartage.is_written_here(written_by xid) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  mine constant bigint := pg_current_xact_id()::text::bigint;
  -- A row has the last 32 bits. Savepoints have later numbers than their transaction.
  later constant bigint := (written_by::text::bigint - mine % 4294967296 + 4294967296) % 4294967296;
begin
  return later < 2147483648 and pg_xact_status((mine + later)::text::xid8) = 'in progress';
exception when invalid_parameter_value then
  -- A number of the future: the row is so old that its number comes again.
  return false;
end
$$;

-- Whether this transaction has made a table. The row that ties its type to it is written with the table and never again, and
-- tells it also to a transaction whose snapshot is older than the table.
create function cartage.is_new_here(table_oid oid) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return exists (
    select from pg_depend
    where refclassid = 'pg_class'::regclass and refobjid = table_oid and refobjsubid = 0
      and classid = 'pg_type'::regclass and deptype = 'i' and cartage.is_written_here(pg_depend.xmin));
end
$$;

-- Whether an access list lets everybody read: PUBLIC, or callers without a key. (In PL/pgSQL, as what follows: it keeps plans.)
create function cartage.is_public(acl aclitem[]) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return exists (
    select from aclexplode(acl) held
    where held.privilege_type = 'SELECT' and (held.grantee = 0 or exists (
      select from cartage.roles where role_name = pg_get_userbyid(held.grantee) and key_type = 'default')));
end
$$;

create type cartage.table_state as (relation oid, schema_name text, table_name text, is_public boolean);

create function cartage.table_states(relations oid[]) returns setof cartage.table_state
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return query
    select class.oid, nspname::text, relname::text,
      cartage.is_public(coalesce(relacl, acldefault('r', relowner))) or exists (
        select from pg_attribute where attrelid = class.oid and attacl is not null and cartage.is_public(attacl))
    from pg_class class join pg_namespace namespace on namespace.oid = relnamespace
    where class.oid = any (relations) and relkind in ('r', 'p', 'v', 'm', 'f') and relpersistence <> 't';
end
$$;

-- Stores notes for the caller. While too many wait to be collected, one note stands for all that follow: a loop of a tenant must
-- not fill the disk. A transaction that keeps its snapshot may see one that is collected by now, and makes its own.
create function cartage.note_tables(notes cartage.table_notes[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  actor constant text := cartodb.CDB_Username();
  most constant integer := 1000;
  sees_now constant boolean := current_setting('transaction_isolation') like 'read %';
  room integer;
begin
  if cardinality(notes) = 0 or exists (
    select from cartage.table_notes
    where username = actor and action = 'table.unnoted' and (sees_now or transaction = pg_current_xact_id())) then
    return;
  end if;
  room := most - (select count(*) from (select from cartage.table_notes where username = actor limit most) waiting);
  insert into cartage.table_notes (username, role_name, action, account, subject, details)
  select actor, session_user, action, coalesce(account, actor), subject, details from unnest(notes) limit room;
  if cardinality(notes) > room then
    insert into cartage.table_notes (username, role_name, action, account, details)
    values (actor, session_user, 'table.unnoted', actor, '{}');
  end if;
end
$$;

-- Without a table: all tables of the schema. Without a schema: of every schema.
create function cartage.table_label(schema text, table_name text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
return concat_ws('.', quote_ident(schema), coalesce(quote_ident(table_name), '*'));

create function cartage.new_note(action text, schema text, table_name text, details jsonb) returns cartage.table_notes
language sql stable set search_path = pg_catalog, pg_temp
return row(null, null, null, null, action, (select username from cartage.accounts where schema_name = schema),
  cartage.table_label(schema, table_name), details, null)::cartage.table_notes;

-- Dropped, also with what they depend on.
create function cartage.note_dropped() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  notes cartage.table_notes[];
begin
  if cartodb.CDB_Username() is null then
    return;
  end if;
  notes := array(
    select cartage.new_note('table.dropped', schema_name, object_name, jsonb_build_object('kind', object_type))
    from pg_event_trigger_dropped_objects()
    where classid = 'pg_class'::regclass and object_type in ('table', 'view', 'materialized view', 'foreign table')
      and not is_temporary and not cartage.is_made_here(objid)
    -- One more than are stored.
    limit 1001);
  perform cartage.note_tables(notes);
end
$$;

create event trigger cartage_note_dropped on sql_drop execute function cartage.note_dropped();

-- The tables that a GRANT may have changed; PostgreSQL does not tell.
create function cartage.tables_changed_here() returns setof oid
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select relation
  from (
    select oid, xmin from pg_class where relkind in ('r', 'p', 'v', 'm', 'f')
    union
    select attrelid, xmin from pg_attribute where attacl is not null
  ) changed (relation, changed_by)
  where cartage.is_written_here(changed_by)
$$;

-- Notes what a command has changed, by comparing `before` with now.
create function cartage.note_changes(relations oid[], before cartage.table_state[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now constant cartage.table_state[] := array(select state from cartage.table_states(relations) state);
  notes cartage.table_notes[];
begin
  insert into cartage.made_tables
  select pg_current_xact_id(), relation from unnest(now) where cartage.is_new_here(relation)
  on conflict do nothing;
  notes := array(
    select cartage.new_note('table.renamed', old.schema_name, old.table_name,
      jsonb_build_object('renamed_to', cartage.table_label(new.schema_name, new.table_name)))
    from unnest(now) new join unnest(before) old using (relation)
    where (new.schema_name, new.table_name) <> (old.schema_name, old.table_name) and not cartage.is_made_here(relation)
    union all
    select cartage.new_note('table.published', new.schema_name, new.table_name, '{}')
    from unnest(now) new left join unnest(before) old using (relation)
    where new.is_public and old.is_public is not true
    limit 1001);
  perform cartage.note_tables(notes);
end
$$;

-- Schemas that have another name than before: all of their tables have.
create function cartage.note_renamed_schemas(before jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform cartage.note_tables(array(
    select cartage.new_note('table.renamed', old.value, null,
      jsonb_build_object('renamed_to', cartage.table_label(nspname, null)))
    from jsonb_each_text(before) old join pg_namespace on oid = old.key::oid
    where nspname <> old.value));
end
$$;

-- Access lists of tables that are yet to be made, by which everybody may read them, and could not before.
create function cartage.note_public_defaults(before oid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform cartage.note_tables(array(
    select cartage.new_note('table.published', nspname, null, '{"from_now_on": true}')
    from pg_default_acl left join pg_namespace on pg_namespace.oid = defaclnamespace
    where defaclobjtype = 'r' and cartage.is_public(defaclacl) and pg_default_acl.oid <> all (before)));
end
$$;

-- STABLE, so its own queries see the catalogs as they were before the command, and the functions that it calls, which are
-- volatile, see them as they are now.
create function cartage.note_changed() returns event_trigger
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  relations oid[];
begin
  if cartodb.CDB_Username() is null then
    return;
  end if;
  if tg_tag = 'ALTER DEFAULT PRIVILEGES' then
    perform cartage.note_public_defaults(array(
      select oid from pg_default_acl where defaclobjtype = 'r' and cartage.is_public(defaclacl)));
    return;
  elsif tg_tag = 'ALTER SCHEMA' then
    perform cartage.note_renamed_schemas((
      select jsonb_object_agg(oid, nspname) from pg_namespace where oid in (
        select objid from pg_event_trigger_ddl_commands() where classid = 'pg_namespace'::regclass)));
    return;
  elsif tg_tag = 'GRANT' then
    relations := array(select cartage.tables_changed_here());
  else
    relations := array(select objid from pg_event_trigger_ddl_commands() where classid = 'pg_class'::regclass);
  end if;
  if cardinality(relations) > 0 then
    perform cartage.note_changes(relations, array(select state from cartage.table_states(relations) state));
  end if;
end
$$;

create event trigger cartage_note_changed on ddl_command_end
  when tag in (
    'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW',
    'CREATE FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA', 'CREATE SCHEMA',
    'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER SEQUENCE', 'ALTER SCHEMA',
    -- Renames tables too.
    'ALTER INDEX',
    'GRANT', 'ALTER DEFAULT PRIVILEGES')
  execute function cartage.note_changed();
