-- Functions of PostgreSQL and PostGIS that tenants may not call, or only with checked arguments.
--
-- All functions that tenants can execute were reviewed: for paths, recursion without an end, state that DISCARD ALL leaves,
-- SQL given as text, and memory or time that a number chooses. test/hostile/functions has the list.

-- Closed functions. What master roles are given of them stands in src/accounts/tenant-roles.ts.

do $$
declare
  routine regprocedure;
begin
  for routine in
    select oid from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and (
        -- Make a large object, which no quota counts.
        proname in ('lo_creat', 'lo_create', 'lo_from_bytea')
        -- Run SQL given as text, which would make an expression into code of any kind.
        or proname ~ '^(query|cursor|table|schema|database)_to_xml' or proname = 'ts_stat'
        or proname = 'ts_rewrite' and pronargs = 2
        -- Tell of sessions, or end them. Callers without a key share the public role: what a role may do to its own sessions,
        -- one such caller could do to another.
        or proname in ('pg_cancel_backend', 'pg_terminate_backend', 'pg_lock_status', 'pg_blocking_pids',
          'pg_safe_snapshot_blocking_pids', 'pg_isolation_test_session_is_blocked', 'pg_prepared_xact',
          'pg_get_replication_slots')
        or proname ~ '^pg_stat_get_(activity|backend_|progress_|wal_senders|wal_receiver|subscription|replication_slot)'
        -- Tell how busy the databases of others are.
        or proname ~ '^pg_stat_get_db_'
        -- Take memory that the whole cluster shares, without a limit.
        or proname ~ '^pg_(try_)?advisory_'
        -- Writes to the log of the whole cluster without a table.
        or proname = 'pg_logical_emit_message'
        -- For pg_upgrade, for replication, for the log, for extensions' scripts: PostgreSQL refuses tenants inside them.
        or proname ~ '^binary_upgrade_' or proname ~ '_replication_slot' or proname ~ '^pg_(logical_slot|replication_slot)_'
        or proname in ('pg_read_file_old', 'pg_rotate_logfile_old', 'pg_import_system_collations', 'pg_nextoid',
          'pg_stop_making_pinned_objects', 'pg_extension_config_dump',
          -- Writes a file for each call.
          'pg_export_snapshot',
          -- Lock what they are given before they check whose it is, roles and databases too.
          'pg_get_object_address', 'gin_clean_pending_list', 'brin_summarize_new_values', 'brin_summarize_range',
          'brin_desummarize_range',
          -- Compare each point with each, and cannot be interrupted.
          'path_distance', 'path_inter', 'poly_same', 'poly_overlap', 'poly_contain', 'poly_contained', 'poly_distance',
          -- An expression of one line can take years, and cannot be interrupted.
          'xpath', 'xpath_exists', 'xmlexists'))
      or pronamespace = 'postgis'::regnamespace and (
        -- Tell of the data of a table by its statistics, without a check of privileges.
        proname in ('_postgis_stats', '_postgis_selectivity', '_postgis_join_selectivity', '_postgis_index_extent',
          'st_estimatedextent', 'st_findextent')
        -- Open any path that a text names: PROJ's +init, +nadgrids, +grids, +file.
        or proname ~ '^postgis_transform_' or proname ~ '^st_(inverse)?transformpipeline$'
        -- Read memory that is not theirs if the bytes are not FlatGeobuf.
        or proname ~ '^st_fromflatgeobuf'
        -- Run DDL for outdated features.
        or proname in ('postgis_extensions_upgrade', 'addauth', 'checkauth', 'checkauthtrigger', 'enablelongtransactions',
          'disablelongtransactions', 'longtransactionsenabled', 'gettransactionid', 'lockrow', 'unlockrows')
        -- Do the work of the checked functions below.
        or proname in ('_st_geomfromgml', '_st_voronoi', '_st_asx3d', '_st_asgml', 'geometry_typmod_in', 'geography_typmod_in'))
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
end
$$;

-- In a database of an organization, members do not read the code of each other's functions. Their own code is in
-- information_schema.routines.
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

-- Checked functions. Each is a function of the same name in schema `cartodb`, which comes before `postgis` in every search
-- path. It checks its arguments and calls PostGIS as the operator. (Some functions of PostGIS are SQL with plain names, so
-- `postgis` is in their search path.)

-- PostGIS reads TWKB by recursion without a limit. Each level takes a byte that ends in 7 and one below 32 after it, so there
-- are at most as many levels as such pairs. Only collections nest.
create function cartage.check_twkb(twkb bytea) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  -- A copy in memory: otherwise a stored value would be read from its table for each byte.
  bytes constant bytea := twkb || ''::bytea;
