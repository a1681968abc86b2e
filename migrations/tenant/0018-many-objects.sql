-- What a transaction drops or hands over, it locks; and a transaction that takes all locks there are fails those of every
-- account of the cluster. A tenant can have any number of objects, so what goes with a member or a key goes in steps.

-- How many objects a transaction may lock, about.
create function cartage.step_objects() returns integer
language sql immutable set search_path = pg_catalog, pg_temp return 2000;

-- An object with what belongs to it or stands on it.
create function cartage.weight_of(catalog oid, object oid) returns bigint
language sql stable set search_path = pg_catalog, pg_temp
return (select 1 + count(*) from pg_depend where refclassid = catalog and refobjid = object);

-- What the roles own in this database.
create function cartage.owned_by(owners oid[], out catalog oid, out object oid) returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  select classid, objid
  from pg_shdepend
  where refclassid = 'pg_authid'::regclass and refobjid = any (owners) and deptype = 'o' and objsubid = 0
    and dbid = (select oid from pg_database where datname = current_database())
    and classid not in ('pg_namespace'::regclass, 'pg_default_acl'::regclass)
$$;

-- The views, partitions and heirs of a relation.
create function cartage.stand_on(relation oid) returns setof oid
language sql stable set search_path = pg_catalog, pg_temp as $$
  select ev_class from pg_depend join pg_rewrite on pg_rewrite.oid = objid
  where refclassid = 'pg_class'::regclass and refobjid = relation and classid = 'pg_rewrite'::regclass
    and ev_class <> relation and rulename = '_RETURN'
  union
  select inhrelid from pg_inherits where inhparent = relation
$$;

-- The commands of one step: large objects first, then single parts of relations that have too many, then relations that
-- nothing stands on, then all other objects.
create function cartage.next_drops(owners oid[]) returns setof text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  most constant integer := cartage.step_objects();
begin
  return query
    select format('select count(lo_unlink(number)) from unnest(%L::oid[]) number', array_agg(oid))
    from (select oid from pg_largeobject_metadata where lomowner = any (owners) limit most) large
    having count(*) > 0;
  if found then
    return;
  end if;
  return query
    select case part.classid
        when 'pg_constraint'::regclass then
          format('alter table %s drop constraint %I cascade', conrelid::regclass, conname)
        else format('drop %s %s cascade', type, identity)
      end
    from (
      select refobjid as relation from pg_depend join pg_class on pg_class.oid = refobjid
      where refclassid = 'pg_class'::regclass and relowner = any (owners)
      group by refobjid having count(*) >= most
    ) heavy
    join pg_depend part on refclassid = 'pg_class'::regclass and refobjid = relation and deptype in ('a', 'n')
    left join pg_constraint on classid = 'pg_constraint'::regclass and pg_constraint.oid = objid
    left join pg_trigger on classid = 'pg_trigger'::regclass and pg_trigger.oid = objid
    left join pg_rewrite on classid = 'pg_rewrite'::regclass and pg_rewrite.oid = objid
    cross join lateral pg_identify_object(classid, objid, 0)
    where classid = 'pg_policy'::regclass or conrelid <> 0 and coninhcount = 0
      or not tgisinternal and tgparentid = 0 or rulename <> '_RETURN' or type = 'index'
    limit most / 2;
  if found then
    return;
  end if;
  return query
    select drops from cartage.drops_of_relations(array(
      select object from cartage.owned_by(owners)
      where catalog = 'pg_class'::regclass and not exists (select from cartage.stand_on(object))
      limit most / 4)) drops;
  if found then
    return;
  end if;
  -- What is left has views or heirs that are others'.
  return query
    with recursive relation (oid) as (
      select object from cartage.owned_by(owners) where catalog = 'pg_class'::regclass
      union
      select standing from relation, cartage.stand_on(relation.oid) standing
    )
    select drops from cartage.drops_of_relations(array(
      select oid from relation where not exists (select from cartage.stand_on(relation.oid)) limit most / 4)) drops;
  if found then
    return;
  end if;
  return query
    select format('drop %s %s cascade', replace(type, 'statistics object', 'statistics'), identity)
    from (select * from cartage.owned_by(owners) limit most / 4) other
    cross join lateral pg_identify_object(catalog, object, 0);
