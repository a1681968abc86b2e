-- A key creates data, not code: tables, views, sequences, indexes. What carries code, or changes what a name means, would run as
-- another role that touches it. The role that a command runs as is checked, so a SECURITY DEFINER function of the master role
-- may do what the master role may.

-- Before a command, by its tag. CREATE EXTENSION, for example, would run scripts as the operator. DROP OWNED by a tenant would
-- remove the grants that hold its own account together. A caller without a key creates nothing and grants nothing: a GRANT
-- without any effect still locks its object.
create function cartage.check_command() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  for_keys constant text[] := '{
    CREATE TABLE,CREATE TABLE AS,SELECT INTO,CREATE VIEW,CREATE MATERIALIZED VIEW,REFRESH MATERIALIZED VIEW,
    CREATE SEQUENCE,CREATE INDEX,CREATE TRIGGER,ALTER TABLE,ALTER VIEW,ALTER MATERIALIZED VIEW,ALTER SEQUENCE,
    ALTER INDEX,COMMENT,GRANT,REVOKE}';
  key_type constant text := cartodb._CDB_KeyType(current_user);
begin
  if key_type = 'default' and tg_tag in ('GRANT', 'REVOKE', 'COMMENT') then
    raise exception 'permission denied: % needs a key', tg_tag using errcode = 'insufficient_privilege';
  elsif tg_tag = any (for_keys) or tg_tag ~ '^DROP ' and tg_tag <> 'DROP OWNED' then
    return;
  elsif key_type is null or key_type = 'master' and tg_tag <> 'DROP OWNED' then
    return;
  elsif key_type = 'master' then
    raise exception '% is not allowed', tg_tag using errcode = 'insufficient_privilege';
  end if;
  raise exception 'an API key creates data, not code: % is not allowed', tg_tag
    using errcode = 'insufficient_privilege', hint = 'Use the master key.';
end
$$;

create event trigger cartage_check_command on ddl_command_start execute function cartage.check_command();

-- After a command of a key: what it made is of a kind that a key may make, and its expressions only compute.
create function cartage.check_made() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  made record;
  trigger_place text;
  found_fault record;
begin
  if coalesce(cartodb._CDB_KeyType(current_user), 'master') = 'master' then
    return;
  end if;
  for made in
    select * from pg_event_trigger_ddl_commands() where command_tag not in ('GRANT', 'REVOKE', 'COMMENT')
  loop
    trigger_place := null;
    if made.classid = 'pg_trigger'::regclass then
      select tgrelid, 'trigger ' || tgname into made.objid, trigger_place from pg_trigger where oid = made.objid;
    elsif made.classid = 'pg_class'::regclass and made.object_type ~ '^index' then
      made.objid := (select indrelid from pg_index where indexrelid = made.objid);
    elsif not (made.classid = 'pg_class'::regclass
          and made.object_type ~ '^(table|view|materialized view|sequence)( column)?$'
        or made.classid = 'pg_constraint'::regclass and made.object_type = 'table constraint') then
      raise exception 'an API key creates data, not code: no %', made.object_type
        using errcode = 'insufficient_privilege', hint = 'Use the master key.';
    end if;
    select place, fault into found_fault
    from cartodb._CDB_Faults(made.objid)
    -- Triggers, policies and rules that were there before were made by the master role.
    where place !~ '^(trigger|policy|rule) ' or place = trigger_place
    limit 1;
    if found then
      raise exception 'an API key creates data, not code: % of % %', found_fault.place, made.objid::regclass, found_fault.fault
        using errcode = 'insufficient_privilege',
          hint = case when found_fault.fault ~ '^calls '
            then 'Expressions may call functions of PostgreSQL, PostGIS and cartodb that only compute.'
            else 'Use a type of PostgreSQL, PostGIS or your own, and tables without row security; or use the master key.'
          end;
    end if;
  end loop;
end
$$;

create event trigger cartage_check_made on ddl_command_end
  when tag in (
    'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW', 'CREATE SEQUENCE',
    'CREATE INDEX', 'CREATE TRIGGER', 'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER SEQUENCE',
    'ALTER INDEX')
  execute function cartage.check_made();

