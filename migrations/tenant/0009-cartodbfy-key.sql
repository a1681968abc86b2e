-- The key of a prepared table: cartodb_id, an integer, filled by a sequence.

-- The column that holds the ids: `cartodb_id` in any case, or an integer primary key. (In a partitioned table the
-- primary key names the partition too.)
create function cartodb._CDB_KeyColumn(relation regclass) returns name
language sql stable set search_path = pg_catalog, pg_temp as $$
  select attname
  from pg_attribute
  left join pg_index on indrelid = attrelid and indisprimary and attnum = any (indkey)
  left join pg_partitioned_table on partrelid = attrelid
  where attrelid = relation and attnum > 0 and not attisdropped
    and (lower(attname) = 'cartodb_id'
      or atttypid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
        and (indnkeyatts = 1 or indnkeyatts - 1 = partnatts and attnum <> all (partattrs)))
  order by attname = 'cartodb_id' desc, lower(attname) = 'cartodb_id' desc
  limit 1
$$;

-- SQL that reads cartodb_id as a whole number. Raises where a value is none.
create function cartodb._CDB_AsInteger(relation regclass) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  type constant text := cartodb._CDB_ExactType(relation, 'cartodb_id');
  digits constant text := case
    when type ~ '^(smallint|integer|bigint|numeric|real|double precision)' then '(cartodb_id::numeric)::text'
    when type ~ '^(text|character)' then 'btrim(cartodb_id::text)'
  end;
  bad text;
begin
  if digits is not null then
    execute format('select %1$s from %2$s where %1$s !~ %3$L limit 1', digits, relation, '^[+-]?[0-9]{1,18}([.]0*)?$')
      into bad;
  end if;
  if digits is null or bad is not null then
    raise exception 'cartodb_id of table % must be an integer, but %', relation,
        case when digits is null then 'its type is ' || type else format('one is %L', bad) end
      using errcode = 'invalid_text_representation';
  end if;
  return format('(%s)::numeric', digits);
end
$$;

create function cartodb._CDB_KeyChanges(relation regclass) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  type constant text := cartodb._CDB_ExactType(relation, 'cartodb_id');
  as_integer text;
  new_type text;
begin
  if type is null then
    return '{add column cartodb_id serial}';
  elsif type in ('integer', 'bigint') then
    return '{}';
  end if;
  as_integer := cartodb._CDB_AsInteger(relation);
  execute format($sql$select case when max(abs(%s)) > 2147483647 then 'bigint' else 'integer' end from %s$sql$,
    as_integer, relation) into new_type;
  return cartodb._CDB_ChangeType(relation, 'cartodb_id', new_type, as_integer);
end
$$;

create function cartodb._CDB_HasKey(relation regclass) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from pg_index
    join pg_attribute on attrelid = indrelid and attname = 'cartodb_id' and attnum = any (indkey)
    left join pg_partitioned_table on partrelid = indrelid
    where indrelid = relation and indisprimary and indisvalid and indnkeyatts <= 1 + coalesce(partnatts, 0))
$$;

