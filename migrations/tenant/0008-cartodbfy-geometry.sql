-- The geometry columns of a prepared table: what can serve as the_geom, and what still has to be done to it.

-- A geometry of any SRID as flat longitude/latitude. One without an SRID is taken to be that already.
create function cartodb._CDB_FlatLonLat(geom postgis.geometry) returns postgis.geometry
language sql immutable parallel safe
return postgis.st_force2d(case postgis.st_srid(geom)
  when 0 then postgis.st_setsrid(geom, 4326)
  else cartodb._CDB_LonLat(geom)
end);

-- The two forms of an imported geometry. PostgreSQL inlines functions in SQL, which is what makes them fast, only
-- where their argument is cheap to evaluate again: a variable, not the text of a geometry to be parsed.
-- (Run for every row, and naming schema and types, they do without a search_path of their own.)
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

-- A column's type with its modifier: `integer`, `postgis.geometry(Geometry,4326)`. Null: no such column.
create function cartodb._CDB_ExactType(relation regclass, column_name name) returns text
language sql stable set search_path = pg_catalog, pg_temp
return (
  select format_type(atttypid, atttypmod) from pg_catalog.pg_attribute
  where attrelid = relation and attname = column_name and attnum > 0 and not attisdropped
);

-- SQL that reads a column as a geometry, null if its type cannot be read so. Blank text is no geometry.
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

-- The column that becomes `the_geom`: one of that name, else a geometry, else a geography, else a text or bytea
-- column that is called like a geometry and begins with one.
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

-- The column that becomes `the_geom_webmercator`: one of that name, else a geometry declared to be in web mercator.
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

-- The parts of the ALTER TABLE that gives a column a new type. A default of another type has to go, and so have the
-- checks with which old versions of PostGIS kept SRID and dimension.
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

-- Does every row have the web mercator form of its geometry? While the trigger is there, it sees to that.
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

-- What the geometry columns, both there already, still need. `source` is the column that the geometry is read from.
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
