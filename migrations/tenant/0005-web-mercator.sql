-- Geometries of prepared tables: the_geom in longitude and latitude, the_geom_webmercator beside it.
--
-- PostGIS is called only from bodies in the syntax of the SQL standard, whose names were bound when this file ran. So a
-- function that a tenant makes is never called instead.

create function cartodb.CDB_LatLng(lat double precision, lng double precision) returns postgis.geometry
language sql immutable strict parallel safe
return postgis.st_setsrid(postgis.st_makepoint(lng, lat), 4326);

create function cartodb.CDB_LatLng(lat numeric, lng numeric) returns postgis.geometry
language sql immutable strict parallel safe
return postgis.st_setsrid(postgis.st_makepoint(lng::double precision, lat::double precision), 4326);

create function cartodb._CDB_WebmercatorExtent() returns postgis.geometry
language sql immutable parallel safe
return postgis.st_makeenvelope(-180, -89, 180, 89, 4326);

create function cartodb._CDB_LonLat(geom postgis.geometry) returns postgis.geometry
language sql immutable parallel safe
return case postgis.st_srid(geom) when 4326 then geom else postgis.st_transform(geom, 4326) end;

-- The part of a shape that lies within the extent. Parts of a collection keep their dimension.
create function cartodb._CDB_ClipShape(lonlat postgis.geometry) returns postgis.geometry
language sql immutable strict parallel safe
return (
  select case
    when postgis.st_isempty(clipped) then null
    when postgis.geometrytype(lonlat) like 'MULTI%' then postgis.st_multi(clipped)
    else clipped
  end
  from postgis.st_intersection(
    case postgis.st_dimension(lonlat)
      when 0 then lonlat
      else postgis.st_collectionextract(
        postgis.st_makevalid(postgis.st_curvetoline(lonlat)), postgis.st_dimension(lonlat) + 1)
    end,
    cartodb._CDB_WebmercatorExtent()) clipped
);

create function cartodb._CDB_ClipShapes(lonlat postgis.geometry) returns postgis.geometry
language sql immutable strict parallel safe
return case postgis.geometrytype(lonlat)
  when 'GEOMETRYCOLLECTION' then (
    select postgis.st_collect(array_agg(clipped))
    from cartodb.st_dump(lonlat) part, cartodb._CDB_ClipShape(part.geom) clipped
    where clipped is not null)
  else cartodb._CDB_ClipShape(lonlat)
end;

-- A geometry that GEOS cannot handle has no web mercator form. The row is stored all the same.
create function cartodb._CDB_Clip(lonlat postgis.geometry) returns postgis.geometry
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return cartodb._CDB_ClipShapes(lonlat);
exception when others then
  return null;
end
$$;

-- An empty geometry has no web mercator form. It is asked for first: to PostGIS 3.6 it lies inside of every box.
create function cartodb.CDB_TransformToWebmercator(geom postgis.geometry) returns postgis.geometry
language sql immutable parallel safe
return case
  when postgis.st_srid(geom) = 3857 then geom
  when postgis.st_isempty(geom) then null
  when cartodb._CDB_LonLat(geom) operator(postgis.@) cartodb._CDB_WebmercatorExtent()
    then postgis.st_transform(cartodb._CDB_LonLat(geom), 3857)
  else postgis.st_transform(cartodb._CDB_Clip(cartodb._CDB_LonLat(geom)), 3857)
end;

-- Runs for every row that is written. It has no search_path of its own, which would cost more than the call, and needs none:
-- the one name in it has its schema.
create function cartodb._CDB_Update_The_Geom_Webmercator() returns trigger
language plpgsql as $$
begin
  new.the_geom_webmercator := cartodb.CDB_TransformToWebmercator(new.the_geom);
  return new;
end
$$;

-- Reading a column as a geometry

-- A geometry of any SRID as flat longitude and latitude. One without an SRID is taken to be that already.
create function cartodb._CDB_FlatLonLat(geom postgis.geometry) returns postgis.geometry
language sql immutable parallel safe
return postgis.st_force2d(case postgis.st_srid(geom)
  when 0 then postgis.st_setsrid(geom, 4326)
  else cartodb._CDB_LonLat(geom)
end);

-- The two forms of an imported geometry. They are in PL/pgSQL because PostgreSQL inlines SQL functions, which makes them fast,
-- only if their argument is cheap to evaluate again: a variable is, the text of a geometry is not. They run for every row
-- and name all schemas, so they have no search_path of their own.
create function cartodb._CDB_ImportLonLat(geom postgis.geometry) returns postgis.geometry
language plpgsql immutable strict parallel safe as $$
begin
  return cartodb._CDB_FlatLonLat(geom);
end
$$;

create function cartodb._CDB_ImportWebmercator(geom postgis.geometry) returns postgis.geometry
language plpgsql immutable strict parallel safe as $$
declare
  lonlat constant postgis.geometry := cartodb._CDB_FlatLonLat(geom);
begin
  return cartodb.CDB_TransformToWebmercator(lonlat);
end
$$;

-- The type of a column with its modifier: `integer`, `postgis.geometry(Geometry,4326)`. Null if there is no such column.
create function cartodb._CDB_ExactType(relation regclass, column_name name) returns text
language sql stable set search_path = pg_catalog, pg_temp
return (
  select format_type(atttypid, atttypmod) from pg_catalog.pg_attribute
  where attrelid = relation and attname = column_name and attnum > 0 and not attisdropped
);

