-- Removing a key. First goes what it may do with the objects of others: by itself, object by object, so that none holds
-- up the rest. Its own objects follow when nobody holds them.

-- Takes every privilege that a role has on objects it does not own, and answers how many objects were busy. Many that are
-- held take no longer than a few.
create function cartage.take_grants(leaving text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  role constant oid := to_regrole(quote_ident(leaving));
  command text;
  busy integer := 0;
begin
  perform cartage.compress_quickly();
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
    -- What was dropped meanwhile needs nothing; what was renamed is left to DROP OWNED.
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

-- Code that a role made while keys still could: expressions on its relations that call functions of a key, or that do
-- more than compute, are dropped, and so are rules, which run as the owner of the table, and its routines. A routine that something else stands on fails from now on.
create function cartage.remove_code(owner oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  command text;
  routine record;
begin
  for command in
    select distinct removal
    from pg_class class, cartodb._CDB_Expressions(class.oid)
    where class.relowner = owner and removal is not null
      and (place ~ '^rule ' or exists (
        select from cartodb._CDB_Calls(tree) call
        join pg_proc on pg_proc.oid = call
        join pg_namespace on pg_namespace.oid = pronamespace
        where case
          when nspname in ('pg_catalog', 'postgis', 'cartodb') then not cartodb._CDB_IsHarmless(call)
          else coalesce(cartodb._CDB_KeyType(pg_get_userbyid(proowner)), 'master') <> 'master'
        end))
  loop
    begin
      execute command;
    exception when undefined_object or undefined_table then
      null;  -- It went with another one.
    end;
  end loop;
  for command in
    select format('alter domain %s drop constraint %I', contypid::regtype, conname)
    from pg_constraint join pg_type on pg_type.oid = contypid
    where typowner = owner
  loop
    -- In a block that catches: ALTER DOMAIN leaves messages to caches behind, with which no later block could begin.
    begin
      execute command;
    exception when undefined_object then
      null;
    end;
  end loop;
  for routine in
    select oid, oid::regprocedure as name, case prokind when 'p' then 'procedure' else 'function' end as kind,
      format('%s.%I', pronamespace::regnamespace, proname) as place
    from pg_proc where proowner = owner and prokind <> 'a'
  loop
    begin
      execute format('drop routine %s', routine.name);
    exception when dependent_objects_still_exist then
      execute format('create or replace %s %s(%s) %s language plpgsql as %L', routine.kind, routine.place,
        pg_get_function_arguments(routine.oid), 'returns ' || pg_get_function_result(routine.oid),
        $body$begin raise exception 'this function was made by an API key, which creates data, not code'; end$body$);
    end;
  end loop;
end
$$;

-- Grants on its objects that the owner gave to others. EXECUTE and USAGE that PUBLIC has on routines and types by
-- itself give nothing of the user's away, and stay.
create function cartage.withdraw_grants(owner oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  command text;
begin
  for command in
    select format('revoke all on %s %s from %s cascade', kind, object,
      string_agg(distinct coalesce(quote_ident(rolname), 'public'), ', '))
    from (
      select case relkind when 'S' then 'sequence' else 'table' end as kind, oid::regclass::text as object, grantee
      from pg_class, cartage.privileges(relacl) where relowner = owner
      union all
      select 'table', attrelid::regclass::text, grantee
      from pg_attribute join pg_class on pg_class.oid = attrelid, cartage.privileges(attacl) where relowner = owner
      union all
      select 'schema', quote_ident(nspname), grantee from pg_namespace, cartage.privileges(nspacl) where nspowner = owner
      union all
      select 'routine', oid::regprocedure::text, grantee
      from pg_proc, cartage.privileges(proacl) where proowner = owner and grantee <> 0
      union all
      select 'type', oid::regtype::text, grantee
      from pg_type, cartage.privileges(typacl) where typowner = owner and grantee <> 0
    ) given
    left join pg_authid on pg_authid.oid = grantee
    where grantee <> owner
    group by kind, object
  loop
    execute command;
  end loop;
end
$$;

-- A key that is deleted leaves its objects to the user. Nothing of its making may then read with the user's rights: its
-- views read with those of whoever asks, and grants on what holds a query are not given again.
create function cartage.hand_over(leaving text, heir text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner constant oid := to_regrole(quote_ident(leaving));
  has_invoker_views constant boolean := current_setting('server_version_num')::integer >= 150000;
  inherited constant oid[] := array(
    select oid from pg_class
    where relowner = owner and (relkind in ('r', 'p', 'f') or relkind = 'v' and has_invoker_views));
  command text;
  given record;
begin
  while cartage.judge_unwatched(leaving) > 0 loop
  end loop;
  perform cartage.remove_code(owner);
  for command in
    select format('alter view %s set (security_invoker = true)', oid::regclass)
    from pg_class where relowner = owner and relkind = 'v' and has_invoker_views
  loop
    execute command;
  end loop;
  perform cartage.withdraw_grants(owner);
  execute format('reassign owned by %I to %I', leaving, heir);
  execute format('drop owned by %I', leaving);
  delete from cartage.roles where role_name = leaving;
  -- What the user granted to other keys on these tables was not the leaving key's to give.
  for given in
    select relation, permissions, array_agg(distinct role_name) as roles
    from cartage.grants join cartage.roles using (role_name)
    where relation = any (inherited) and permissions <@ cartage.permissions_held(username, relation, permissions)
    group by relation, permissions
  loop
    perform cartage.grant_table(given.roles, given.relation, given.permissions);
  end loop;
end
$$;
