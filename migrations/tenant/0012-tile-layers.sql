-- What a vector tile of a table is made of, and which state of the table it shows.

-- The type under a domain, and its modifier.
create function cartodb._CDB_BaseType(type oid, modifier int, out base oid, out base_modifier int)
language plpgsql stable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  under record;
begin
  base := type;
  base_modifier := modifier;
  loop
    select typtype, typbasetype, typtypmod into under from pg_type where oid = base;
    exit when not found or under.typtype <> 'd';
    if base_modifier < 0 then
      base_modifier := under.typtypmod;
    end if;
    base := under.typbasetype;
  end loop;
end
$$;

-- The columns of a relation that a tile can show and the calling role may read, in their order. The labels of an enum can
-- change while its table does not.
create function cartodb._CDB_TileColumns(relation oid) returns jsonb
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  reads_all constant boolean := has_table_privilege(session_user, relation, 'SELECT');
  columns jsonb := '[]';
  attribute record;
  type record;
  kind text;
begin
  for attribute in
    select attname, attnum, atttypid, atttypmod from pg_attribute
    where attrelid = relation and attnum > 0 and not attisdropped order by attnum
  loop
    continue when not reads_all and not has_column_privilege(session_user, relation, attribute.attnum, 'SELECT');
    select pg_type.oid, typtype, typcategory, base_modifier into type
    from cartodb._CDB_BaseType(attribute.atttypid, attribute.atttypmod), pg_type where pg_type.oid = base;
    kind := case
      when type.oid = 'bool'::regtype then 'boolean'
      when type.oid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) then 'integer'
      when type.oid in ('float4'::regtype, 'float8'::regtype) then 'float'
      when type.oid = 'numeric'::regtype then 'numeric'
      when type.oid = 'uuid'::regtype then 'uuid'
      when type.oid = 'postgis.geometry'::regtype then 'geometry'
      when type.typtype = 'e' then 'enum'
      when type.typtype = 'b' and (type.typcategory = 'S' or type.oid = '"char"'::regtype) then 'text'
      when type.typtype = 'b' and type.typcategory = 'D' then 'date'
    end;
    continue when kind is null;
    columns := columns || (jsonb_build_object('name', attribute.attname, 'kind', kind) || case kind
      when 'geometry' then jsonb_build_object('srid', postgis.postgis_typmod_srid(type.base_modifier),
        'type', upper(postgis.postgis_typmod_type(type.base_modifier)))
      when 'enum' then jsonb_build_object('labels',
        (select md5(string_agg(enumlabel, ',' order by pg_enum.oid)) from pg_enum where enumtypid = type.oid))
      else '{}' end);
  end loop;
  return nullif(columns, '[]');
end
$$;

-- The enabled triggers that record every change to a table: after each statement that inserts, updates, deletes or truncates,
-- without a condition.
create view cartage.change_triggers as
select tgrelid as relation, xmin as made from pg_catalog.pg_trigger
where tgfoid = 'cartodb.cdb_tablemetadata_trigger()'::regprocedure and tgenabled in ('O', 'A')
  and tgtype = 4 + 8 + 16 + 32 and tgqual is null and tgattr::text = '';

-- The partitions of a table, as a text that differs after each change to one of them. Null if some change to one of them is
-- not recorded.
create function cartage.partition_version(relation oid) returns text
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  version text;
  are_recorded boolean;
begin
  with recursive part (oid, attached) as (
    select inhrelid, xmin from pg_inherits where inhparent = relation
    union all
    select inhrelid, pg_inherits.xmin from part join pg_inherits on inhparent = part.oid
  ),
  known as (
    select part.oid, attached, pg_class.xmin as made, 
      (select min(made::text) from cartage.change_triggers change where change.relation = part.oid) as recorder,
      relispartition and relkind in ('r', 'p') and relpersistence = 'p' as is_plain
    from part join pg_class on pg_class.oid = part.oid
  )
  select bool_and(is_plain and recorder is not null),
    string_agg(concat_ws(' ', oid, attached, made, recorder), ',' order by oid)
  into are_recorded, version from known;
  return case when are_recorded is null then '' when are_recorded then version end;
end
$$;

-- A relation as a layer of tiles; null if there is none that the calling role may read.
--
-- `version` differs after every committed change to the rows or the definition of a table. It is null if that cannot be told: of
-- a view, a foreign table, a table under row security, one without the trigger for changes. The transaction that changes a table
-- also writes table_changes, so a snapshot sees both or neither. Under the `known` version nothing else is answered, as
-- nothing else has changed.
--
-- `is_moved`: the rows were rewritten after the snapshot was taken, which therefore sees none (TRUNCATE is not MVCC-safe).
create function cartodb._CDB_TileLayer(schema_name text, relation_name text, known text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  class record;
  attributes record;
  parts text := '';
  version text;
  is_moved boolean;
  columns jsonb;
begin
  select pg_class.oid, relkind, reltuples, relfilenode, relhassubclass, pg_class.xmin as made,
    relkind in ('r', 'p') and not relrowsecurity and not relispartition and relpersistence = 'p' as is_plain,
    has_table_privilege(session_user, pg_class.oid, 'SELECT') as reads_all
  into class
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where nspname = schema_name::name and relname = relation_name::name and relkind in ('r', 'p', 'v', 'm', 'f')
    and has_schema_privilege(session_user, relnamespace, 'USAGE');
  if not found then
    return null;
  end if;
  is_moved := class.relfilenode <> 0 and pg_relation_filenode(class.oid) is distinct from class.relfilenode;
  if class.is_plain then
    -- A virtual generated column is computed when it is read. A type of the tenant may change by itself.
    select string_agg(xmin::text, ',') as made, bool_or(attgenerated not in ('', 's')) as are_computed,
      bool_or(atttypid >= 16384 and atttypid <> 'postgis.geometry'::regtype) as have_own_types
    into attributes
    from (
      select xmin, attgenerated, atttypid from pg_attribute where attrelid = class.oid and attnum > 0 order by attnum
    ) attribute;
    if class.relhassubclass then
      parts := cartage.partition_version(class.oid);
    end if;
    if not attributes.are_computed then
      version := class.oid || '/' || class.made || '/' || class.reads_all || '/' || parts || '/'
        || (select min(made::text) from cartage.change_triggers where relation = class.oid) || '/' || attributes.made || '/'
        || coalesce((
          select string_agg(concat_ws(' ', transaction, extract(epoch from updated_at)), ',' order by transaction)
          from cartage.table_changes where relation = class.oid), '');
    end if;
    if version = known and class.reads_all and not attributes.have_own_types then
      return jsonb_build_object('is_known', true, 'is_moved', is_moved);
    end if;
  end if;
  columns := cartodb._CDB_TileColumns(class.oid);
  if columns is null then
    return null;
  end if;
  return jsonb_build_object('schema', schema_name, 'name', relation_name, 'kind', class.relkind, 'rows', class.reltuples,
    'columns', columns, 'version', version, 'comment', obj_description(class.oid, 'pg_class'), 'is_moved', is_moved);
end
$$;
