-- CDB_CartodbfyTable: prepares a table for maps, in place. What is right already is left alone.
--
-- Everything runs with the rights of the caller, and no step changes the role: code that runs meanwhile could change it back. A
-- table is prepared by its owner, or by the master role if it belongs to a key and holds only data. What a key owns is made by
-- the master role and then given to the key.

create function cartodb._CDB_MayPrepare(owner name) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return owner = current_user or cartodb._CDB_IsKeyOf(owner, current_user);

create function cartodb._CDB_CheckTable(relation regclass) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  class pg_class;
  fault record;
begin
  select * into class from pg_class where oid = relation;
  if not found then
    raise exception 'relation with OID % does not exist', relation::oid using errcode = 'undefined_table';
  elsif not cartodb._CDB_MayPrepare(pg_get_userbyid(class.relowner)) then
    raise exception 'must be owner of table %', class.relname using errcode = 'insufficient_privilege';
  elsif class.relkind not in ('r', 'p') or class.relpersistence = 't' then
    raise exception '% is not a table that can be prepared: it is a view, foreign or temporary', relation
      using errcode = 'wrong_object_type';
  elsif class.relispartition then
    raise exception '% is a partition: prepare table % instead', relation, pg_partition_root(relation)
      using errcode = 'wrong_object_type';
  end if;
  select * into fault from cartodb._CDB_CodeOfOthers(relation);
  if found then
    raise exception '% of table % %, which is not yours', fault.place, fault.relation, fault.fault
      using errcode = 'insufficient_privilege', hint = 'Drop it, or let the owner of the table prepare it.';
  end if;
end
$$;

-- Objects that depend on a column. PostgreSQL does not change the type of a column that a view, a trigger or a policy uses.
-- These functions drop such objects and make them again as they were: definition, owner, grants, comments.

-- Grants and revokes until the privileges on a relation, or on one of its columns, are the wanted ones.
create function cartodb._CDB_RestoreGrants(relation regclass, wanted aclitem[], column_name name default null)
returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  present constant aclitem[] := case
    when column_name is null then
      (select coalesce(relacl, acldefault('r', relowner)) from pg_class where oid = relation)
    else
      (select attacl from pg_attribute where attrelid = relation and attname = column_name)
  end;
  place constant text := coalesce(' (' || quote_ident(column_name) || ')', '') || format(' on %s', relation);
  command text;
begin
  for command in
    with
    -- aclexplode does not take an empty array.
    wished as (
      select grantee, privilege_type, is_grantable from unnest(wanted) item, aclexplode(array[item])
    ),
    found as (
      select grantee, privilege_type, is_grantable from unnest(present) item, aclexplode(array[item])
    ),
    differences as (
      select 'revoke %s%s from %s' as act, * from (table found except table wished) superfluous
      union all
      select 'grant %s%s to %s' || case when is_grantable then ' with grant option' else '' end, *
      from (table wished except table found) missing
    )
    select format(act, privilege_type, place,
      case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end)
    from differences
    order by act desc
  loop
    execute command;
  end loop;
end
$$;

-- The commands that make a trigger, a policy or a view again, in order.
create function cartodb._CDB_TriggerCommands(trigger oid) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select unnest(array[
    pg_get_triggerdef(oid),
    case tgenabled
      when 'D' then format('alter table %s disable trigger %I', tgrelid::regclass, tgname)
      when 'R' then format('alter table %s enable replica trigger %I', tgrelid::regclass, tgname)
      when 'A' then format('alter table %s enable always trigger %I', tgrelid::regclass, tgname)
    end,
    format('comment on trigger %I on %s is ', tgname, tgrelid::regclass)
      || quote_literal(obj_description(oid, 'pg_trigger'))])
  from pg_trigger
  where oid = trigger and not tgisinternal
$$;

create function cartodb._CDB_PolicyCommands(policy oid) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select unnest(array[
    format('create policy %I on %s as %s for %s to %s', polname, polrelid::regclass,
        case when polpermissive then 'permissive' else 'restrictive' end,
        case polcmd
          when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all'
        end,
        (select string_agg(case role when 0 then 'public' else quote_ident(pg_get_userbyid(role)) end, ', ')
         from unnest(polroles) role))
      || coalesce(format(' using (%s)', pg_get_expr(polqual, polrelid)), '')
      || coalesce(format(' with check (%s)', pg_get_expr(polwithcheck, polrelid)), ''),
    format('comment on policy %I on %s is ', polname, polrelid::regclass)
      || quote_literal(obj_description(oid, 'pg_policy'))])
  from pg_policy
  where oid = policy