end
$$;

-- Of these relations as many as one transaction can drop.
create function cartage.drops_of_relations(relations oid[]) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select format('drop %s %s cascade', type, identity)
  from (
    select relation, weight, sum(weight) over (rows unbounded preceding) as total
    from unnest(relations) relation, cartage.weight_of('pg_class'::regclass, relation) weight
  ) counted
  cross join lateral pg_identify_object('pg_class'::regclass, relation, 0)
  where total - weight < cartage.step_objects()
$$;

-- The policies that name one of the roles, in whoever's tables, as the commands after which they do not.
create function cartage.policies_without(leaving oid[]) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(
    format('alter policy %I on %s to ', polname, polrelid::regclass) || (
      select string_agg(case role when 0 then 'public' else quote_ident(pg_get_userbyid(role)) end, ', ')
      from unnest(polroles) role where role <> all (leaving)),
    format('drop policy %I on %s', polname, polrelid::regclass))
  from pg_shdepend join pg_policy on pg_policy.oid = objid
  where refclassid = 'pg_authid'::regclass and refobjid = any (leaving) and classid = 'pg_policy'::regclass
    and dbid = (select oid from pg_database where datname = current_database())
  limit cartage.step_objects()
$$;

-- Drops some of what the roles own, or takes them out of some policies, if it is too much for one transaction; false when
-- it is not, or no more.
create function cartage.drop_some(leaving text[]) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owners constant oid[] := array(select oid from pg_authid where rolname = any (leaving));
  most constant integer := cartage.step_objects();
  commands text[] := array(select cartage.policies_without(owners));
  command text;
  has_dropped boolean := false;
begin
  if cardinality(commands) < most then
    if (select coalesce(sum(cartage.weight_of(catalog, object)), 0) <= most
        from (select * from cartage.owned_by(owners) limit most + 1) owned) then
      return false;
    end if;
    commands := array(select cartage.next_drops(owners));
  end if;
  foreach command in array commands loop
    begin
      execute command;
      has_dropped := true;
    exception when undefined_table or undefined_object or undefined_function or dependent_objects_still_exist then
      null;  -- It went with another one, or will.
    end;
  end loop;
  return has_dropped;
end
$$;

-- What of a relation calls code of a key, or does more than compute, as the command that takes it away.
create function cartage.code_of(relation oid) returns setof text
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
$$;

-- The relations of a role that can change hands by themselves: as many as one transaction can hand over.
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
        order by oid limit cartage.step_objects() / 4
      ) chosen
      cross join lateral cartage.weight_of('pg_class'::regclass, oid) weight
    ) counted
    where total - weight < cartage.step_objects())
$$;

-- As hand_over does, but with these relations alone.
create function cartage.hand_over_relations(owner oid, heir text, relations oid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  has_invoker_views constant boolean := current_setting('server_version_num')::integer >= 150000;
  command text;
  given record;
begin
  for command in select distinct removal from unnest(relations) relation, cartage.code_of(relation) removal loop
    begin
      execute command;
    exception when undefined_object or undefined_table then
      null;  -- It went with another one.
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
  -- What the user granted to other keys on these tables was not the leaving key's to give.
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

-- Hands over some of what a key leaves to the user; false when that was all.
create function cartage.hand_over_some(leaving text, heir text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner constant oid := to_regrole(quote_ident(leaving));
  relations oid[];
begin
  if cartage.judge_unwatched(leaving) > 0 then
    return true;
  end if;
  relations := cartage.next_relations(owner);
  if exists (
    select from pg_class
    where relowner = owner and relkind in ('r', 'p', 'v', 'm', 'f') and oid <> all (relations))
  then
    perform cartage.hand_over_relations(owner, heir, relations);
    return true;
  end if;
  perform cartage.hand_over(leaving, heir);
  return false;
end
$$;
