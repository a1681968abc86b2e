-- Grants of keys follow what tenants do with their tables. Whatever goes wrong in here, the tenant's own command
-- must succeed.

-- The privileges in an access list. (A long one is stored compressed, and aclexplode itself would unpack it anew for
-- every row it gives.)
create function cartage.privileges(acl aclitem[], out grantee oid, out privilege text) returns setof record
language sql stable strict set search_path = pg_catalog, pg_temp as $$
  select grantee, lower(privilege_type) from aclexplode(acl || '{}'::aclitem[])
$$;

-- A table was made or changed: grants that are in force on it learn its name, and those that wait for a table of
-- that name are put in force, if the user still has what was granted.
create function cartage.follow_table(changed oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  place record;
  given record;
begin
  select namespace.nspname::text as schema_name, class.relname::text as table_name into place
  from pg_class class join pg_namespace namespace on namespace.oid = class.relnamespace
  where class.oid = changed and class.relkind in ('r', 'p', 'v', 'm', 'f') and class.relpersistence <> 't';
  if not found then
    return;
  end if;
  update cartage.grants set schema_name = place.schema_name, table_name = place.table_name
  where relation = changed and (schema_name, table_name) <> (place.schema_name, place.table_name);
  for given in
    with waiting as (
      update cartage.grants intent set relation = changed
      from cartage.roles key
      where intent.table_name = place.table_name and intent.schema_name = place.schema_name
        and intent.relation <> changed
        and not exists (select from pg_class where oid = intent.relation)
        and key.role_name = intent.role_name
        and exists (select from pg_authid where rolname = key.role_name)
        and cartage.find_table(key.username, place.schema_name, place.table_name) = changed
        and intent.permissions <@ cartage.permissions_held(key.username, changed, intent.permissions)
      returning intent.role_name, intent.permissions
    )
    select permissions, array_agg(distinct role_name) as roles from waiting group by permissions
  loop
    perform cartage.grant_table(given.roles, changed, given.permissions);
  end loop;
  if exists (select from cartage.grants where relation = changed and 'insert' = any (permissions)) then
    perform cartage.follow_sequences(changed);
  end if;
end
$$;

-- A table may have got a sequence: whoever was granted `insert` may use it.
create function cartage.follow_sequences(changed oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  given record;
begin
  for given in
    with writer as (
      select distinct role.oid, role.rolname
      from cartage.grants join pg_authid role on role.rolname = role_name
      where relation = changed and 'insert' = any (permissions)
    ),
    sequence as (
      select class.oid, namespace.nspname, class.relname, class.relacl
      from cartage.sequences_of(changed) filler
      join pg_class class on class.oid = filler
      join pg_namespace namespace on namespace.oid = class.relnamespace
    ),
    already as (
      select sequence.oid, acl.grantee from sequence, cartage.privileges(relacl) acl where acl.privilege = 'usage'
    )
    select nspname, relname, string_agg(quote_ident(rolname), ', ') as roles
    from writer cross join sequence
    where not exists (
      select from already where already.oid = sequence.oid and already.grantee = writer.oid)
    group by nspname, relname
  loop
    execute format('grant usage on sequence %I.%I to %s', given.nspname, given.relname, given.roles);
  end loop;
end
$$;

create function cartage.follow_tables() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  changed oid;
begin
  if not exists (select from cartage.grants) then
    return;
  end if;
  begin
    for changed in
      with command as (select classid, objid from pg_event_trigger_ddl_commands())
      select objid from command where classid = 'pg_class'::regclass
      union
      -- A sequence that a column got, by itself or with the column.
      select refobjid from command join pg_depend using (classid, objid)
      where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and deptype in ('a', 'i')
      union
      select relation from command join pg_class on relnamespace = objid join cartage.grants on relation = oid
      where classid = 'pg_namespace'::regclass
    loop
      perform cartage.follow_table(changed);
    end loop;
  exception when others then
    raise warning 'the grants of API keys were not put back: %', sqlerrm;
  end;
end
$$;

create event trigger cartage_follow_tables on ddl_command_end
  when tag in (
    'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW',
    'CREATE FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA', 'CREATE SCHEMA', 'CREATE SEQUENCE',
    'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER SCHEMA', 'ALTER SEQUENCE',
    -- Renames tables too.
    'ALTER INDEX')
  execute function cartage.follow_tables();

-- What a tenant revokes stays revoked when the table is made again.
create function cartage.forget_revoked() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from cartage.roles where role_name = session_user)
    or not exists (select from cartage.grants) then
    return;
  end if;
  begin
    with held as materialized (
      select class.oid as relation, role.rolname as role_name, array_agg(acl.privilege) as permissions
      from pg_class class
      cross join lateral cartage.privileges(coalesce(class.relacl, acldefault('r', class.relowner))) acl
      join pg_authid role on role.oid = acl.grantee
      where class.oid in (select relation from cartage.grants)
      group by class.oid, role.rolname
    )
    update cartage.grants intent
    set permissions = array(
      select permission from unnest(intent.permissions) permission where permission = any (held.permissions))
    from cartage.grants bound
    join pg_class class on class.oid = bound.relation
    left join held on held.relation = bound.relation and held.role_name = bound.role_name
    where intent.id = bound.id and not intent.permissions <@ coalesce(held.permissions, '{}');
  exception when others then
    raise warning 'API keys may get back what was revoked here: %', sqlerrm;
  end;
end
$$;

create event trigger cartage_forget_revoked on ddl_command_end
  when tag in ('REVOKE')
  execute function cartage.forget_revoked();