$$;

-- A materialized view is filled last, when it has its owner: PostgreSQL runs its query as the owner.
create function cartodb._CDB_ViewCommands(view regclass) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  with described as (
    select *, case relkind when 'm' then 'materialized view' else 'view' end as kind
    from pg_class where oid = view
  )
  select command
  from (
    select 1 as step, format('create %s %s %s as %s %s', kind, view,
      (select 'with (' || string_agg(format('%I = %L', option_name, option_value), ', ') || ')'
       from pg_options_to_table(reloptions)),
      rtrim(pg_get_viewdef(view), ';'),
      case relkind when 'm' then 'with no data' end) as command
    from described
    union all
    select 2, format('alter view %s alter column %I set default %s', view, attname, pg_get_expr(adbin, adrelid))
    from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
    where adrelid = view
    union all
    select 2, pg_get_indexdef(indexrelid) from pg_index where indrelid = view
    union all
    select 2, pg_get_ruledef(oid) from pg_rewrite where ev_class = view and rulename <> '_RETURN'
    union all
    select 2, created from pg_trigger, cartodb._CDB_TriggerCommands(oid) created where tgrelid = view
    union all
    select 3, format('comment on %s %s is %L', kind, view, description)
    from described join pg_description on objoid = view and classoid = 'pg_class'::regclass and objsubid = 0
    union all
    select 3, format('comment on column %s.%I is %L', view, attname, description)
    from pg_attribute join pg_description on objoid = attrelid and classoid = 'pg_class'::regclass and objsubid = attnum
    where attrelid = view
    union all
    select 4, format('alter %s %s owner to %I', kind, view, cartodb._CDB_OwnerOf(view))
    from described where cartodb._CDB_OwnerOf(view) <> current_user
    union all
    select 5, format('select cartodb._CDB_RestoreGrants(%L, %L)', view, coalesce(relacl, acldefault('r', relowner)))
    from described
    union all
    select 5, format('select cartodb._CDB_RestoreGrants(%L, %L, %L)', view, attacl, attname)
    from pg_attribute where attrelid = view and attacl is not null
    union all
    select 6, format('refresh materialized view %s', view) from described where relkind = 'm' and relispopulated
  ) commands
  order by step
$$;

-- What uses the given columns of a table, or of the tables that inherit them, the deepest view first: each with its owner, the
-- command that drops it, and the commands that make it again.
create function cartodb._CDB_Dependents(relation regclass, columns name[])
returns table (object text, owner name, drop_command text, commands text[])
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive
  family (relation) as (
    select relation::oid
    union
    select inhrelid from family join pg_inherits on inhparent = family.relation
  ),
  used as (
    select classid, objid
    from family
    join pg_attribute on attrelid = family.relation and attname = any (columns)
    join pg_depend on refclassid = 'pg_class'::regclass and refobjid = attrelid and refobjsubid = attnum
  ),
  views (view, depth) as (
    select ev_class, 1 from used join pg_rewrite on classid = 'pg_rewrite'::regclass and oid = objid
    where ev_class not in (select family.relation from family)
    union
    select ev_class, depth + 1
    from views
    join pg_depend on refclassid = 'pg_class'::regclass and refobjid = view and classid = 'pg_rewrite'::regclass
    join pg_rewrite on oid = objid and ev_class <> view
  ),
  dependents as (
    select 'view ' || view::regclass as object, max(depth) as depth, view as owned_by,
           format('drop %s %s', case relkind when 'm' then 'materialized view' else 'view' end, view::regclass)
             as drop_command,
           array(select cartodb._CDB_ViewCommands(view)) as commands
    from views join pg_class on oid = view and relkind in ('v', 'm')
    group by view, relkind
    union all
    select 'trigger ' || tgname, 0, tgrelid, format('drop trigger %I on %s', tgname, tgrelid::regclass),
           array(select cartodb._CDB_TriggerCommands(oid))
    from pg_trigger
    where oid in (select objid from used where classid = 'pg_trigger'::regclass)
      and not tgisinternal and tgparentid = 0
    union all
    select 'policy ' || polname, 0, polrelid, format('drop policy %I on %s', polname, polrelid::regclass),
           array(select cartodb._CDB_PolicyCommands(oid))
    from pg_policy
    where oid in (select objid from used where classid = 'pg_policy'::regclass)
  )
  select object, pg_get_userbyid(relowner), drop_command, commands
  from dependents join pg_class on oid = owned_by
  order by depth desc
