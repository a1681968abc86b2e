-- What a tenant can hold of the catalog. A statement that looks at no signal holds it for as long as it computes, so
-- nothing that we do to others may need it.

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

-- Takes every privilege that a role has on objects it does not own, and answers how many objects were busy. Many that are
-- held take no longer than a few.
create or replace function cartage.take_grants(leaving text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  role constant oid := to_regrole(quote_ident(leaving));
  command text;
  busy integer := 0;
begin
  for command in
    select format('revoke all on %s %s from %I cascade', given.kind, given.name, leaving)
    from pg_shdepend mention
    cross join lateral (
      select case relkind when 'S' then 'sequence' else 'table' end as kind, oid::regclass::text as name
      from pg_class where mention.classid = 'pg_class'::regclass and oid = objid and relowner <> role
      union all
      select 'schema', quote_ident(nspname)
      from pg_namespace where mention.classid = 'pg_namespace'::regclass and oid = objid and nspowner <> role
      union all
      select 'routine', oid::regprocedure::text
      from pg_proc where mention.classid = 'pg_proc'::regclass and oid = objid and proowner <> role
      union all
      select 'type', oid::regtype::text
      from pg_type where mention.classid = 'pg_type'::regclass and oid = objid and typowner <> role
      union all
      select 'large object', oid::text
      from pg_largeobject_metadata where mention.classid = 'pg_largeobject'::regclass and oid = objid and lomowner <> role
      union all
      select 'foreign server', quote_ident(srvname)
      from pg_foreign_server where mention.classid = 'pg_foreign_server'::regclass and oid = objid and srvowner <> role
    ) given
    where refclassid = 'pg_authid'::regclass and refobjid = role and deptype = 'a'
      and dbid = (select oid from pg_database where datname = current_database())
  loop
    begin
      execute command;
    exception when lock_not_available or internal_error or serialization_failure then
      busy := busy + 1;
      if busy = 4 then
        set local lock_timeout = '10ms';
      end if;
    end;
  end loop;
  return busy;
end
$$;
