-- What the master key of an account may see of PostgreSQL's own views on sessions: the sessions of that account.
--
-- The views of these names in pg_catalog are closed, because they show the sessions of everybody. Functions have names of their
-- own, so pg_locks() is found here while pg_locks is still the view.

-- The sessions of the account that is calling: those of its master role, its public role and its keys.
create function cartage.own_pids() returns integer[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_KeyType(session_user) is distinct from 'master' then
    raise exception 'only the master key sees the sessions of its account' using errcode = 'insufficient_privilege';
  end if;
  -- To read the locks, PostgreSQL stops all who want one for a moment. A loop must not do that without a pause.
  perform pg_sleep(0.01);
  return array(
    select activity.pid
    from pg_stat_activity activity join cartage.roles role on role.role_name = activity.usename::text collate "C"
    where role.username = cartodb.CDB_Username() and activity.datname = current_database());
end
$$;

-- The row type is that of the view, so each version of PostgreSQL has its own columns.
do $$
declare
  view name;
begin
  for view in
    select relname from pg_class
    where relnamespace = 'pg_catalog'::regnamespace and relkind = 'v'
      and (relname in ('pg_stat_activity', 'pg_locks')
        or relname ~ '^pg_stat_progress_' and relname <> 'pg_stat_progress_basebackup')
  loop
    execute format(
      'create function cartodb.%1$I() returns setof pg_catalog.%1$I
       language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
       declare
         own constant integer[] := cartage.own_pids();
       begin
         return query select seen.* from pg_catalog.%1$I seen where seen.pid = any (own);
       end
       $body$', view);
  end loop;
end
$$;