$$;

-- The key: cartodb_id, an integer that is filled by a sequence

-- The column that holds the ids: `cartodb_id` in any case, or an integer primary key. (The primary key of a partitioned table
-- also has the columns of the partition.)
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

-- SQL that reads cartodb_id as a whole number. Raises if a value is none.
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

-- A primary key on other columns becomes a unique constraint. Foreign keys to it are made again.
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

-- The next id comes after the highest. A sequence that another role owns is not set.
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

-- Roles that may insert rows may use the sequence.
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

-- The columns and the triggers

create function cartodb._CDB_NameColumns(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  new_name name;
  old_name name;
begin
  foreach new_name in array '{cartodb_id,the_geom,the_geom_webmercator}'::name[] loop
    old_name := case new_name
      when 'cartodb_id' then cartodb._CDB_KeyColumn(relation)
      when 'the_geom' then cartodb._CDB_GeometryColumn(relation)
      else cartodb._CDB_WebmercatorColumn(relation)
    end;
    if old_name <> new_name then
      execute format('alter table %s rename column %I to %I', relation, old_name, new_name);
    end if;
  end loop;
end
$$;

-- Gives the columns of a table the types of a prepared one, and the geometry that is in `source`, in one ALTER TABLE: the table
-- is written once. Drops what uses the columns before, and makes it again after. (It takes no SQL as text: every tenant can
-- call it, and a text could be an EXPLAIN, which fires no event trigger.)
create function cartodb._CDB_AlterColumns(relation regclass, source name) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  changes constant text[] := cartodb._CDB_KeyChanges(relation) || cartodb._CDB_GeometryChanges(relation, source);
  columns constant name[] := array(
    select name from unnest('{cartodb_id,the_geom,the_geom_webmercator}'::name[]) name
    where array_to_string(changes, ';') like format('%%alter column %I type%%', name));
  dependents constant jsonb := (select jsonb_agg(one) from cartodb._CDB_Dependents(relation, columns) one);
  dependent record;
begin
  if changes = '{}' then
    return;
  end if;
  for dependent in
    select * from jsonb_to_recordset(dependents) as saved (object text, owner name, drop_command text)
  loop
    if not cartodb._CDB_MayPrepare(dependent.owner) then
      raise exception '% uses table % and belongs to another user', dependent.object, relation
        using errcode = 'dependent_objects_still_exist', hint = 'Its owner has to drop it first.';
    end if;
    execute dependent.drop_command;
  end loop;

  execute format('alter table %s %s', relation, array_to_string(changes, ', '));

  for dependent in
    select step.command
    from rows from (jsonb_to_recordset(dependents) as (commands text[])) with ordinality as saved (commands, place),
         unnest(saved.commands) with ordinality as step (command, place)
    where step.command is not null
    order by saved.place desc, step.place
  loop
    execute dependent.command;
  end loop;
end
$$;

-- Adds the geometry columns that are missing, and gives the three columns their types.
create function cartodb._CDB_ConvertColumns(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  type constant text := cartodb._CDB_ExactType(relation, 'the_geom');
  source constant name := case
    when type is not null or cartodb._CDB_AsGeometry(relation, 'the_geom_webmercator') is null then 'the_geom'
    else 'the_geom_webmercator'
  end;
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
  perform cartodb._CDB_AlterColumns(relation, source);
exception when internal_error then
  -- PostGIS reports a text that is no geometry so; its hint shows the text.
  get stacked diagnostics hint = pg_exception_hint;
  raise exception 'the_geom of table % cannot become a geometry: %', relation,
      concat_ws(': ', sqlerrm, nullif(hint, ''))
    using errcode = 'data_exception';
end
$$;

-- The commands that make the indexes and triggers of a prepared table that this one lacks. A statement trigger does not reach
-- the partitions, which can be written to directly; a row trigger does.
create function cartodb._CDB_MissingParts(relation regclass) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select format('create index on %s using gist (%I)', relation, attname)
  from pg_attribute
  where attrelid = relation and attname in ('the_geom', 'the_geom_webmercator') and not attisdropped
    and not exists (
      select from pg_index
      join pg_class index on index.oid = indexrelid
      join pg_am on pg_am.oid = relam and amname = 'gist'
      where indrelid = relation and indkey[0] = attnum and indpred is null and indisvalid)
  union all
  select unnest(array[
    case when exists (select from pg_trigger where tgrelid = member.relid and tgname = wanted.name)
      then format('drop trigger %I on %s', wanted.name, member.relid) end,
    format('create trigger %I %s on %s for each %s execute function %s()',
      wanted.name, wanted.event, member.relid, wanted.level, wanted.handler)])
  from (values
    ('track_updates', 'after insert or update or delete or truncate', 'statement', 'cartodb.CDB_TableMetadata_Trigger'),
    ('test_quota', 'after insert or update', 'statement', 'cartodb.CDB_CheckQuota'),
    ('test_quota_per_row', 'before insert or update', 'row when (new.cartodb_id % 256 = 0)', 'cartodb.CDB_CheckQuota'),
    ('update_the_geom_webmercator_trigger', 'before insert or update of the_geom, the_geom_webmercator', 'row',
      'cartodb._CDB_Update_The_Geom_Webmercator')
  ) wanted (name, event, level, handler)
  join (
    select relation as relid
    union
    select relid from pg_partition_tree(relation)
  ) member on member.relid = relation or wanted.level = 'statement'
  where not exists (
    select from pg_trigger
    where tgrelid = member.relid and tgname = wanted.name and tgfoid = wanted.handler::regproc
      and tgenabled in ('O', 'A'))
$$;

create function cartodb._CDB_IsPrepared(relation regclass) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(cartodb._CDB_ExactType(relation, 'cartodb_id') in ('integer', 'bigint')
      and cartodb._CDB_ExactType(relation, 'the_geom') = 'postgis.geometry(Geometry,4326)'
      and cartodb._CDB_ExactType(relation, 'the_geom_webmercator') = 'postgis.geometry(Geometry,3857)', false)
    and cartodb._CDB_HasKey(relation) and cartodb._CDB_KeySequence(relation) is not null
    and not exists (select from cartodb._CDB_MissingParts(relation))
$$;

-- Preparing a table counts like writing to it.
create function cartodb._CDB_CheckQuotaOf(relation regclass) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb.CDB_Username() is not null
    and pg_has_role(session_user, (select relowner from pg_class where oid = relation), 'USAGE') then
    perform cartage.enforce_quota(username) from cartage.account_relations mine where mine.relation = $1;
  end if;
end
$$;

-- The function itself

create function cartodb.CDB_CartodbfyTable(reloid regclass) returns regclass
language plpgsql strict set search_path = pg_catalog, pg_temp as $$
declare
  command text;
begin
  perform cartodb._CDB_CheckTable(reloid);
  if cartodb._CDB_IsPrepared(reloid) then
    perform cartodb._CDB_AdvanceSequence(reloid);
    return reloid;
  end if;

  execute format('lock table %s in access exclusive mode', reloid);
  -- Before the lock was taken, the owner could still change the table.
  perform cartodb._CDB_CheckTable(reloid);
  perform cartodb._CDB_NameColumns(reloid);
  perform cartodb._CDB_ConvertColumns(reloid);
  if not cartodb._CDB_HasKey(reloid) then
    perform cartodb._CDB_AddKey(reloid);
  end if;
  if cartodb._CDB_KeySequence(reloid) is null then
    perform cartodb._CDB_AddSequence(reloid);
  end if;
  perform cartodb._CDB_AdvanceSequence(reloid);
  perform cartodb._CDB_ShareSequence(reloid);
  for command in select part from cartodb._CDB_MissingParts(reloid) part where part is not null loop
    execute command;
  end loop;

  perform cartodb.CDB_TableMetadataTouch(reloid);
  perform cartodb._CDB_CheckQuotaOf(reloid);
  return reloid;
end
$$;

-- Members of organizations name themselves first. Older clients name the schema instead.
create function cartodb._CDB_CheckMember(member text, relation regclass) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (
    select from cartage.accounts
    where member in (username, schema_name)
      and username in (
        select cartodb.CDB_Username()
        union all
        select mine.username from cartage.account_relations mine where mine.relation = $2))
  then
    raise exception '"%" is neither your user name nor that of the owner of table %', member, relation
      using errcode = 'invalid_parameter_value';
  end if;
end
$$;

create function cartodb.CDB_CartodbfyTable(username text, reloid regclass) returns regclass
language plpgsql strict set search_path = pg_catalog, pg_temp as $$
begin
  perform cartodb._CDB_CheckMember(username, reloid);
  return cartodb.CDB_CartodbfyTable(reloid);
end
$$;
