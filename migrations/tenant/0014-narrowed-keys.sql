-- A key that is narrowed also loses what tables that are yet to be made would give it. Changes of a key are fenced.

-- Grows with every change of the grants of a key. A change that comes late finds another version than the one it took, and
-- changes nothing (src/keys/key-version.ts).
alter table cartage.roles add column version integer not null default 0;

-- As in 0009-removal.sql, and revokes default privileges too: those were given for objects that are not there yet.
create or replace function cartage.revoke_all_grants(leaving text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  role constant oid := to_regrole(quote_ident(leaving));
  command text;
  busy integer := 0;
begin
  perform cartage.compress_with_lz4();
  for command in
    select given.command || format(' from %I cascade', leaving)
    from pg_shdepend mention
    cross join lateral (
      select format('revoke all on %s %s', case relkind when 'S' then 'sequence' else 'table' end, oid::regclass) as command
      from pg_class where mention.classid = 'pg_class'::regclass and oid = objid and relowner <> role
      union all
      select format('revoke all on schema %I', nspname)
      from pg_namespace where mention.classid = 'pg_namespace'::regclass and oid = objid and nspowner <> role
      union all
      select format('revoke all on routine %s', oid::regprocedure)
      from pg_proc where mention.classid = 'pg_proc'::regclass and oid = objid and proowner <> role
      union all
      select format('revoke all on type %s', oid::regtype)
      from pg_type where mention.classid = 'pg_type'::regclass and oid = objid and typowner <> role
      union all
      select format('revoke all on large object %s', oid)
      from pg_largeobject_metadata where mention.classid = 'pg_largeobject'::regclass and oid = objid and lomowner <> role
      union all
      select format('revoke all on foreign server %I', srvname)
      from pg_foreign_server where mention.classid = 'pg_foreign_server'::regclass and oid = objid and srvowner <> role
      union all
      select format('alter default privileges for role %I %s revoke all on %s', pg_get_userbyid(defaclrole),
        (select format('in schema %I', nspname) from pg_namespace where oid = defaclnamespace),
        case defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'routines' when 'T' then 'types'
          when 'n' then 'schemas' else 'large objects' end)
      from pg_default_acl where mention.classid = 'pg_default_acl'::regclass and oid = objid and defaclrole <> role
    ) given
    where refclassid = 'pg_authid'::regclass and refobjid = role and deptype = 'a'
      and dbid = (select oid from pg_database where datname = current_database())
  loop
    begin
      execute command;
    -- What was dropped meanwhile needs nothing. What was renamed is left to DROP OWNED.
    exception when lock_not_available or internal_error or serialization_failure or undefined_table or undefined_object
        or undefined_function or invalid_schema_name then
      busy := busy + 1;
      if busy = 4 then
        set local lock_timeout = '10ms';
      end if;
    end;
  end loop;
  return busy;
end
$$;

-- Lets the role of a key make temporary tables if the key writes, and else no longer. It asks what the key has now, so it can come
-- late and twice.
create function cartage.settle_temporary(keeper text) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  is_writer boolean;
begin
  -- Waits for a change of the key, and a change that follows waits for this transaction.
  perform from cartage.roles where role_name = keeper for share;
  if not found then
    return;
  end if;
  is_writer := exists (
      select from cartage.grants where role_name = keeper and permissions && '{insert,update,delete}')
    or exists (
      select from pg_namespace cross join lateral cartage.privileges(nspacl) held
      where held.grantee = to_regrole(quote_ident(keeper)) and held.privilege = 'create');
  perform cartage.compress_with_lz4();
  execute format(
    case when is_writer then 'grant temporary on database %I to %I' else 'revoke temporary on database %I from %I' end,
    current_database(), keeper);
end
$$;