-- A primary key on other columns becomes a unique constraint; foreign keys to it are made again.
create function cartodb._CDB_DemoteKey(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  key pg_constraint;
  foreign_keys jsonb;
  foreign_key record;
begin
  select * into key from pg_constraint where conrelid = relation and contype = 'p';
  if not found then
    return;
  end if;
  select jsonb_agg(jsonb_build_object(
    'owner', pg_get_userbyid(relowner), 'name', conname, 'table', conrelid::regclass::text,
    'definition', pg_get_constraintdef(pg_constraint.oid))) into foreign_keys
  from pg_constraint join pg_class on pg_class.oid = conrelid
  where contype = 'f' and conindid = key.conindid and conparentid = 0;

  for foreign_key in select * from jsonb_to_recordset(foreign_keys) as saved (owner name, name name, "table" text) loop
    if not cartodb._CDB_MayPrepare(foreign_key.owner) then
      raise exception 'table % refers to table % and belongs to another user', foreign_key.table, relation
        using errcode = 'dependent_objects_still_exist', hint = 'Its owner has to drop the foreign key first.';
    end if;
    execute format('alter table %s drop constraint %I', foreign_key.table, foreign_key.name);
  end loop;
  execute format('alter table %s drop constraint %I, add constraint %2$I %s', relation, key.conname,
    regexp_replace(pg_get_constraintdef(key.oid), '^PRIMARY KEY', 'UNIQUE'));
  for foreign_key in
    select * from jsonb_to_recordset(foreign_keys) as saved (name name, "table" text, definition text)
  loop
    execute format('alter table %s add constraint %I %s', foreign_key.table, foreign_key.name, foreign_key.definition);
  end loop;
end
$$;

create function cartodb._CDB_AddKey(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  has_null boolean;
  partition_columns text;
  duplicate text;
begin
  execute format('select exists (select from %s where cartodb_id is null)', relation) into has_null;
  if has_null then
    raise exception 'cartodb_id of table % must not be null, but in some rows it is', relation
      using errcode = 'not_null_violation';
  end if;
  select string_agg(format(', %I', attname), '' order by attnum) into partition_columns
  from pg_partitioned_table join pg_attribute on attrelid = partrelid and attnum = any (partattrs)
  where partrelid = relation and attname <> 'cartodb_id';
  perform cartodb._CDB_DemoteKey(relation);
  execute format('alter table %s add primary key (cartodb_id%s)', relation, partition_columns);
exception when unique_violation then
  get stacked diagnostics duplicate = pg_exception_detail;
  raise exception 'cartodb_id of table % must be unique, but some rows have the same', relation
    using errcode = 'unique_violation', detail = duplicate;
end
$$;

-- The sequence that fills cartodb_id, by its default or as an identity.
create function cartodb._CDB_KeySequence(relation regclass) returns regclass
language sql stable set search_path = pg_catalog, pg_temp as $$
  select sequence.oid
  from pg_attribute
  left join pg_attrdef on adrelid = attrelid and adnum = attnum
  join pg_depend on classid = 'pg_attrdef'::regclass and objid = pg_attrdef.oid and refclassid = 'pg_class'::regclass
    or attidentity <> '' and classid = 'pg_class'::regclass and deptype = 'i'
      and refclassid = 'pg_class'::regclass and refobjid = attrelid and refobjsubid = attnum
  join pg_class sequence on relkind = 'S'
    and sequence.oid = case classid when 'pg_attrdef'::regclass then refobjid else objid end
  where attrelid = relation and attname = 'cartodb_id' and not attisdropped
  limit 1
$$;

-- A name that no relation of the schema has.
create function cartodb._CDB_FreeName(schema oid, stem text, suffix text) returns name
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  number text := '';
  short text := stem;
begin
  loop
    while octet_length(short || suffix || number) > 63 loop
      short := left(short, -1);
    end loop;
    exit when not exists (select from pg_class where relnamespace = schema and relname = short || suffix || number);
    number := coalesce(nullif(number, '')::int, 0) + 1;
  end loop;
  return short || suffix || number;
end
$$;

create function cartodb._CDB_AddSequence(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner constant name := cartodb._CDB_OwnerOf(relation);
  sequence text;
begin
  select format('%I.%I', nspname, cartodb._CDB_FreeName(relnamespace, relname, '_cartodb_id_seq')) into sequence
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where pg_class.oid = relation;
  execute format('create sequence %s as %s', sequence, cartodb._CDB_ExactType(relation, 'cartodb_id'));
  if owner <> current_user then
    execute format('alter sequence %s owner to %I', sequence, owner);
  end if;
  execute format('alter sequence %s owned by %s.cartodb_id', sequence, relation);
  execute format('alter table %s alter column cartodb_id set default nextval(%L)', relation, sequence);
end
$$;

-- The next id comes after the highest there is. (A sequence that someone else owns is theirs to set.)
create function cartodb._CDB_AdvanceSequence(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  sequence constant regclass := cartodb._CDB_KeySequence(relation);
  highest bigint;
  next_id bigint;
begin
  if not (has_sequence_privilege(sequence, 'SELECT') and has_sequence_privilege(sequence, 'UPDATE')) then
    return;
  end if;
  execute format('select max(cartodb_id) from %s', relation) into highest;
  execute format('select last_value + is_called::int from %s', sequence) into next_id;
  if highest >= next_id then
    perform setval(sequence, highest);
  end if;
end
$$;

-- Whoever may insert rows may take ids.
create function cartodb._CDB_ShareSequence(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  sequence constant regclass := cartodb._CDB_KeySequence(relation);
  inserter text;
begin
  for inserter in
    select distinct case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end
    from (
      select relacl as acl from pg_class where oid = relation
      union all
      select attacl from pg_attribute where attrelid = relation
    ) granted, aclexplode(acl)
    where privilege_type = 'INSERT'
      and grantee not in (
        select holder.grantee from pg_class, aclexplode(coalesce(relacl, acldefault('S', relowner))) holder
        where oid = sequence and holder.privilege_type = 'USAGE')
      and pg_has_role((select relowner from pg_class where oid = sequence), 'USAGE')
  loop
    execute format('grant usage on sequence %s to %s', sequence, inserter);
  end loop;
end
$$;
