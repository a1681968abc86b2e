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
begin
  return (
    select jsonb_agg(case kind
        when 'geometry' then jsonb_build_object('name', attname, 'kind', kind,
          'srid', postgis.postgis_typmod_srid(base_modifier), 'type', upper(postgis.postgis_typmod_type(base_modifier)))
        when 'enum' then jsonb_build_object('name', attname, 'kind', kind,
          'labels', (select md5(string_agg(enumlabel, ',' order by pg_enum.oid)) from pg_enum where enumtypid = base))
        else jsonb_build_object('name', attname, 'kind', kind) end order by attnum)
    from (
      select attname, attnum, base, base_modifier, case
          when base = 'bool'::regtype then 'boolean'
          when base in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) then 'integer'
          when base in ('float4'::regtype, 'float8'::regtype) then 'float'
          when base = 'numeric'::regtype then 'numeric'
          when base = 'uuid'::regtype then 'uuid'
          when typtype = 'e' then 'enum'
          when typtype = 'b' and (typcategory = 'S' or base = '"char"'::regtype) then 'text'
          when typtype = 'b' and typcategory = 'D' then 'date'
          when typname = 'geometry' and typnamespace = 'postgis'::regnamespace then 'geometry'
        end as kind
      from pg_attribute, cartodb._CDB_BaseType(atttypid, atttypmod), pg_type
      where attrelid = relation and attnum > 0 and not attisdropped and pg_type.oid = base
        and (reads_all or has_column_privilege(session_user, relation, attnum, 'SELECT'))
    ) shown
    where kind is not null);
end
$$;

-- The enabled trigger that records every change to a table; null without one.
create function cartage.change_trigger(relation oid) returns xid
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select max(xmin::text)::xid from pg_trigger
  where tgrelid = relation and tgfoid = 'cartodb.cdb_tablemetadata_trigger()'::regprocedure and tgenabled in ('O', 'A')
    -- After each statement that inserts, updates, deletes or truncates, without a condition.
    and tgtype = 4 + 8 + 16 + 32 and tgqual is null and cardinality(tgattr::int2[]) = 0;
end;

-- The state of a table, a text that differs after every committed change to its rows or its definition. Null if that cannot
-- be told: of a view, a foreign table, a table under row security, one without the trigger for changes.
--
-- The transaction that changes a table also writes table_changes, so a snapshot sees both or neither.
create function cartodb._CDB_TileVersion(relation oid) returns text
language plpgsql stable strict security definer set search_path = pg_catalog, pg_temp as $$
declare
  class record;
  recorder constant xid := cartage.change_trigger(relation);
  parts text;
  are_recorded boolean;
begin
  select relkind, relhassubclass, xmin as made into class from pg_class
  where oid = relation and relkind in ('r', 'p') and not relrowsecurity and not relispartition and relpersistence = 'p';
  if not found or recorder is null or not has_any_column_privilege(session_user, relation, 'SELECT')
    -- A virtual generated column is computed when it is read.
    or exists (select from pg_attribute where attrelid = relation and attnum > 0 and attgenerated not in ('', 's')) then
    return null;
  end if;
  if class.relhassubclass then
    with recursive part (oid, attached) as (
      select inhrelid, xmin from pg_inherits where inhparent = relation
      union all
      select inhrelid, pg_inherits.xmin from part join pg_inherits on inhparent = part.oid
    ),
    known as (
      select part.oid, attached, pg_class.xmin as made, cartage.change_trigger(part.oid) as recorder,
        class.relkind = 'p' and relkind in ('r', 'p') and relpersistence = 'p' as is_plain
      from part join pg_class on pg_class.oid = part.oid
    )
    select bool_and(is_plain and known.recorder is not null),
      string_agg(concat_ws(' ', oid, attached, made, known.recorder), ',' order by oid)
    into are_recorded, parts from known;
    if not are_recorded then
      return null;
    end if;
  end if;
  return concat_ws('/', relation, class.made, recorder, parts,
    (select string_agg(concat_ws(' ', transaction, extract(epoch from updated_at)), ',' order by transaction)
     from cartage.table_changes change where change.relation = _CDB_TileVersion.relation),
    (select string_agg(xmin::text, ',' order by attnum) from pg_attribute
     where attrelid = _CDB_TileVersion.relation and attnum > 0));
end
$$;

-- A relation as a layer of tiles; null if there is none that the calling role may read. `is_moved`: its rows were rewritten
-- after the snapshot was taken, which therefore sees none (TRUNCATE is not MVCC-safe).
create function cartodb._CDB_TileLayer(schema_name text, relation_name text) returns jsonb
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  class record;
  columns jsonb;
begin
  select pg_class.oid, relkind, reltuples, relfilenode into class
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where nspname = schema_name::name and relname = relation_name::name and relkind in ('r', 'p', 'v', 'm', 'f')
    and has_schema_privilege(session_user, relnamespace, 'USAGE');
  if not found then
    return null;
  end if;
  columns := cartodb._CDB_TileColumns(class.oid);
  if columns is null then
    return null;
  end if;
  return jsonb_build_object('schema', schema_name, 'name', relation_name, 'kind', class.relkind,
    'rows', class.reltuples, 'columns', columns, 'version', cartodb._CDB_TileVersion(class.oid),
    'comment', obj_description(class.oid, 'pg_class'),
    'is_moved', class.relfilenode <> 0 and pg_relation_filenode(class.oid) is distinct from class.relfilenode);
end
$$;