-- Names of PostGIS and of the service

-- Relations of a role that have a name of PostGIS or of the service, and come before it in the search path of others. A table
-- is a type as well, and an index also has a name by which a table is looked up.
create function cartodb._CDB_Misnamed(owner name, out relation regclass, out name name) returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  select oid, relname
  from pg_class
  where relowner = to_regrole(quote_ident(owner)) and not pg_is_other_temp_schema(relnamespace)
    and (exists (
      select from pg_type
      where typname = relname and typnamespace in ('postgis'::regnamespace, 'cartodb'::regnamespace))
    or exists (
      select from pg_class ours
      where ours.relname = pg_class.relname
        and ours.relnamespace in ('postgis'::regnamespace, 'cartodb'::regnamespace)))
$$;

create function cartage.check_name() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  taken name;
begin
  if coalesce(cartodb._CDB_KeyType(current_user), 'master') = 'master' then
    return;
  end if;
  select name into taken from cartodb._CDB_Misnamed(current_user) limit 1;
  if found then
    raise exception 'the name "%" belongs to PostGIS or to the service', taken
      using errcode = 'insufficient_privilege', hint = 'Choose another name.';
  end if;
end
$$;

create event trigger cartage_check_name on ddl_command_end
  when tag in (
    'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW', 'CREATE SEQUENCE',
    'CREATE INDEX', 'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER SEQUENCE',
    -- Renames tables too.
    'ALTER INDEX')
  execute function cartage.check_name();

-- A trusted extension is installed with the rights of the operator. It may not go into schemas of the service.
create function cartage.check_extension() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_KeyType(current_user) is not null and exists (
    select from pg_extension
    where extnamespace::regnamespace::text in ('cartage', 'cartodb', 'postgis', 'pg_catalog', 'information_schema')
      and extname not in ('postgis', 'plpgsql'))
  then
    raise exception 'an extension does not go into a schema of the service' using errcode = 'insufficient_privilege',
      hint = 'Install it into a schema of your own: CREATE EXTENSION ... SCHEMA ...';
  end if;
end
$$;

create event trigger cartage_check_extension on ddl_command_end
  when tag in ('CREATE EXTENSION', 'ALTER EXTENSION')
  execute function cartage.check_extension();

-- A tenant grants only on what it owns. A GRANT changes the row of its object, and PostgreSQL only warns if nothing was granted:
-- a role with any privilege on an object could lock it. And what another role than the owner granted (WITH GRANT OPTION) is
-- removed neither by our REVOKE nor by DROP OWNED: a role could keep its rights, and could not be dropped.

-- The first object that the transaction has changed although it does not belong to the role. (A row that is visible and whose
-- transaction is in progress was changed by this transaction.)
create function cartodb._CDB_ChangedOfOthers(role name) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  with object (name, owner, changed_by) as (
    select format('%s', oid::regclass), relowner, xmin from pg_class
    union all
    select format('%s.%I', attrelid::regclass, attname), relowner, pg_attribute.xmin
    from pg_attribute join pg_class on pg_class.oid = attrelid where attacl is not null
    union all
    -- Not the schemas of temporary tables: the first temporary table of a backend makes one.
    select format('schema %I', nspname), nspowner, xmin from pg_namespace where nspname !~ '^pg_(toast_)?temp_'
    union all
    select format('%s', oid::regprocedure), proowner, xmin from pg_proc
    union all
    select format('type %s', oid::regtype), typowner, xmin from pg_type
    union all
    select format('language %I', lanname), lanowner, xmin from pg_language
    union all
    select format('large object %s', oid), lomowner, xmin from pg_largeobject_metadata
    union all
    select format('foreign data wrapper %I', fdwname), fdwowner, xmin from pg_foreign_data_wrapper
    union all
    select format('foreign server %I', srvname), srvowner, xmin from pg_foreign_server
  )
  select name from object
  where age(changed_by) <= 0
    and pg_xact_status((pg_current_xact_id()::text::bigint - age(changed_by))::text::xid8) = 'in progress'
    and not pg_has_role(role, owner, 'member')
  limit 1
