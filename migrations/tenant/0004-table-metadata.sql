-- When did a table change. Writers only ever add a row and remove rows that nobody else holds, so two
-- transactions that write to one table do not wait for each other; the latest row counts.
create table cartage.table_changes (
  relation    oid not null,
  updated_at  timestamptz not null,
  transaction xid8 not null
);

create index on cartage.table_changes (relation);

create function cartage.record_change(changed oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from cartage.table_changes where relation = changed and transaction = pg_current_xact_id()) then
    return;
  end if;
  -- Under REPEATABLE READ a row that someone else removed would be a serialization failure.
  if current_setting('transaction_isolation') = 'read committed' then
    delete from cartage.table_changes
    where ctid = any (array(
      select ctid from cartage.table_changes where relation = changed for update skip locked));
    if not found then
      -- A table that is new here: the time to forget those that are gone.
      delete from cartage.table_changes
      where ctid = any (array(
        select ctid from cartage.table_changes change
        where not exists (select from pg_class where oid = change.relation) for update skip locked));
    end if;
  end if;
  insert into cartage.table_changes values (changed, clock_timestamp(), pg_current_xact_id());
end
$$;

-- Readers see a change when it commits, so that is its time: a writer that started early and ends late
-- must not hide behind one that ended before it.
create function cartage.stamp_change() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update cartage.table_changes set updated_at = clock_timestamp()
  where relation = new.relation and transaction = new.transaction;
  return null;
end
$$;

create constraint trigger stamp_change after insert on cartage.table_changes
  deferrable initially deferred for each row execute function cartage.stamp_change();

create view cartodb.CDB_TableMetadata with (security_barrier) as
select change.relation::regclass as tabname, max(change.updated_at) as updated_at
from cartage.table_changes change
join pg_catalog.pg_class class on class.oid = change.relation
where pg_catalog.has_any_column_privilege(class.oid, 'SELECT')
group by change.relation;

create view cartodb.CDB_TableMetadata_Text with (security_barrier) as
select pg_catalog.format('%I.%I', namespace.nspname, class.relname) as tabname, metadata.updated_at
from cartodb.CDB_TableMetadata metadata
join pg_catalog.pg_class class on class.oid = metadata.tabname
join pg_catalog.pg_namespace namespace on namespace.oid = class.relnamespace;

grant select on cartodb.CDB_TableMetadata, cartodb.CDB_TableMetadata_Text to public;

create function cartodb._CDB_Touch(tablename regclass) returns void
language plpgsql strict security definer set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb.CDB_Username() is null
    or not has_table_privilege(session_user, tablename, 'INSERT, UPDATE, DELETE, TRUNCATE') then
    raise exception 'permission denied for table %', tablename using errcode = 'insufficient_privilege';
  end if;
  perform cartage.record_change(tablename);
end
$$;

create function cartodb.CDB_TableMetadataTouch(tablename regclass) returns void
language plpgsql strict set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_IsOperator() then
    perform cartage.record_change(tablename);
  else
    perform cartodb._CDB_Touch(tablename);
  end if;
end
$$;

-- A change to a partition is a change to its table.
create function cartodb.CDB_TableMetadata_Trigger() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform cartage.record_change(coalesce(pg_partition_root(tg_relid), tg_relid));
  return null;
end
$$;

-- May a role read anything of a table: all of it, some columns, or a partition by itself? (pg_partition_tree would wait for
-- whoever has a partition locked.)
create function cartodb._CDB_IsReadable(relation oid, role name) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  with recursive part (oid) as (
    select relation
    union all
    select inhrelid from part join pg_inherits on inhparent = part.oid join pg_class on pg_class.oid = inhrelid
    where relispartition
  )
  select exists (select from part where has_any_column_privilege(role, part.oid, 'SELECT'));
end;

-- The tables in the caller's own schema that the caller may read: 'public' (also readable without a
-- key), 'private' or 'all'.
create function cartodb.CDB_UserTables(perm text default 'all') returns setof information_schema.sql_identifier
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select mine.relname::information_schema.sql_identifier
  from cartage.account_relations mine
  join cartage.accounts account on account.username = mine.username
  where account.username = cartodb.CDB_Username()
    and mine.relnamespace = to_regnamespace(quote_ident(account.schema_name))
    and mine.relkind in ('r', 'p') and not mine.relispartition
    and has_table_privilege(session_user, mine.relation, 'SELECT')
    and case perm
      when 'all' then true
      when 'public' then cartodb._CDB_IsReadable(mine.relation, account.public_role)
      when 'private' then not cartodb._CDB_IsReadable(mine.relation, account.public_role)
    end
  order by mine.relname;
end;

create function cartodb.CDB_ColumnNames(regclass) returns setof information_schema.sql_identifier
language sql stable parallel safe set search_path = pg_catalog, pg_temp
begin atomic
  select attname::information_schema.sql_identifier
  from pg_catalog.pg_attribute
  where attrelid = $1 and attnum > 0 and not attisdropped
  order by attnum;
end;

-- Functions of ours whose texts name the schema. Bodies in the standard's syntax were bound at installation and follow
-- by themselves.
create function cartodb.CDB_ColumnType(regclass, text) returns information_schema.character_data
language sql stable parallel safe set search_path = pg_catalog, pg_temp
return (
  select regexp_replace(format_type(atttypid, null), '^postgis\.', '')::information_schema.character_data
  from pg_catalog.pg_attribute
  where attrelid = $1 and attname = $2 and attnum > 0 and not attisdropped
);
