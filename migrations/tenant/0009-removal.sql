-- Removing keys and accounts.
--
-- A transaction locks what it drops or hands over. A tenant can have any number of objects, and a transaction that takes all locks
-- of the cluster fails those of every account. So what goes with a key or a member goes in steps, one transaction each.

-- About how many objects one transaction may lock.
create function cartage.objects_per_step() returns integer
language sql immutable set search_path = pg_catalog, pg_temp return 2000;

-- The grants of a key on objects of others go first, one object at a time, so that a locked object does not hold up the rest.

-- Revokes every privilege that a role has on objects it does not own, and returns how many objects were busy. Many busy objects
-- take no longer than a few.
create function cartage.revoke_all_grants(leaving text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  role constant oid := to_regrole(quote_ident(leaving));
  command text;
  busy integer := 0;
begin
  perform cartage.compress_with_lz4();
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

-- Dropping what a member owns, whatever kinds of objects there are and however they depend on each other. PostgreSQL drops an
-- object by its address: a step makes the chosen objects depend on a domain, and drops the domain with CASCADE. So no kind of
-- object needs a command of its own.

-- An object, or with a part other than 0 a column of one.
create type cartage.address as (catalog oid, object oid, part integer);

-- What the roles own in this database. (Without settings of its own, so that it is inlined into the query that uses it.)
create function cartage.owned_by(owners oid[]) returns setof cartage.address
language sql stable begin atomic
  select classid, objid, objsubid
  from pg_shdepend
  where refclassid = 'pg_authid'::regclass and refobjid = any (owners) and deptype = 'o'
    and dbid = (select oid from pg_database where datname = current_database());
end;

-- What PostgreSQL drops with these objects, themselves included, nearest first: all that depends on them, and if one is an
-- internal part of another object, that object. At most `most` rows. (In PL/pgSQL, which keeps plans.)
create function cartage.dropped_with(start cartage.address[], most integer) returns setof cartage.address
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set jit = off as $$
begin
  return query
    with recursive falling (catalog, object, part) as (
      select * from unnest(start)
      union
      select next.*
      from falling
      cross join lateral (
        select classid, objid, objsubid from pg_depend
        where refclassid = falling.catalog and refobjid = falling.object and falling.part in (0, refobjsubid)
        union all
        select refclassid, refobjid, refobjsubid from pg_depend
        where classid = falling.catalog and objid = falling.object and falling.part in (0, objsubid)
          and deptype in ('i', 'e')
      ) next
    )
    select * from falling limit most;
end
$$;

-- Whether an object can be dropped by itself: it is no internal part of another, and no index or trigger of a partition.
create function cartage.can_be_dropped_alone(this cartage.address) returns boolean
language sql stable
return not exists (
  select from pg_depend
  where classid = this.catalog and objid = this.object and objsubid = this.part and deptype in ('i', 'e', 'P', 'S'));

-- Whether nothing depends on an object, not even a part of its own.
create function cartage.has_no_dependents(this cartage.address) returns boolean
language sql stable
return not exists (select from pg_depend where refclassid = this.catalog and refobjid = this.object);

-- The domain that views and functions depend on after cut_dependencies. It belongs to one of the leaving roles, and goes last.
create function cartage.leaving_domain(owners oid[]) returns oid
language sql stable set search_path = pg_catalog, pg_temp
return to_regtype(format('cartage.leaving_%s', owners[1]));

create function cartage.make_leaving_domain(owners oid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cartage.leaving_domain(owners) is null then
    execute format('create domain cartage.leaving_%s as integer', owners[1]);
    execute format('alter domain cartage.leaving_%s owner to %I', owners[1], pg_get_userbyid(owners[1]));
  end if;
end
$$;

-- Makes views and functions depend on that domain instead of on those of `going` that their query or body names. Only such
-- dependencies can form a circle, since only views and functions can be replaced. They can still be dropped when what they
-- name is gone. (The types of the arguments of a function have to stay.) Also takes apart what could only go as a whole,
-- however large: a foreign key to a table with partitions, and an extension to which the leaving roles added objects.
create function cartage.cut_dependencies(owners oid[], going cartage.address[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  loose constant tid[] := array(
    select ctid from pg_depend
    where (refclassid, refobjid) in (select catalog, object from unnest(going)) and deptype = 'n'
      and refobjid is distinct from cartage.leaving_domain(owners)
      and (classid = 'pg_rewrite'::regclass and exists (
          select from pg_rewrite where pg_rewrite.oid = objid and rulename = '_RETURN' and ev_class <> refobjid)
        or classid = 'pg_proc'::regclass and refclassid <> 'pg_namespace'::regclass and not exists (
          select from pg_proc where pg_proc.oid = objid and refclassid = 'pg_type'::regclass
            and (refobjid = prorettype or refobjid = any (proargtypes) or refobjid = any (proallargtypes)))));
begin
  if cardinality(loose) > 0 then
    perform cartage.make_leaving_domain(owners);
    update pg_depend set refclassid = 'pg_type'::regclass, refobjid = cartage.leaving_domain(owners), refobjsubid = 0
    where ctid = any (loose);
  end if;
  delete from pg_depend
  where (refclassid, refobjid) in (select catalog, object from unnest(going))
    and (classid = 'pg_constraint'::regclass and refclassid = 'pg_constraint'::regclass and deptype = 'i'
      or deptype = 'e' and (classid, objid) in (select catalog, object from cartage.owned_by(owners)));
end
$$;

-- Some of what goes with the roles: together at most what one step may lock.
create function cartage.next_to_drop(owners oid[]) returns setof cartage.address
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  most constant integer := cartage.objects_per_step();
  room integer := most;
  candidates cartage.address[];
  candidate cartage.address;
  falling cartage.address[];
  too_many cartage.address[];
  heavy integer;
begin
  return query
    select * from cartage.owned_by(owners) owned
    where cartage.has_no_dependents(owned) and cartage.can_be_dropped_alone(owned) limit most;
  if found then
    return;
  end if;
  candidates := array(
    select owned from cartage.owned_by(owners) owned where cartage.can_be_dropped_alone(owned) limit most);
  for turn in 1 .. 1000 loop
    heavy := 0;
    foreach candidate in array candidates loop
      falling := array(select falls from cartage.dropped_with(array[candidate], most + 1) falls);
      if cardinality(falling) <= room then
        room := room - cardinality(falling);
        return next candidate;
      elsif cardinality(falling) <= most then
        exit;
      else
        heavy := heavy + 1;
        if heavy = 1 then
          too_many := falling;
        end if;
        exit when heavy = 5;
      end if;
    end loop;
    exit when room < most or heavy = 0;
    -- What is farthest from the object with too many dependents can be dropped first.
    perform cartage.cut_dependencies(owners, too_many);
    candidates := array(
      select (catalog, object, part)::cartage.address
      from unnest(too_many) with ordinality as falls (catalog, object, part, number)
      where cartage.can_be_dropped_alone((catalog, object, part)::cartage.address) order by number desc);
  end loop;
end
$$;

-- The commands that take the roles out of policies, on tables of any owner.
create function cartage.policy_removals(leaving oid[]) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(
    format('alter policy %I on %s to ', polname, polrelid::regclass) || (
      select string_agg(case role when 0 then 'public' else quote_ident(pg_get_userbyid(role)) end, ', ')
      from unnest(polroles) role where role <> all (leaving)),
    format('drop policy %I on %s', polname, polrelid::regclass))
  from pg_shdepend join pg_policy on pg_policy.oid = objid
  where refclassid = 'pg_authid'::regclass and refobjid = any (leaving) and classid = 'pg_policy'::regclass
    and dbid = (select oid from pg_database where datname = current_database())
  limit cartage.objects_per_step()
$$;

-- Takes the roles out of some policies, or drops some of what they own, if all of it is too much for one transaction. False if
-- it is not, or not any more.
create function cartage.drop_some(leaving text[]) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set client_min_messages = 'warning' as $$
declare
  owners constant oid[] := array(select oid from pg_authid where rolname = any (leaving) order by oid);
  commands constant text[] := array(select cartage.policy_removals(owners));
  most constant integer := cartage.objects_per_step();
  command text;
  chosen bigint;
begin
  if cardinality(commands) >= most then
    foreach command in array commands loop
      execute command;
    end loop;
    return true;
  end if;
  -- Nothing depends on large objects, and there may be very many of them.
  if (select count(lo_unlink(oid)) = most
      from (select oid from pg_largeobject_metadata where lomowner = any (owners) limit most) large) then
    return true;
  end if;
  if (select count(*) <= most
      from cartage.dropped_with(array(select owned from cartage.owned_by(owners) owned limit most + 1), most + 1)) then
    return false;
  end if;
  create domain cartage.to_drop as integer;
  -- Looked up by its name in each step: the plan would keep the oid of the first domain.
  insert into pg_depend
  select catalog, object, part, 'pg_type'::regclass, to_regtype('cartage.to_drop'), 0, 'n' from cartage.next_to_drop(owners);
  get diagnostics chosen = row_count;
  drop domain cartage.to_drop cascade;
  return chosen > 0;
end
$$;

-- A deleted key leaves its objects to the user. Nothing that it made may then read with the rights of the user: its views read
-- with the rights of the reader, and grants on what holds a query are not given again.

-- The commands that remove what in a relation calls code of a key, does more than compute or belongs to another user.
create function cartage.code_removals(relation oid) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select removal
  from cartodb._CDB_Expressions(relation)
  where removal is not null and (place ~ '^rule ' or exists (
    select from cartodb._CDB_Calls(tree) call
    join pg_proc on pg_proc.oid = call
    join pg_namespace on pg_namespace.oid = pronamespace
    where case
      when nspname in ('pg_catalog', 'postgis', 'cartodb') then not cartodb._CDB_IsHarmless(call)
      else coalesce(cartodb._CDB_KeyType(pg_get_userbyid(proowner)), 'master') <> 'master'
    end))
  union all
  select removal
  from pg_class, cartodb._CDB_UsedOfOthers(relowner, relation)
  where pg_class.oid = relation and removal is not null
$$;

-- Removes code that a role owns: from its relations (rules too, which run as the owner of the table), from its domains, and its
-- routines. A routine that something else depends on stays, and fails from now on. (A key makes no code, but its user can give
-- it some.)
create function cartage.remove_code(owner oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  command text;
  routine record;
begin
  for command in
    select distinct removal from pg_class, cartage.code_removals(oid) removal where relowner = owner
  loop
    begin
      execute command;
    exception when undefined_object or undefined_table or undefined_column then
      null;  -- It was dropped with another one.
    end;
  end loop;
  for command in
    select format('alter domain %s drop constraint %I', contypid::regtype, conname)
    from pg_constraint join pg_type on pg_type.oid = contypid
    where typowner = owner
  loop
    -- In a block with an exception handler, as the others: without one, ALTER DOMAIN leaves invalidation messages behind, and no
    -- later such block could begin.
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

-- Revokes what the owner granted to others on its objects. EXECUTE and USAGE that PUBLIC has on routines and types by default
-- give nothing of the user's away, and stay.
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

-- Hands over all that is left of a key, and removes the key.
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
  while cartage.check_made_past_triggers(leaving) > 0 loop
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
  -- What the user granted to other keys on these tables stays in force.
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

-- An object counted together with what belongs to it or depends on it.
create function cartage.count_with_dependents(catalog oid, object oid) returns bigint
language sql stable set search_path = pg_catalog, pg_temp
return (select 1 + count(*) from pg_depend where refclassid = catalog and refobjid = object);

-- The relations of a role that can be handed over by themselves: as many as one transaction can take.
create function cartage.next_relations(owner oid) returns oid[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select array(
    select relation
    from (
      select oid as relation, weight, sum(weight) over (order by oid) as total
      from (
        select oid from pg_class
        where relowner = owner and (relkind in ('r', 'p', 'v', 'm', 'f') or relkind = 'S' and not exists (
          select from pg_depend
          where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype in ('a', 'i')))
        order by oid limit cartage.objects_per_step() / 4
      ) chosen
      cross join lateral cartage.count_with_dependents('pg_class'::regclass, oid) weight
    ) counted
    where total - weight < cartage.objects_per_step())
$$;

-- Does what hand_over does, for these relations only.
create function cartage.hand_over_relations(owner oid, heir text, relations oid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  has_invoker_views constant boolean := current_setting('server_version_num')::integer >= 150000;
  command text;
  given record;
begin
  for command in select distinct removal from unnest(relations) relation, cartage.code_removals(relation) removal loop
    begin
      execute command;
    exception when undefined_object or undefined_table then
      null;  -- It was dropped with another one.
    end;
  end loop;
  for command in
    with mine as (
      select oid, oid::regclass as name, relacl, relkind,
        case relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view' else 'table' end as kind
      from pg_class where oid = any (relations)
    ), holder as (
      select oid, grantee from mine, cartage.privileges(relacl)
      union
      select attrelid, grantee from mine join pg_attribute on attrelid = oid, cartage.privileges(attacl)
    )
    select unnest(array[
      case when relkind = 'v' and has_invoker_views then format('alter view %s set (security_invoker = true)', name) end,
      (select format('revoke all on %s %s from %s cascade', case relkind when 'S' then kind else 'table' end, name,
         string_agg(coalesce(quote_ident(rolname), 'public'), ', '))
       from holder left join pg_authid on pg_authid.oid = grantee
       where holder.oid = mine.oid and grantee <> owner
       having count(*) > 0),
      format('alter %s %s owner to %I', kind, name, heir)])
    from mine
  loop
    if command is not null then
      execute command;
    end if;
  end loop;
  -- What the user granted to other keys on these tables stays in force.
  for given in
    select relation, permissions, array_agg(distinct role_name) as roles
    from cartage.grants
    join cartage.roles using (role_name)
    join pg_class on pg_class.oid = relation
    where relation = any (relations) and (relkind in ('r', 'p', 'f') or relkind = 'v' and has_invoker_views)
      and role_name <> pg_get_userbyid(owner)
      and permissions <@ cartage.permissions_held(username, relation, permissions)
    group by relation, permissions
  loop
    perform cartage.grant_table(given.roles, given.relation, given.permissions);
  end loop;
end
$$;

-- Hands over some of what a key leaves to its user. False when that was all.
create function cartage.hand_over_some(leaving text, heir text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner constant oid := to_regrole(quote_ident(leaving));
  relations oid[];
begin
  if cartage.check_made_past_triggers(leaving) > 0 then
    return true;
  end if;
  relations := cartage.next_relations(owner);
  if exists (
    select from pg_class
    where relowner = owner and oid <> all (relations) and (relkind in ('r', 'p', 'v', 'm', 'f') or relkind = 'S'
      and cartage.can_be_dropped_alone(('pg_class'::regclass, oid, 0)::cartage.address) and not exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'a')))
  then
    perform cartage.hand_over_relations(owner, heir, relations);
    return true;
  end if;
  perform cartage.hand_over(leaving, heir);
  return false;
end
$$;
