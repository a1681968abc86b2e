-- A key creates data, not code: tables, views, sequences, indexes. Whatever carries code, or changes what a name means,
-- would sooner or later run as somebody else who touches it. Judged is the role that a command runs as, so that a
-- SECURITY DEFINER function of the master role may do what the master role may.

-- Before a command: by its tag. CREATE EXTENSION, for one, would run scripts as the operator. (DROP OWNED by any tenant
-- would take away the grants that hold its own account together.) Whoever has no key creates nothing, and has nothing to
-- give: a GRANT that does nothing still holds its object.
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
  fault record;
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
    select place, call into fault
    from cartodb._CDB_Faults(made.objid)
    -- Triggers, policies and rules that are there already are the master role's.
    where place !~ '^(trigger|policy|rule) ' or place = trigger_place
    limit 1;
    if found then
      raise exception 'an API key creates data, not code: % of % calls %',
          fault.place, made.objid::regclass, fault.call
        using errcode = 'insufficient_privilege',
          hint = 'Expressions may call functions of PostgreSQL, PostGIS and cartodb that only compute.';
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

-- Relations of a role that have a name of PostGIS or of the service, and come before it in the search path of others: a
-- table is a type as well, and an index, too, has the name that a table is looked for by.
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

-- A trusted extension is installed by the operator's rights: not among our own names.
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

-- To grant is to change the object's row, and PostgreSQL only warns when nothing was granted: whoever has any privilege on
-- an object could hold it. And what somebody else than the owner has granted (WITH GRANT OPTION) is taken away neither by
-- our REVOKE nor by DROP OWNED: a role could keep its rights, and could not be dropped. So a tenant grants on what it
-- owns. This tells the first object that the transaction has changed although it is not the role's own. (What is visible and
-- in progress is our own change.)
create function cartodb._CDB_ChangedOfOthers(role name) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  with object (name, owner, changed_by) as (
    select format('%s', oid::regclass), relowner, xmin from pg_class
    union all
    select format('%s.%I', attrelid::regclass, attname), relowner, pg_attribute.xmin
    from pg_attribute join pg_class on pg_class.oid = attrelid where attacl is not null
    union all
    -- The first temporary table of a backend makes a schema that is nobody's to grant.
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
