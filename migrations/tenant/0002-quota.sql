-- How much an account may store, how much it does, and the checks that hold it to that.

-- What tenants own. A relation belongs to the account in whose schema it lies; outside every account's schema it
-- belongs to the account of its owner. Temporary tables belong to nobody.
create view cartage.account_relations as
select coalesce(
         (select username from cartage.accounts where schema_name = namespace.nspname),
         (select username from cartage.roles where role_name = pg_catalog.pg_get_userbyid(class.relowner))
       ) as username,
       class.oid as relation,
       class.relname,
       class.relnamespace,
       class.relkind,
       class.relispartition,
       class.reltoastrelid,
       class.xmin as changed_by
from pg_catalog.pg_class class
join pg_catalog.pg_namespace namespace on namespace.oid = class.relnamespace
where class.relkind in ('r', 'm', 'p') and class.relpersistence <> 't'
  and class.relowner = any (array(
    select pg_catalog.to_regrole(pg_catalog.quote_ident(role_name))::oid from cartage.roles));

-- The byte quota of an account, held against the size of its files. A write that ends over quota fails
-- with SQLSTATE QUOTA, always: after each statement on a prepared table, after each DDL command that
-- stores rows, and once more at commit where another transaction could not yet see what this one made.
create function cartodb._CDB_OwnQuotaInBytes(schema_name text) returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp
return (cartage.account_for_caller(schema_name)).quota_in_bytes;

create function cartodb._CDB_UserQuotaInBytes(schema_name text) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_IsOperator() then
    return (cartage.account_of_schema(schema_name)).quota_in_bytes;
  end if;
  return cartodb._CDB_OwnQuotaInBytes(schema_name);
end
$$;

create function cartodb._CDB_UserQuotaInBytes() returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp
return (cartage.account_for_caller(null)).quota_in_bytes;

