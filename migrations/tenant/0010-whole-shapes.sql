-- More functions of PostGIS that end the server, or do not end themselves, by one call with a strange argument. As in
-- 0002-closed-functions.sql, schema `cartodb` gets a function of the same name that checks its arguments first.

-- Makes or replaces the checked form of a function of PostGIS. Does nothing where this version of PostGIS does not have it.
create function cartage.check_before(signature text, command text) returns void
language plpgsql set search_path = pg_catalog, postgis, pg_temp as $$
declare
  routine pg_proc;
begin
  select * into routine from pg_proc where oid = to_regprocedure('postgis.' || signature);
  if not found then
    return;
  end if;
  execute format(
    'create or replace function cartodb.%I(%s) returns %s language plpgsql %s %s parallel %s security definer
     set search_path = pg_catalog, postgis, pg_temp as $body$ begin perform %s; return postgis.%I(%s); end $body$',
    routine.proname, pg_get_function_arguments(routine.oid), pg_get_function_result(routine.oid),
    case routine.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
    case when routine.proisstrict then 'strict' else '' end,
    case routine.proparallel when 's' then 'safe' when 'r' then 'restricted' else 'unsafe' end,
    command, routine.proname,
    (select string_agg('$' || argument, ', ') from generate_series(1, routine.pronargs) argument));
  execute format('revoke execute on function %s from public', routine.oid::regprocedure);
end
$$;

-- Many functions read past an empty part of a geometry, and GEOS does not end, or crashes, with coordinates that are not
-- finite. An empty geometry as a whole is fine.
create function cartage.check_whole(shape postgis.geometry) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  shown text;
begin
  perform cartage.check_depth(shape);
  shown := postgis.ST_AsText(shape, 0);
  if shown ~ 'EMPTY' and shown !~ '^[A-Z ]+EMPTY$' then
    raise exception 'a part of the geometry is empty' using errcode = 'invalid_parameter_value',
      hint = 'Leave empty parts out, for example with ST_CollectionExtract.';
  end if;
  if shown ~* 'nan|inf' then
    raise exception 'a coordinate is not a finite number' using errcode = 'invalid_parameter_value';
  end if;
end
$$;

create function cartage.check_whole(shape postgis.geography) returns void
language sql immutable strict set search_path = pg_catalog, pg_temp
as $$ select cartage.check_whole(shape::postgis.geometry) $$;

create function cartage.check_whole(shapes postgis.geometry[]) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  perform cartage.check_whole(shape) from unnest(shapes) shape;
end
$$;

create function cartage.check_not_empty(shape postgis.geometry) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if postgis.ST_IsEmpty(shape) then
    raise exception 'the geometry is empty' using errcode = 'invalid_parameter_value';
  end if;
end
$$;

create function cartage.check_valid(shape postgis.geometry) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if not postgis.ST_IsValid(shape) then
    raise exception 'the geometry is not valid' using errcode = 'invalid_parameter_value', hint = 'ST_MakeValid may help.';
  end if;
end
$$;

create function cartage.check_number(number double precision) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if abs(number) > 1e300 then
    raise exception 'the number is not finite' using errcode = 'invalid_parameter_value';
  end if;
end
$$;

create function cartage.check_digits(digits integer) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if digits not between 0 and 50 then
    raise exception 'digits are from 0 to 50' using errcode = 'invalid_parameter_value';
  end if;
end
$$;

-- PostGIS subtracts 360 until a longitude is one.
create function cartage.check_lonlat(shape postgis.geometry) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  if not (abs(postgis.ST_X(shape)) <= 1e6 and abs(postgis.ST_Y(shape)) <= 1e6) then
    raise exception 'the point has no longitude and latitude' using errcode = 'invalid_parameter_value';
  end if;
end
$$;