begin
  if length(bytes) < 3 * 1000 or get_byte(bytes, 0) & 15 <> 7 then
    return;
  end if;
  if (select count(*) from generate_series(0, length(bytes) - 2) at
      where get_byte(bytes, at) & 15 = 7 and get_byte(bytes, at + 1) < 32) > 1000 then
    raise exception 'this TWKB may be nested too deeply' using errcode = 'program_limit_exceeded',
      hint = 'Send its parts by themselves, or as WKB.';
  end if;
end
$$;

-- PROJ opens files that a definition names. The parameters on this list name none.
create function cartage.check_projection(definition text) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  parameter text;
begin
  if definition ~* '^(EPSG|ESRI|OGC|IGNF|NKG|IAU_[0-9]+):[A-Za-z0-9]{1,32}$' then
    return;
  end if;
  if length(definition) > 1000 or definition !~ '^\s*\+' then
    raise exception 'a spatial reference system is AUTHORITY:CODE or a PROJ string such as +proj=utm +zone=33'
      using errcode = 'invalid_parameter_value';
  end if;
  foreach parameter in array regexp_split_to_array(btrim(definition), '\s+') loop
    if parameter !~ ('^\+(proj|ellps|datum|pm|units|vunits|axis|type|zone|a|b|rf|f|R|es|k|k_0|lat_[0-3]|lat_b|lat_t[0-3]|'
        || 'lat_ts|lon_[0-3]|lon_t[0-3]|lon_wrap|lonc|x_0|y_0|z_0|to_meter|vto_meter|alpha|gamma|azi|h|tilt|sweep|towgs84)'
        || '=[-+.,_A-Za-z0-9]{1,64}$')
      and parameter not in ('+nadgrids=@null', '+wktext', '+no_defs', '+south', '+over', '+no_off', '+no_uoff', '+no_rot',
        '+north_square=0', '+south_square=0') then
      raise exception 'parameter % of a PROJ string is not allowed here', left(parameter, 80)
        using errcode = 'invalid_parameter_value', hint = 'Parameters that name files are not. AUTHORITY:CODE is.';
    end if;
  end loop;
end
$$;

-- PostGIS follows references in GML in circles. Only with a document type or in another encoding could the name of a
-- reference be written with other letters.
create function cartage.check_gml(gml text) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if gml ~ 'href|<!DOCTYPE|<!ENTITY' or gml ~* '<\?xml[^>]*encoding' and gml !~* '<\?xml[^>]*encoding\s*=\s*["'']utf-8["'']' then
    raise exception 'GML with references (xlink:href), a document type or an encoding other than UTF-8 is not read here'
      using errcode = 'feature_not_supported';
  end if;
end
$$;

create function cartage.check_radius(radius double precision) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if abs(radius) >= 1e300 then
    raise exception 'the radius is not finite' using errcode = 'invalid_parameter_value';
  end if;
end
$$;

create function cartage.check_segments(segments integer) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if segments > 4096 then
    raise exception 'a quarter of a circle has at most 4096 segments' using errcode = 'program_limit_exceeded';
  end if;
end
$$;

-- The parameters of ST_Buffer, such as 'quad_segs=8 join=mitre'.
create function cartage.check_segments(parameters text) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if length(parameters) > 1000 or parameters ~* 'quad_segs\s*=[^0-9]*[0-9]{5,}' then
    raise exception 'a quarter of a circle has at most 4096 segments' using errcode = 'program_limit_exceeded';
  end if;
end
$$;

-- GEOS puts 1 / fraction points on each segment, and then compares each point with each by recursion.
create function cartage.check_pairs(a postgis.geometry, b postgis.geometry, fraction double precision) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  parts constant double precision := case when fraction > 0 then 1 / greatest(fraction, 1e-100) else 1 end;
  points constant double precision := postgis.ST_NPoints(a) * parts;
  others constant double precision := postgis.ST_NPoints(b) * parts;
begin
  if points + others > 10000 then
    raise exception 'the distance of so many points is not computed here: % and %', points, others
      using errcode = 'program_limit_exceeded', hint = 'Simplify first, or take a larger fraction.';
  end if;
end
$$;

-- PostGIS takes nested collections apart to a depth of 32, and writes past its memory beyond that. With at most 30
-- collections the depth is below that.
create function cartage.check_depth(shape postgis.geometry) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  name constant text := 'GEOMETRYCOLLECTION';
  shown text;
begin
  if postgis.GeometryType(shape) !~ ('^' || name) then
    return;
  end if;
  shown := postgis.ST_AsText(shape, 0);
  if length(shown) - length(replace(shown, name, '')) > 30 * length(name) then
    raise exception 'more than 30 collections in a collection are not taken apart here' using errcode = 'program_limit_exceeded';
  end if;
end
$$;

create function cartage.check_depths(shapes postgis.geometry[]) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  perform cartage.check_depth(shape) from unnest(shapes) shape;
end
$$;

