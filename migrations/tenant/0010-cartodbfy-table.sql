-- CDB_CartodbfyTable: completes a table in place. Whatever is right already is left alone.

-- What of a table, or of the tables that inherit from it, would run code that is neither the caller's nor harmless.
create function cartodb._CDB_CodeOfOthers(relation regclass, out relation regclass, out place text, out call regprocedure)
returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive family (member) as (
    select $1::oid
    union
    select inhrelid from family join pg_inherits on inhparent = member
  )
  select member::regclass, expression.place, call::regprocedure
  from family
  join pg_class on pg_class.oid = member and pg_get_userbyid(relowner) <> current_user
  cross join lateral cartodb._CDB_Expressions(member) expression
  cross join lateral cartodb._CDB_Calls(expression.tree) call
  join pg_proc on pg_proc.oid = call
  where pg_get_userbyid(proowner) <> current_user and not cartodb._CDB_IsHarmless(call)
$$;

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
    raise exception '% of table % calls %, which is not yours', fault.place, fault.relation, fault.call
      using errcode = 'insufficient_privilege', hint = 'Drop it, or let the owner of the table prepare it.';
  end if;
end
$$;

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

-- Adds what is missing of the two geometries, and gives the three columns their types.
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
  -- The way in which PostGIS says that a text is no geometry; its hint shows the text.
  get stacked diagnostics hint = pg_exception_hint;
  raise exception 'the_geom of table % cannot become a geometry: %', relation,
      concat_ws(': ', sqlerrm, nullif(hint, ''))
    using errcode = 'data_exception';
end
$$;

-- Indexes and triggers that a prepared table has and this one lacks, as the commands that make them. A trigger for
-- statements does not reach the partitions, which can be written to directly; one for rows does.
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
  -- Until the lock was there, the owner could still change the table.
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

-- For members of organizations, who name themselves first. Older clients name the schema instead.
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