create function cartodb.CDB_SetUserQuotaInBytes(schema_name text, bytes bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update cartage.accounts set quota_in_bytes = bytes
  where username = (cartage.account_of_schema($1)).username;
  return bytes;
end
$$;

create function cartodb.CDB_SetUserQuotaInBytes(bytes bigint) returns bigint
language sql set search_path = pg_catalog, pg_temp
return cartodb.CDB_SetUserQuotaInBytes('public', bytes);

revoke execute on function
  cartodb.CDB_SetUserQuotaInBytes(text, bigint), cartodb.CDB_SetUserQuotaInBytes(bigint)
  from public;

-- Bytes on disk of these tables with all that belongs to them. They are read from the files: pg_total_relation_size waits
-- for every table that somebody is altering.
create function cartage.stored_bytes(relations oid[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  segment_bytes constant bigint := pg_size_bytes(current_setting('segment_size'));
  bytes bigint;
  has_vanished boolean;
begin
  for attempt in 1..3 loop
    with recursive
    mine as (
      select oid as relation, reltoastrelid from pg_class where oid = any (relations)
    ),
    tables as (
      select relation from mine
      union all
      select reltoastrelid from mine where reltoastrelid <> 0
    ),
    stored as (
      select relation from tables
      union all
      select indexrelid from tables join pg_index on indrelid = relation
    ),
    files (path, fork, segment, size) as (
      select path || fork, fork, 0, (pg_stat_file(path || fork, true)).size
      from stored, pg_relation_filepath(relation) path, unnest('{"",_fsm,_vm,_init}'::text[]) fork
      where path is not null
      union all
      select path, fork, segment + 1, (pg_stat_file(path || '.' || segment + 1, true)).size
      from files where size = segment_bytes
    )
    select coalesce(sum(size), 0), bool_or(size is null and fork = '' and segment = 0) into bytes, has_vanished
    from files;
    -- A table rewritten between the look-up of its path and the look at its file is measured again.
    exit when has_vanished is not true;
  end loop;
  return bytes;
end
$$;

-- Bytes on disk of everything the account owns: what pg_total_relation_size adds up, but read from the files, since
-- that function waits for every table that someone is altering.
create function cartage.data_size(account text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return cartage.stored_bytes(array(select relation from cartage.account_relations where username = account));
end
$$;

create function cartodb._CDB_OwnDataSize(schema_name text) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp
return cartage.data_size((cartage.account_for_caller(schema_name)).username);

create function cartodb.CDB_UserDataSize(schema_name text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_IsOperator() then
    return cartage.data_size((cartage.account_of_schema(schema_name)).username);
  end if;
  return cartodb._CDB_OwnDataSize(schema_name);
end
$$;

create function cartodb.CDB_UserDataSize() returns bigint
language sql security definer set search_path = pg_catalog, pg_temp
return cartage.data_size((cartage.account_for_caller(null)).username);

create function cartodb._CDB_StoredBytes(relation oid) returns bigint
language sql volatile security definer set search_path = pg_catalog, pg_temp
return cartage.stored_bytes(array[relation]);

-- At least so many bytes are left to the account, null where there is no limit. Raises if it is over quota.
create function cartage.quota_left(account text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  quota constant bigint := (select nullif(quota_in_bytes, 0) from cartage.accounts where username = account);
  bytes bigint;
begin
  if quota is null then
    return null;
  end if;
  -- Where the whole database fits into the quota, so does the account, and nothing need be added up.
  bytes := quota - pg_database_size(current_database());
  if bytes < 0 then
    bytes := quota - cartage.data_size(account);
  end if;
  if bytes < 0 then
    raise exception 'Quota exceeded by %KB', ceil(-bytes / 1024.0) using errcode = 'QUOTA';
  end if;
  return bytes;
end
$$;

-- Two transactions that each fill a new table cannot see each other's. Such a transaction is checked once more at
-- commit, where the second waits for the first and then counts both.
create table cartage.commit_checks (
  transaction xid8,
  username    text,
  primary key (transaction, username)
);

-- Whose turn it is to be checked at commit. SET CONSTRAINTS lets a transaction take its turn and go on for as long as it
-- likes: whoever keeps others waiting is ended. So the turn of an account is a lock on a table, of which PostgreSQL tells
-- who holds it, whatever savepoints there were.
create table cartage.commit_turns (
  username text primary key references cartage.accounts on delete cascade,
  -- An empty table. No tenant can reach it.
  turn     regclass not null
);

create function cartage.make_commit_turn() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  turn constant text := format('cartage.%I', 'turn_of_' || md5(new.username));
begin
  execute format('create table %s ()', turn);
  insert into cartage.commit_turns values (new.username, turn::regclass);
  return null;
end
$$;

create function cartage.drop_commit_turn() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('drop table %s', old.turn);
  return null;
end
$$;

create trigger make_commit_turn after insert on cartage.accounts
  for each row execute function cartage.make_commit_turn();

create trigger drop_commit_turn after delete on cartage.commit_turns
  for each row execute function cartage.drop_commit_turn();

-- Waits for the turn; false after a while.
create function cartage.has_commit_turn(turn regclass) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
begin
  execute format('lock table %s in exclusive mode', turn);
  return true;
exception when lock_not_available then
  return false;
end
$$;

-- Ends whoever has the turn, and answers its pid.
create function cartage.end_commit_turn(turn regclass) returns integer
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select max(case when pg_terminate_backend(pid) then pid end)
  from pg_locks
  where locktype = 'relation' and relation = turn and granted and mode = 'ExclusiveLock'
    and database = (select oid from pg_database where datname = current_database())
$$;

-- One transaction of an account is checked at a time, each at its commit.
create function cartage.check_quota_at_commit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  turn constant regclass := (select mine.turn from cartage.commit_turns mine where username = new.username);
  holder integer;
  last_holder integer;
begin
  delete from cartage.commit_checks where transaction = new.transaction and username = new.username;
  while not cartage.has_commit_turn(turn) loop
    last_holder := holder;
    holder := cartage.end_commit_turn(turn);
    -- It was told to end and does not hear it. When it does, it will not commit: what it made need not be counted.
    exit when holder = last_holder;
  end loop;
  perform cartage.quota_left(new.username);
  return null;
end
$$;

create constraint trigger check_quota after insert on cartage.commit_checks
  deferrable initially deferred for each row execute function cartage.check_quota_at_commit();

create function cartage.enforce_quota(account text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- A relation whose catalog row is not older than this transaction may be one that it made.
  if cartage.quota_left(account) is not null
      and exists (select from cartage.account_relations where username = account and age(changed_by) <= 0) then
    insert into cartage.commit_checks values (pg_current_xact_id(), account) on conflict do nothing;
  end if;
end
$$;

-- The triggers of a prepared table. The statement trigger is the rule. The row trigger, which fires for
-- every 256th cartodb_id, only stops a long COPY or UPDATE early: it looks at its own table, and
-- measures all only when that has grown past the ceiling found the last time. The ceiling is kept in a
-- setting that the tenant could change; that would delay the error to the end of the statement.
create function cartodb.CDB_CheckQuota() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  setting constant text := 'cartage.ceiling_' || tg_relid;
  ceiling constant text := current_setting(setting, true);
  account text;
  table_bytes bigint;
begin
  if tg_level = 'ROW' then
    table_bytes := pg_total_relation_size(tg_relid);
    if ceiling ~ '^[0-9]{1,18}$' and table_bytes <= ceiling::bigint then
      return new;
    end if;
  end if;
  account := (select username from cartage.account_relations where relation = tg_relid);
  if tg_level = 'ROW' then
    perform set_config(setting, (table_bytes + coalesce(cartage.quota_left(account), 1e17::bigint))::text, true);
    return new;
  end if;
  perform cartage.enforce_quota(account);
  return null;
end
$$;

create function cartage.check_quota_after_ddl() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform cartage.enforce_quota(cartodb.CDB_Username());
end
$$;

create event trigger cartage_check_quota on ddl_command_end
  when tag in (
    'CREATE TABLE AS', 'SELECT INTO', 'CREATE MATERIALIZED VIEW', 'REFRESH MATERIALIZED VIEW', 'CREATE INDEX')
  execute function cartage.check_quota_after_ddl();