create function cartage.check_grid(size double precision) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if size > 0 and size < 1e-20 then
    raise exception 'a grid is at least 1e-20 wide' using errcode = 'program_limit_exceeded';
  end if;
end
$$;

-- GEOS does not end, or crashes, if a coordinate is infinite or not a number.
create function cartage.check_finite(shape postgis.geometry) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  extent constant double precision := abs(postgis.ST_XMax(shape)) + abs(postgis.ST_XMin(shape))
    + abs(postgis.ST_YMax(shape)) + abs(postgis.ST_YMin(shape));
begin
  -- PostgreSQL takes NaN for the greatest of numbers.
  if extent >= 1e300 then
    raise exception 'the extent is not finite' using errcode = 'invalid_parameter_value';
  end if;
end
$$;

-- PostGIS computes from these numbers how much memory a text takes.
create function cartage.check_output(digits integer, options integer, most integer) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if digits not between 0 and 50 or options not between 0 and most then
    raise exception 'digits are from 0 to 50, options from 0 to %', most using errcode = 'invalid_parameter_value';
  end if;
end
$$;

create function cartage.check_relation(pattern text) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if length(pattern) <> 9 then
    raise exception 'a pattern of DE-9IM has nine characters' using errcode = 'invalid_parameter_value';
  end if;
end
$$;

create function cartage.check_steps(shape postgis.geography, step double precision) returns void
language plpgsql immutable strict set search_path = pg_catalog, postgis, pg_temp as $$
begin
  if step > 0 and postgis.ST_Length(shape) + postgis.ST_Perimeter(shape) > step * 1000000 then
    raise exception 'more than a million segments' using errcode = 'program_limit_exceeded';
  end if;
end
$$;

do $$
declare
  routine record;
begin
  for routine in
    select proc.oid, proname, pronargs, proretset, proisstrict, provolatile, proparallel, checks.command
    from (values
      ('st_geomfromtwkb(bytea)', 'cartage.check_twkb($1)'),
      ('st_transform(postgis.geometry, text)', 'cartage.check_projection($2)'),
      ('st_transform(postgis.geometry, text, text)', 'cartage.check_projection($2), cartage.check_projection($3)'),
      ('st_transform(postgis.geometry, text, integer)', 'cartage.check_projection($2)'),
      ('st_geomfromgml(text)', 'cartage.check_gml($1)'),
      ('st_geomfromgml(text, integer)', 'cartage.check_gml($1)'),
      ('st_gmltosql(text)', 'cartage.check_gml($1)'),
      ('st_gmltosql(text, integer)', 'cartage.check_gml($1)'),
      ('st_buffer(postgis.geometry, double precision, text)', 'cartage.check_radius($2), cartage.check_segments($3)'),
      ('st_buffer(postgis.geometry, double precision, integer)', 'cartage.check_radius($2), cartage.check_segments($3)'),
      ('st_buffer(postgis.geography, double precision)', 'cartage.check_radius($2)'),
      ('st_buffer(postgis.geography, double precision, text)', 'cartage.check_radius($2), cartage.check_segments($3)'),
      ('st_buffer(postgis.geography, double precision, integer)', 'cartage.check_radius($2), cartage.check_segments($3)'),
      ('st_buffer(text, double precision)', 'cartage.check_radius($2)'),
      ('st_buffer(text, double precision, text)', 'cartage.check_radius($2), cartage.check_segments($3)'),
      ('st_buffer(text, double precision, integer)', 'cartage.check_radius($2), cartage.check_segments($3)'),
      ('st_frechetdistance(postgis.geometry, postgis.geometry, double precision)', 'cartage.check_pairs($1, $2, $3)'),
      ('st_hausdorffdistance(postgis.geometry, postgis.geometry, double precision)', 'cartage.check_pairs($1, $2, $3)'),
      ('st_dump(postgis.geometry)', 'cartage.check_depth($1)'),
      ('st_dumppoints(postgis.geometry)', 'cartage.check_depth($1)'),
      ('st_dumpsegments(postgis.geometry)', 'cartage.check_depth($1)'),
      ('st_astwkb(postgis.geometry, integer, integer, integer, boolean, boolean)', 'cartage.check_depth($1)'),
      ('st_astwkb(postgis.geometry[], bigint[], integer, integer, integer, boolean, boolean)', 'cartage.check_depths($1)'),
      ('st_reduceprecision(postgis.geometry, double precision)', 'cartage.check_depth($1), cartage.check_grid($2)'),
      ('st_voronoipolygons(postgis.geometry, double precision, postgis.geometry)', 'cartage.check_finite($3)'),
      ('st_voronoilines(postgis.geometry, double precision, postgis.geometry)', 'cartage.check_finite($3)'),
      ('st_simplifypreservetopology(postgis.geometry, double precision)', 'cartage.check_finite($1)'),
      ('st_asx3d(postgis.geometry, integer, integer)', 'cartage.check_output($2, $3, 3)'),
      ('st_asgml(postgis.geometry, integer, integer)', 'cartage.check_output($2, $3, 63)'),
      ('st_asgml(integer, postgis.geometry, integer, integer, text, text)', 'cartage.check_output($3, $4, 63)'),
      ('st_asgml(postgis.geography, integer, integer, text, text)', 'cartage.check_output($2, $3, 63)'),
      ('st_asgml(integer, postgis.geography, integer, integer, text, text)', 'cartage.check_output($3, $4, 63)'),
      ('st_asgml(text)', 'cartage.check_output(15, 0, 63)'),
      ('st_relate(postgis.geometry, postgis.geometry, text)', 'cartage.check_relation($3)'),
      ('st_segmentize(postgis.geography, double precision)', 'cartage.check_steps($1, $2)')
    ) checks (signature, command)
    join pg_proc proc on proc.oid = to_regprocedure('postgis.' || checks.signature)
  loop
    execute format(
      'create function cartodb.%I(%s) returns %s language plpgsql %s %s parallel %s security definer
       set search_path = pg_catalog, postgis, pg_temp as $body$ begin %s return %s postgis.%I(%s); end $body$',
      routine.proname, pg_get_function_arguments(routine.oid), pg_get_function_result(routine.oid),
      case routine.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
      case when routine.proisstrict then 'strict' else '' end,
      case routine.proparallel when 's' then 'safe' when 'r' then 'restricted' else 'unsafe' end,
      'perform ' || routine.command || ';', case when routine.proretset then 'query select * from' else '' end,
      routine.proname,
      (select string_agg('$' || argument, ', ') from generate_series(1, routine.pronargs) argument));
    execute format('revoke execute on function %s from public', routine.oid::regprocedure);
  end loop;