select cartage.check_before(signature, command)
from (values
  ('st_3dclosestpoint(postgis.geometry, postgis.geometry)',
    'cartage.check_not_empty($1), cartage.check_not_empty($2), cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_3dlongestline(postgis.geometry, postgis.geometry)',
    'cartage.check_not_empty($1), cartage.check_not_empty($2), cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_3dshortestline(postgis.geometry, postgis.geometry)',
    'cartage.check_not_empty($1), cartage.check_not_empty($2), cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_aslatlontext(postgis.geometry, text)', 'cartage.check_lonlat($1)'),
  ('st_assvg(postgis.geometry, integer, integer)', 'cartage.check_whole($1), cartage.check_digits($3)'),
  ('st_assvg(postgis.geography, integer, integer)', 'cartage.check_whole($1), cartage.check_digits($3)'),
  ('st_centroid(postgis.geography, boolean)', 'cartage.check_whole($1)'),
  ('st_concavehull(postgis.geometry, double precision, boolean)',
    'cartage.check_whole($1), cartage.check_valid($1), cartage.check_number($2)'),
  ('st_coveredby(postgis.geography, postgis.geography)', 'cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_covers(postgis.geography, postgis.geography)', 'cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_frechetdistance(postgis.geometry, postgis.geometry, double precision)',
    'cartage.check_pairs($1, $2, $3), cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_hausdorffdistance(postgis.geometry, postgis.geometry)', 'cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_hausdorffdistance(postgis.geometry, postgis.geometry, double precision)',
    'cartage.check_pairs($1, $2, $3), cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_issimple(postgis.geometry)', 'cartage.check_whole($1)'),
  ('st_node(postgis.geometry)', 'cartage.check_whole($1)'),
  ('st_offsetcurve(postgis.geometry, double precision, text)', 'cartage.check_whole($1), cartage.check_number($2)'),
  ('st_pointonsurface(postgis.geometry)', 'cartage.check_whole($1)'),
  ('st_removerepeatedpoints(postgis.geometry, double precision)', 'cartage.check_whole($1)'),
  ('st_sharedpaths(postgis.geometry, postgis.geometry)', 'cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_simplifypreservetopology(postgis.geometry, double precision)', 'cartage.check_whole($1)'),
  ('st_union(postgis.geometry, postgis.geometry)', 'cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_union(postgis.geometry, postgis.geometry, double precision)', 'cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_union(postgis.geometry[])', 'cartage.check_whole($1)'),
  ('st_unaryunion(postgis.geometry, double precision)', 'cartage.check_whole($1)'),
  ('st_voronoilines(postgis.geometry, double precision, postgis.geometry)', 'cartage.check_whole($1), cartage.check_whole($3)'),
  ('st_voronoipolygons(postgis.geometry, double precision, postgis.geometry)', 'cartage.check_whole($1), cartage.check_whole($3)'),
  ('_st_voronoi(postgis.geometry, postgis.geometry, double precision, boolean)', 'cartage.check_whole($1), cartage.check_whole($2)'),
  ('st_wrapx(postgis.geometry, double precision, double precision)',
    'cartage.check_whole($1), cartage.check_number($2), cartage.check_number($3)'),
  ('_st_covers(postgis.geography, postgis.geography)', 'cartage.check_whole($1), cartage.check_whole($2)'),
  ('_st_coveredby(postgis.geography, postgis.geography)', 'cartage.check_whole($1), cartage.check_whole($2)')
) checks (signature, command);

-- The aggregates gather first, and then call the checked functions.
create aggregate cartodb.ST_Union(postgis.geometry) (
  sfunc = array_append, stype = postgis.geometry[], finalfunc = cartodb.ST_Union, parallel = safe);
create aggregate cartodb.ST_MemUnion(postgis.geometry) (
  sfunc = cartodb.ST_Union, stype = postgis.geometry, parallel = safe);

do $$
declare
  routine regprocedure;
begin
  for routine in
    select oid from pg_proc
    where pronamespace = 'postgis'::regnamespace and (
        -- The aggregates that have a checked form.
        prokind = 'a' and proname in ('st_union', 'st_memunion')
        -- Behind the operator <<->>, which crashes with an empty point.
        or proname = 'geometry_distance_centroid_nd')
      -- Large objects count towards no quota, and each has a row in a catalog that all accounts share.
      or pronamespace = 'pg_catalog'::regnamespace and (
        proname in ('lo_creat', 'lo_create', 'lo_from_bytea')
        -- Tell of the log, and so of the writes, of all accounts (PostgreSQL 17); and of libraries (18).
        or proname in ('pg_available_wal_summaries', 'pg_wal_summary_contents', 'pg_get_wal_summarizer_state',
          'pg_get_loaded_modules'))
  loop
    execute format('revoke execute on function %s from public', routine);
    execute (
      select coalesce(string_agg(format('revoke execute on function %s from %I', routine, rolname), '; '), 'select')
      from pg_proc cross join aclexplode(proacl) acl join pg_roles on pg_roles.oid = grantee
      where pg_proc.oid = routine and not rolsuper);
  end loop;
end
$$;

-- PostGIS ignores the upper bits of the second byte of a level, so any byte may follow one that ends in 7.
create or replace function cartage.check_twkb(twkb bytea) returns void
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  -- A copy in memory: otherwise a stored value would be read from its table for each byte.
  bytes constant bytea := twkb || ''::bytea;
begin
  if length(bytes) < 3 * 1000 or get_byte(bytes, 0) & 15 <> 7 then
    return;
  end if;
  if (select count(*) from generate_series(0, length(bytes) - 2) at where get_byte(bytes, at) & 15 = 7) > 3000 then
    raise exception 'this TWKB may be nested too deeply' using errcode = 'program_limit_exceeded',
      hint = 'Send its parts by themselves, or as WKB.';
  end if;
end
$$;

-- A thesaurus loads another dictionary by its name. After a rename that is itself, and PostgreSQL recurses until it crashes.
create function cartage.refuse_thesaurus() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (
    select from pg_event_trigger_ddl_commands() command
    join pg_ts_dict dictionary on command.classid = 'pg_ts_dict'::regclass and dictionary.oid = command.objid
    join pg_ts_template template on template.oid = dicttemplate
    where tmplname = 'thesaurus')
    and not (select rolsuper from pg_roles where rolname = session_user) then
    raise exception 'a dictionary with the template thesaurus cannot be made here' using errcode = 'insufficient_privilege';
  end if;
end
$$;

create event trigger cartage_refuse_thesaurus on ddl_command_end
  when tag in ('CREATE TEXT SEARCH DICTIONARY', 'ALTER TEXT SEARCH DICTIONARY')
  execute function cartage.refuse_thesaurus();