-- SQL that reads a column as a geometry. Null if its type cannot be read so. Blank text is no geometry.
create function cartodb._CDB_AsGeometry(relation regclass, column_name name) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when atttypid = 'postgis.geometry'::regtype then quote_ident(attname)
    when atttypid in ('postgis.geography'::regtype, 'bytea'::regtype) then format('%I::postgis.geometry', attname)
    when atttypid in ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)
      then format($sql$nullif(btrim(%I::text), '')::postgis.geometry$sql$, attname)
  end
  from pg_attribute where attrelid = relation and attname = column_name and attnum > 0 and not attisdropped
$$;

create function cartodb._CDB_BeginsWithGeometry(relation regclass, column_name name) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  is_geometry boolean;
begin
  execute format($sql$select (%s) is not null from %s where nullif(btrim(%I::text), '') is not null limit 1$sql$,
    cartodb._CDB_AsGeometry(relation, column_name), relation, column_name) into is_geometry;
  return coalesce(is_geometry, false);
exception when others then
  return false;
end
$$;

-- The column that becomes `the_geom`: one of that name, else a geometry, else a geography, else a text or bytea column that
-- is called like a geometry and begins with one.
create function cartodb._CDB_GeometryColumn(relation regclass) returns name
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select attname
  from pg_catalog.pg_attribute,
    lateral (select
      case when attname = 'the_geom' then 1 when lower(attname) = 'the_geom' then 2
        when atttypid = 'postgis.geometry'::regtype and postgis.postgis_typmod_srid(atttypmod) = 4326 then 3
        when atttypid = 'postgis.geometry'::regtype then 4
        when atttypid = 'postgis.geography'::regtype then 5
        when lower(attname) = any ('{geom,geometry,wkb_geometry,wkb,ewkb,wkt,wkt_geom,geom_wkt,geojson,shape}')
          and cartodb._CDB_BeginsWithGeometry(relation, attname) then 6
      end as rank) candidate
  where attrelid = relation and attnum > 0 and not attisdropped and lower(attname) <> 'the_geom_webmercator'
    and rank is not null
  order by rank, attnum
  limit 1;
end;

-- The column that becomes `the_geom_webmercator`: one of that name, else a geometry that is declared to be in web mercator.
create function cartodb._CDB_WebmercatorColumn(relation regclass) returns name
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select attname
  from pg_catalog.pg_attribute
  where attrelid = relation and attnum > 0 and not attisdropped and attname <> 'the_geom'
    and (lower(attname) = 'the_geom_webmercator'
      or atttypid = 'postgis.geometry'::regtype and postgis.postgis_typmod_srid(atttypmod) = 3857)
  order by attname = 'the_geom_webmercator' desc, lower(attname) = 'the_geom_webmercator' desc, attnum
  limit 1;
end;

-- Converting the columns

-- The parts of the ALTER TABLE that gives a column a new type. They drop a default of another type, and the checks with which
-- old versions of PostGIS kept SRID and dimension.
create function cartodb._CDB_ChangeType(
  relation regclass, column_name name, new_type text, expression text)
returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select array(
      select format('alter column %I drop default', column_name) from pg_attrdef
      where adrelid = relation and adnum = attnum and atttypid <> 'postgis.geometry'::regtype
      union all
      select format('drop constraint %I', conname) from pg_constraint
      where conrelid = relation and contype = 'c' and conkey = array[attnum] and conname ~ '^enforce_(srid|dims)_')
    || format('alter column %I type %s using (%s)::%2$s', column_name, new_type, expression)
  from pg_attribute
  where attrelid = relation and attname = column_name
$$;

-- Whether every row has the web mercator form of its geometry. While the trigger is on, every row has.
create function cartodb._CDB_IsInStep(relation regclass) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  is_in_step boolean;
begin
  if exists (
    select from pg_trigger
    where tgrelid = relation and tgenabled in ('O', 'A')
      and tgfoid = 'cartodb._CDB_Update_The_Geom_Webmercator'::regproc)
  then
    return true;
  end if;
  execute format(
    'select not exists (
       select from %s, cartodb.CDB_TransformToWebmercator(the_geom) expected
       where (the_geom_webmercator is null) <> (expected is null)
         or not the_geom_webmercator operator(postgis.=) expected)',
    relation) into is_in_step;
  return is_in_step;
end
$$;

-- What the two geometry columns, which are there already, still need. The geometry is read from column `source`.
create function cartodb._CDB_GeometryChanges(relation regclass, source name) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  lonlat_type constant text := 'postgis.geometry(Geometry,4326)';
  mercator_type constant text := 'postgis.geometry(Geometry,3857)';
  geometry constant text := cartodb._CDB_AsGeometry(relation, source);
begin
  if source <> 'the_geom' or cartodb._CDB_ExactType(relation, 'the_geom') <> lonlat_type then
    return cartodb._CDB_ChangeType(relation, 'the_geom', lonlat_type,
        format('cartodb._CDB_ImportLonLat(%s)', geometry))
      || cartodb._CDB_ChangeType(relation, 'the_geom_webmercator', mercator_type,
        format('cartodb._CDB_ImportWebmercator(%s)', geometry));
  elsif cartodb._CDB_ExactType(relation, 'the_geom_webmercator') <> mercator_type
      or not cartodb._CDB_IsInStep(relation) then
    return cartodb._CDB_ChangeType(relation, 'the_geom_webmercator', mercator_type,
      'cartodb.CDB_TransformToWebmercator(the_geom)');
  end if;
  return '{}';
end
$$;