$$;

create function cartage.check_grant() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  foreign_object text;
begin
  if cartodb._CDB_KeyType(current_user) is null then
    return;
  end if;
  foreign_object := cartodb._CDB_ChangedOfOthers(current_user);
  if foreign_object is not null then
    raise exception 'permission denied: % is not yours to grant', foreign_object using errcode = 'insufficient_privilege';
  end if;
end
$$;

create event trigger cartage_check_grant on ddl_command_end
  when tag in ('GRANT', 'REVOKE')
  execute function cartage.check_grant();

-- The schema of a member of an organization belongs to the member, who shares it by GRANT. It is made with the account, and the
-- member could not make it again.

create function cartage.check_own_schemas() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  lost text;
begin
  if cartodb.CDB_Username() is null then
    return;
  end if;
  select schema_name into lost
  from cartage.accounts
  where not exists (
    select from pg_namespace
    where nspname = schema_name and (schema_name = 'public' or pg_get_userbyid(nspowner) = master_role));
  if found then
    raise exception 'the schema "%" belongs to its account: it cannot be dropped, renamed or given away', lost
      using errcode = 'insufficient_privilege', hint = 'Drop what is in it.';
  end if;
end
$$;

create event trigger cartage_check_own_schemas on ddl_command_end
  when tag in ('DROP SCHEMA', 'ALTER SCHEMA', 'DROP EXTENSION')
  execute function cartage.check_own_schemas();

-- PostgreSQL runs EXPLAIN ANALYZE of CREATE TABLE AS, SELECT INTO and CREATE MATERIALIZED VIEW past every event trigger. What they
-- make is checked afterwards: when a request ran an EXPLAIN, by itself or in a DO, and when a key is removed. It has no
-- expressions but the query of a materialized view, and what it has of another user are the types of columns.

-- Drops materialized views of a key whose query does more than compute, and columns with a type of another user. Renames what has
-- a name of PostGIS or of the service: it is not dropped, since others may depend on it by now. The public role of the account
-- is looked at as well: the key is a member of it and can give it what it owns, since REASSIGN OWNED fires no event trigger
-- either. Each call changes up to 100 objects, as a transaction has a limited number of locks, and returns how many. 0 means
-- that nothing is left.
create function cartage.check_made_past_triggers(role text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owners constant name[] := array(
    select unnest(array[key.role_name, owner.public_role])
    from cartage.roles key join cartage.accounts owner using (username)
    where key.role_name = role and key.key_type = 'regular');
  command text;
  corrected integer := 0;
begin
  for command in
    -- A random name, which cannot have been taken in advance.
    select format('alter table %s rename to %I', relation, format('%s_%s', name, left(gen_random_uuid()::text, 8)))
    from unnest(owners) owner, cartodb._CDB_Misnamed(owner)
    union all
    select distinct removal
    from pg_class class, cartodb._CDB_Faults(class.oid)
    where class.relkind = 'm' and pg_get_userbyid(class.relowner) = any (owners) and place ~ '^(its query$|column )'
    union all
    select distinct removal
    from pg_class class, cartodb._CDB_UsedOfOthers(class.relowner, class.oid)
    where class.relkind in ('r', 'p') and pg_get_userbyid(class.relowner) = any (owners)
      and place ~ '^(column |its )' and removal is not null
    limit 100
  loop
    corrected := corrected + 1;
    begin
      execute command;
    exception when undefined_table or undefined_column or wrong_object_type then
      null;  -- It is gone, or was renamed: the next call sees it.
    end;
  end loop;
  return corrected;
end
$$;

-- Puts grants in force that wait for a table that is there again.
create function cartage.follow_made_past_triggers() returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select cartage.follow_table(made.oid)
  from (
    select distinct class.oid
    from cartage.grants intent
    join pg_namespace namespace on namespace.nspname = intent.schema_name
    join pg_class class on class.relnamespace = namespace.oid and class.relname = intent.table_name
    where not exists (select from pg_class where oid = intent.relation)
  ) made
$$;
