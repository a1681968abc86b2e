-- Removing a key. First goes what it may do with the objects of others: by itself, object by object, so that none holds
-- up the rest. Its own objects follow when nobody holds them.

-- Takes every privilege that a role has on objects it does not own, and answers how many objects were busy. To revoke is
-- to change the object's row in the catalog; whoever is changing that in a transaction is ended by the caller.
create function cartage.take_grants(leaving text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
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
    end;
  end loop;
  return busy;
end
$$;

-- A key that is deleted leaves its objects to the user. Nothing of its making may then read with the user's rights: its
-- views read with those of whoever asks, and grants on what holds a query are not given again.
create or replace function cartage.hand_over(leaving text, heir text) returns void
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
    from cartage.grants where relation = any (inherited)
    group by relation, permissions
  loop
    perform cartage.grant_table(given.roles, given.relation, given.permissions);
  end loop;
end
$$;

drop function cartage.disarm(oid);
drop function cartage.calls_code_of(oid, oid, oid);

-- Whose turn it is to be checked at commit. The row of the account itself stays free: a tenant can hold its turn for as
-- long as a transaction lasts, and the operator changes the quota meanwhile.
create table cartage.commit_turns (
  username text primary key references cartage.accounts on delete cascade
);

create or replace function cartage.check_quota_at_commit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from cartage.commit_checks where transaction = new.transaction and username = new.username;
  insert into cartage.commit_turns values (new.username) on conflict do nothing;
  perform from cartage.commit_turns where username = new.username for no key update;
  perform cartage.quota_left(new.username);
  return null;
end
$$;
