-- A key that is deleted leaves its objects to the user, but nothing of its making may then run with the user's
-- rights: neither code that runs as its owner, nor access that was given away.
create function cartage.hand_over(leaving text, heir text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner constant oid := to_regrole(quote_ident(leaving));
  inherited constant oid[] := array(select oid from pg_class where relowner = owner);
  given record;
begin
  perform cartage.disarm(owner);
  perform cartage.withdraw_grants(owner);
  execute format('reassign owned by %I to %I', leaving, heir);
  execute format('drop owned by %I', leaving);
  delete from cartage.roles where role_name = leaving;
  -- What the user granted to other keys on these tables was not the leaving key's to give.
  for given in
    select relation, permissions, array_agg(distinct role_name) as roles
    from cartage.grants where relation = any (inherited)
    group by relation, permissions
  loop
    perform cartage.grant_table(given.roles, given.relation, given.permissions);
  end loop;
end
$$;

-- Code that PostgreSQL would run as the owner: SECURITY DEFINER routines, views, rules, and expressions of indexes
-- and statistics (autovacuum evaluates them).
create function cartage.disarm(owner oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  command text;
begin
  for command in
    select format('alter routine %s security invoker', oid::regprocedure)
    from pg_proc where proowner = owner and prosecdef
    union all
    select format('alter view %s set (security_invoker = true)', oid::regclass)
    from pg_class where relowner = owner and relkind = 'v' and current_setting('server_version_num')::integer >= 150000
    union all
    select format('drop rule %I on %s', rulename, ev_class::regclass)
    from pg_rewrite join pg_class on pg_class.oid = ev_class
    where relowner = owner and rulename <> '_RETURN'
    union all
    select distinct format('drop statistics %I.%I', nspname, stxname)
    from pg_statistic_ext statistic
    join pg_class on pg_class.oid = stxrelid
    join pg_namespace on pg_namespace.oid = stxnamespace
    where relowner = owner and cartage.calls_code_of(owner, 'pg_statistic_ext'::regclass, statistic.oid)
    union all
    select case when conname is null then format('drop index %s', index.oid::regclass)
      else format('alter table %s drop constraint %I', indrelid::regclass, conname) end
    from pg_index
    join pg_class index on index.oid = indexrelid
    join pg_class class on class.oid = indrelid
    left join pg_constraint on conindid = indexrelid and conrelid = indrelid
    where class.relowner = owner and not index.relispartition
      and cartage.calls_code_of(owner, 'pg_class'::regclass, indexrelid)
  loop
    execute command;
  end loop;
end
$$;

create function cartage.calls_code_of(owner oid, class oid, object oid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from pg_depend used
    left join pg_operator on used.refclassid = 'pg_operator'::regclass and pg_operator.oid = used.refobjid
    join pg_proc on pg_proc.oid = case used.refclassid when 'pg_proc'::regclass then used.refobjid else oprcode end
    where used.classid = class and used.objid = object and proowner = owner)
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
