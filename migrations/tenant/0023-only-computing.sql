-- What an attack has found: functions that were taken for mere computing, names that a key could take, and what strangers
-- could hold or read.

-- May whoever evaluates an expression call this function without knowing? It is the operator's, and does nothing but
-- compute. Not one in plpgsql: some of PostGIS put their arguments into SQL, and some change tables although they say that
-- they are stable.
create or replace function cartodb._CDB_IsHarmless(function oid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce((
    select case nspname
      when 'cartodb' then proname = any ('{cdb_transformtowebmercator,cdb_latlng}') or prorettype = 'trigger'::regtype
      when 'postgis' then lanname in ('internal', 'c', 'sql') and proname !~ 'postgis|extent$|^(_st_|st_)?estimated'
        and (provolatile <> 'v' or proname = any ('{st_generatepoints,st_clusterkmeans,st_symmetricdifference}'))
        or lanname in ('internal', 'c', 'sql') and proname in ('st_extent', 'st_3dextent')
      when 'pg_catalog' then (provolatile <> 'v' or proname = any ('{
          nextval,currval,lastval,random,gen_random_uuid,clock_timestamp,timeofday,
          pg_relation_size,pg_table_size,pg_indexes_size,pg_total_relation_size,pg_database_size}'))
        and proname !~ '_to_xml|^ts_(stat|rewrite)$'
    end
    from pg_proc
    join pg_namespace on pg_namespace.oid = pronamespace
    join pg_language on pg_language.oid = prolang
    where pg_proc.oid = function), false)
$$;

select cartage.remove_code(oid) from pg_authid where cartodb._CDB_KeyType(rolname) <> 'master';

-- Whoever has no key creates nothing, and has nothing to give: a GRANT that does nothing still holds its object.
create or replace function cartage.check_command() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  for_keys constant text[] := '{
    CREATE TABLE,CREATE TABLE AS,SELECT INTO,CREATE VIEW,CREATE MATERIALIZED VIEW,REFRESH MATERIALIZED VIEW,
    CREATE SEQUENCE,CREATE INDEX,CREATE TRIGGER,ALTER TABLE,ALTER VIEW,ALTER MATERIALIZED VIEW,ALTER SEQUENCE,
    ALTER INDEX,COMMENT,GRANT,REVOKE}';
  key_type constant text := cartodb._CDB_KeyType(current_user);
begin
  if key_type = 'default' and tg_tag in ('GRANT', 'REVOKE', 'COMMENT') then
    raise exception 'permission denied: % needs a key', tg_tag using errcode = 'insufficient_privilege';
  elsif tg_tag = any (for_keys) or tg_tag ~ '^DROP ' and tg_tag <> 'DROP OWNED' then
    return;
  elsif key_type is null or key_type = 'master' and tg_tag <> 'DROP OWNED' then
    return;
  elsif key_type = 'master' then
    raise exception '% is not allowed', tg_tag using errcode = 'insufficient_privilege';
  end if;
  raise exception 'an API key creates data, not code: % is not allowed', tg_tag
    using errcode = 'insufficient_privilege', hint = 'Use the master key.';
end
$$;

-- A table is a type as well, and comes before those of PostGIS in the search path of others.
create function cartage.check_name() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  taken name;
begin
  if coalesce(cartodb._CDB_KeyType(current_user), 'master') = 'master' then
    return;
  end if;
  select relname into taken
  from pg_event_trigger_ddl_commands() made join pg_class on made.classid = 'pg_class'::regclass and pg_class.oid = made.objid
  where exists (
      select from pg_type where typname = relname and typnamespace in ('postgis'::regnamespace, 'cartodb'::regnamespace))
    or exists (
      select from pg_class ours where ours.relname = pg_class.relname
        and ours.relnamespace in ('postgis'::regnamespace, 'cartodb'::regnamespace));
  if found then
    raise exception 'the name "%" belongs to PostGIS or to the service', taken
      using errcode = 'insufficient_privilege', hint = 'Choose another name.';
  end if;
end
$$;

create event trigger cartage_check_name on ddl_command_end
  when tag in (
    'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW', 'CREATE SEQUENCE',
    'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER SEQUENCE')
  execute function cartage.check_name();

-- A trusted extension is installed by the operator's rights: not among our own names.
create function cartage.check_extension() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_KeyType(current_user) is not null and exists (
    select from pg_extension
    where extnamespace::regnamespace::text in ('cartage', 'cartodb', 'postgis', 'pg_catalog', 'information_schema')
      and extname not in ('postgis', 'plpgsql'))
  then
    raise exception 'an extension does not go into a schema of the service' using errcode = 'insufficient_privilege',
      hint = 'Install it into a schema of your own: CREATE EXTENSION ... SCHEMA ...';
  end if;
end
$$;

create event trigger cartage_check_extension on ddl_command_end
  when tag in ('CREATE EXTENSION', 'ALTER EXTENSION')
  execute function cartage.check_extension();

-- Advisory locks lie in memory that the whole cluster shares, and know no limit: for masters only, as far as they are of
-- use to jobs. What tells of the data
-- of a table by its statistics asks nobody for permission: for nobody.
do $$
declare
  routine regprocedure;
  account record;
begin
  for routine in
    select oid from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and proname ~ '^pg_(try_)?advisory_'
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
  for account in select master_role from cartage.accounts loop
    execute format(
      'grant execute on function pg_advisory_lock(bigint), pg_advisory_lock(integer, integer),
         pg_advisory_unlock(bigint), pg_advisory_unlock(integer, integer),
         pg_advisory_xact_lock(bigint), pg_advisory_xact_lock(integer, integer),
         pg_try_advisory_xact_lock(bigint), pg_try_advisory_xact_lock(integer, integer) to %I',
      account.master_role);
  end loop;
  for routine in
    select oid from pg_proc
    where pronamespace = 'postgis'::regnamespace
      and proname in ('_postgis_stats', '_postgis_selectivity', '_postgis_join_selectivity', '_postgis_index_extent',
        'st_estimatedextent', 'st_findextent')
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
  -- What writes to the log of the whole cluster without a table.
  for routine in
    select oid from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proname = 'pg_logical_emit_message'
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
end
$$;
