-- Functions of PostgreSQL and PostGIS that tenants cannot be left, and what is closed in a shared database.

-- A large object belongs to nobody's quota, so only master roles may make one (granted with the account).
revoke execute on function
  pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid), pg_catalog.lo_from_bytea(oid, bytea)
  from public;
do $$
declare
  routine regprocedure;
begin
  for routine in
    select oid from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and (
        -- Run SQL given as text, which would make an expression into code of any kind.
        proname ~ '^(query|cursor|table|schema|database)_to_xml' or proname = 'ts_stat'
        or proname = 'ts_rewrite' and pronargs = 2
        -- Tell of sessions, or end them. Whoever has no key logs in as the public role: what a role may do to its own
        -- sessions, one stranger could do to another. Master roles are given some of these.
        or proname in ('pg_cancel_backend', 'pg_terminate_backend', 'pg_lock_status', 'pg_blocking_pids',
          'pg_safe_snapshot_blocking_pids', 'pg_isolation_test_session_is_blocked', 'pg_prepared_xact',
          'pg_get_replication_slots')
        or proname ~ '^pg_stat_get_(activity|backend_|progress_|wal_senders|wal_receiver|subscription|replication_slot)'
        -- Tell how busy the databases of others are.
        or proname ~ '^pg_stat_get_db_'
        -- Lie in memory that the whole cluster shares, and know no limit. Master roles are given those of use to jobs.
        or proname ~ '^pg_(try_)?advisory_'
        -- Writes to the log of the whole cluster without a table.
        or proname = 'pg_logical_emit_message')
      -- Tell of the data of a table by its statistics, and ask nobody for permission.
      or pronamespace = 'postgis'::regnamespace
      and proname in ('_postgis_stats', '_postgis_selectivity', '_postgis_join_selectivity', '_postgis_index_extent',
        'st_estimatedextent', 'st_findextent')
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
end
$$;

-- Members of an organization do not read each other's code. (Their own stands in information_schema.routines.)
create function cartage.hide_code() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not has_table_privilege('public', 'pg_proc', 'select') then
    return;
  end if;
  revoke select on pg_proc from public;
  execute (
    select format('grant select (%s) on pg_proc to public', string_agg(quote_ident(attname), ', '))
    from pg_attribute
    where attrelid = 'pg_proc'::regclass and attnum > 0 and not attisdropped and attname not in ('prosrc', 'prosqlbody'));
  revoke execute on function pg_get_functiondef(oid), pg_get_function_sqlbody(oid) from public;
end
$$;