end
$$;

-- PostGIS reads past the end of an empty type modifier: "select null::geometry('')" ended the server. Naming a type needs no
-- privilege, so the types themselves get a function that checks the modifier first. (It is in SQL, since PL/pgSQL passes
-- arrays in a form that PostGIS does not read.)

create function cartage.check_modifiers(modifiers text) returns boolean
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if modifiers ~ '(^|,)\s*(,|$)' then
    raise exception 'a type modifier is empty' using errcode = 'invalid_parameter_value';
  end if;
  return true;
end
$$;

create function cartage.geometry_typmod_in(modifiers cstring[]) returns integer
language sql immutable strict security definer set search_path = pg_catalog, pg_temp
as $$ select case when cartage.check_modifiers(array_to_string(modifiers, ',')) then postgis.geometry_typmod_in(modifiers) end $$;

create function cartage.geography_typmod_in(modifiers cstring[]) returns integer
language sql immutable strict security definer set search_path = pg_catalog, pg_temp
as $$ select case when cartage.check_modifiers(array_to_string(modifiers, ',')) then postgis.geography_typmod_in(modifiers) end $$;
alter type postgis.geometry set (typmod_in = cartage.geometry_typmod_in);
alter type postgis.geography set (typmod_in = cartage.geography_typmod_in);

-- Sessions of callers without a key, which share a role and so its sessions.

-- The library of an extension may keep what one caller set for the next one, past DISCARD ALL: isn keeps isn_weak(), for
-- example. The extensions on this list were reviewed; they keep nothing but settings.
create function cartage.has_unchecked_library() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return exists (
  select from pg_extension
  where extname not in (
    'plpgsql', 'postgis', 'btree_gin', 'btree_gist', 'citext', 'cube', 'dict_int', 'fuzzystrmatch', 'hstore', 'intarray',
    'lo', 'ltree', 'pg_trgm', 'pgcrypto', 'seg', 'tablefunc', 'tcn', 'tsm_system_rows', 'tsm_system_time', 'unaccent',
    'uuid-ossp')
);

-- The last step of cleaning such a session; if it fails, the session is closed. Where an unchecked library is installed, the
-- privilege to call it is revoked, so that it always fails: a privilege is checked faster than extensions are listed.
create procedure cartodb._CDB_ReuseSession(seed double precision)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform setseed(seed);
end
$$;

create function cartage.set_session_reuse() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if cartage.has_unchecked_library() then
    revoke execute on procedure cartodb._CDB_ReuseSession(double precision) from public;
  else
    grant execute on procedure cartodb._CDB_ReuseSession(double precision) to public;
  end if;
end
$$;

create event trigger cartage_set_session_reuse on ddl_command_end
  when tag in ('CREATE EXTENSION', 'ALTER EXTENSION', 'DROP EXTENSION')
  execute function cartage.set_session_reuse();
