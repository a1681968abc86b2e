-- PostGIS moves from public, where tenants may make functions of the same names, to a schema that only the operator can
-- write to. It calls itself by qualified names, so neither its upgrade nor a call of ours can meet a tenant's function.

-- PostGIS says that it cannot be moved, as its functions name their schema in their texts. These follow by hand.
do $$
declare
  taken constant name := 'postgis';
begin
  if exists (select from pg_namespace where nspname = taken) then
    if exists (select from cartage.accounts where schema_name = taken) then
      raise exception 'the schema of user "%" is needed for PostGIS: delete this user first', taken;
    end if;
    execute format('alter schema %I rename to %I', taken,
      (select taken || '_' || number from generate_series(1, 1000000) number
       where to_regnamespace(taken || '_' || number) is null limit 1));
  end if;
  create schema postgis;
  grant usage on schema postgis to public;
  update pg_extension set extrelocatable = true where extname = 'postgis';
  alter extension postgis set schema postgis;
  update pg_extension set extrelocatable = false where extname = 'postgis';
  update pg_proc set prosrc = replace(prosrc, 'public.', 'postgis.')
  from pg_depend
  where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e'
    and refclassid = 'pg_extension'::regclass
    and refobjid = (select oid from pg_extension where extname = 'postgis')
    and prosrc like '%public.%';
end
$$;

-- Functions of ours whose texts name the schema. Bodies in the standard's syntax were bound at installation and follow
-- by themselves.
create or replace function cartodb.CDB_ColumnType(regclass, text) returns information_schema.character_data
language sql stable parallel safe set search_path = pg_catalog, pg_temp
return (
  select regexp_replace(format_type(atttypid, null), '^postgis\.', '')::information_schema.character_data
  from pg_catalog.pg_attribute
  where attrelid = $1 and attname = $2 and attnum > 0 and not attisdropped
);

create or replace function cartodb._CDB_ImportWebmercator(geom postgis.geometry) returns postgis.geometry
language plpgsql immutable strict parallel safe as $$
declare
  lonlat constant postgis.geometry := cartodb._CDB_FlatLonLat(geom);
begin
  return cartodb.CDB_TransformToWebmercator(lonlat);
end
$$;

create or replace function cartodb._CDB_AsGeometry(relation regclass, column_name name) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when atttypid = 'postgis.geometry'::regtype then quote_ident(attname)
    when atttypid in ('postgis.geography'::regtype, 'bytea'::regtype) then format('%I::postgis.geometry', attname)
    when atttypid in ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)
      then format($sql$nullif(btrim(%I::text), '')::postgis.geometry$sql$, attname)
  end
  from pg_attribute where attrelid = relation and attname = column_name and attnum > 0 and not attisdropped
$$;

create or replace function cartodb._CDB_ChangeType(
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

create or replace function cartodb._CDB_IsInStep(relation regclass) returns boolean
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

create or replace function cartodb._CDB_GeometryChanges(relation regclass, source name) returns text[]
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

create or replace function cartodb._CDB_IsPrepared(relation regclass) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(cartodb._CDB_ExactType(relation, 'cartodb_id') in ('integer', 'bigint')
      and cartodb._CDB_ExactType(relation, 'the_geom') = 'postgis.geometry(Geometry,4326)'
      and cartodb._CDB_ExactType(relation, 'the_geom_webmercator') = 'postgis.geometry(Geometry,3857)', false)
    and cartodb._CDB_HasKey(relation) and cartodb._CDB_KeySequence(relation) is not null
    and not exists (select from cartodb._CDB_MissingParts(relation))
$$;

create or replace function cartodb._CDB_ConvertColumns(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  type constant text := cartodb._CDB_ExactType(relation, 'the_geom');
  source constant name := case
    when type is not null or cartodb._CDB_AsGeometry(relation, 'the_geom_webmercator') is null then 'the_geom'
    else 'the_geom_webmercator'
  end;
  changes text[];
  hint text;
begin
  if type is not null and cartodb._CDB_AsGeometry(relation, 'the_geom') is null then
    raise exception 'the_geom of table % cannot become a geometry: its type is %', relation, type
      using errcode = 'datatype_mismatch';
  end if;
  if type is null then
    execute format('alter table %s add column the_geom postgis.geometry(Geometry,4326)', relation);
  end if;
  if cartodb._CDB_ExactType(relation, 'the_geom_webmercator') is null then
    execute format('alter table %s add column the_geom_webmercator postgis.geometry(Geometry,3857)', relation);
  end if;
  changes := cartodb._CDB_KeyChanges(relation) || cartodb._CDB_GeometryChanges(relation, source);
  if changes <> '{}' then
    perform cartodb._CDB_AlterColumns(relation,
      array(select name from unnest('{cartodb_id,the_geom,the_geom_webmercator}'::name[]) name
            where array_to_string(changes, ';') like format('%%alter column %I type%%', name)),
      format('alter table %s %s', relation, array_to_string(changes, ', ')));
  end if;
exception when internal_error then
  -- The way in which PostGIS says that a text is no geometry; its hint shows the text.
  get stacked diagnostics hint = pg_exception_hint;
  raise exception 'the_geom of table % cannot become a geometry: %', relation,
      concat_ws(': ', sqlerrm, nullif(hint, ''))
    using errcode = 'data_exception';
end
$$;
