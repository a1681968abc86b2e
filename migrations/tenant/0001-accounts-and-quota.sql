-- The accounts of this database, who is calling, and the quota of bytes.
--
-- Only the service writes to schema `cartage`. Tenants reach it through SECURITY DEFINER functions in schema `cartodb`, which
-- know their caller by session_user: every key logs in as its own role, so session_user is the caller even inside SECURITY
-- DEFINER functions and after SET ROLE.

create schema if not exists cartage;
revoke all on schema cartage from public;
create schema cartodb;
grant usage on schema cartodb to public;

-- Privileges in the public schema are granted to each role by name.
revoke all on schema public from public;
grant usage on schema public to public;

-- PostGIS has a schema of its own, which only the operator can write to: in `public`, tenants could make functions of the
-- same names.
grant usage on schema postgis to public;
revoke all on table postgis.spatial_ref_sys, postgis.geometry_columns, postgis.geography_columns from public;
grant select on table postgis.spatial_ref_sys, postgis.geometry_columns, postgis.geography_columns to public;

-- Names of schemas and roles are compared with those of the catalogs, whose collation is "C". With another collation no index
-- would be used, and every command of a member would read the rows of all members.
create table cartage.accounts (
  username       text primary key,
  schema_name    text collate "C" not null unique,
  master_role    text collate "C" not null unique,
  public_role    text collate "C" not null unique,
  quota_in_bytes bigint not null default 0 check (quota_in_bytes >= 0)
);

create table cartage.roles (
  role_name text collate "C" primary key,
  username  text not null references cartage.accounts on delete cascade,
  key_type  text not null check (key_type in ('master', 'default', 'regular')),
  services  text[] not null default '{}'
);

-- Every GRANT compresses the access list of its object anew. For a list of thousands of roles lz4 takes a third of the
-- time. A server may have been built without lz4.
create function cartage.compress_with_lz4() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  set local default_toast_compression = 'lz4';
exception when invalid_parameter_value then
  null;
end
$$;

-- Who is calling

create function cartodb.CDB_Username() returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
return (select username from cartage.roles where role_name = session_user);

-- The data services that were granted to the key of the caller. Empty if the caller is no tenant.
create function cartodb.CDB_Services() returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp
return coalesce((select services from cartage.roles where role_name = session_user), '{}');

-- The kind of key that a role belongs to. Null if the role is no tenant's.
create function cartodb._CDB_KeyType(role name) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
return (select key_type from cartage.roles where role_name = role);

-- Whether a role is that of a regular key of the user who has this master role.
create function cartodb._CDB_IsKeyOf(key name, master name) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
return exists (
  select from cartage.roles role join cartage.accounts owner on owner.username = role.username
  where role.role_name = key and role.key_type = 'regular' and owner.master_role = master
);

create function cartodb._CDB_OwnerOf(relation regclass) returns name
language sql stable set search_path = pg_catalog, pg_temp
return (select pg_get_userbyid(relowner) from pg_catalog.pg_class where oid = relation);

-- Whether the operator is calling. The code of a tenant also runs where session_user is the operator: in autovacuum, and in
-- maintenance by hand. So SECURITY DEFINER functions serve tenants only, and functions that run as their caller recognise
-- the operator by current_user.
create function cartodb._CDB_IsOperator() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return (select rolsuper from pg_catalog.pg_roles where rolname = current_user);

create function cartage.account_of_schema(schema text) returns cartage.accounts
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  account cartage.accounts;
begin
  select * into account from cartage.accounts where schema_name = schema;
  if not found then
    raise exception 'Invalid schema name "%"', schema using errcode = 'invalid_schema_name';
  end if;
  return account;
end
$$;

-- The account that a schema belongs to; null means the account of the caller. Tenants may ask for their own only.
create function cartage.account_for_caller(schema text) returns cartage.accounts
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  caller constant text := cartodb.CDB_Username();
  account cartage.accounts;
begin
  if schema is null and caller is not null then
    select * into account from cartage.accounts where username = caller;
    return account;
  end if;
  account := cartage.account_of_schema(coalesce(schema, 'public'));
  if account.username is distinct from caller then
    raise exception 'permission denied for schema %', schema using errcode = 'insufficient_privilege';
  end if;
  return account;
end
$$;

-- How much an account stores

-- The tables and materialized views of each account. One that lies in the schema of an account belongs to that account; any
-- other belongs to the account of its owner. Temporary tables are not counted.
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

-- The bytes on disk of these tables with their indexes and TOAST tables, read from the files: pg_total_relation_size would
-- wait for every table that another session is altering.
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
    -- A table that was rewritten after its path was looked up has no file there: it is measured again.
    exit when has_vanished is not true;
  end loop;
  return bytes;
end
$$;

-- The bytes on disk of all that the account owns.
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

-- How much it may store

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

-- The checks. A write that ends over quota fails with SQLSTATE QUOTA: after each statement on a prepared table, after each DDL
-- command that stores rows, and once more at commit where another transaction could not yet see what this one made.

-- At least so many bytes are left to the account; null if it has no limit. Raises if the account is over its quota.
create function cartage.quota_left(account text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  quota constant bigint := (select nullif(quota_in_bytes, 0) from cartage.accounts where username = account);
  bytes bigint;
begin
  if quota is null then
    return null;
  end if;
  -- If the whole database fits into the quota, so does the account, and the sizes need not be added up.
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

-- Two transactions that each fill a new table do not see each other's table. Such a transaction is checked again at commit:
-- the second one waits for the first, and then counts both tables.
create table cartage.commit_checks (
  transaction xid8,
  username    text,
  primary key (transaction, username)
);

-- Each account has a lock by which its transactions are checked one at a time at commit. SET CONSTRAINTS lets a transaction
-- take the lock early and keep it for as long as it likes, so a transaction that keeps others waiting is ended. The lock is
-- one on a table, since PostgreSQL tells who holds that, whatever savepoints there were.
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

create trigger make_commit_turn after insert on cartage.accounts
  for each row execute function cartage.make_commit_turn();

create function cartage.drop_commit_turn() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('drop table %s', old.turn);
  return null;
end
$$;

create trigger drop_commit_turn after delete on cartage.commit_turns
  for each row execute function cartage.drop_commit_turn();

-- Waits for the lock. False if it was not free in time.
create function cartage.has_commit_turn(turn regclass) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
begin
  execute format('lock table %s in exclusive mode', turn);
  return true;
exception when lock_not_available then
  return false;
end
$$;

-- Ends the session that holds the lock, and returns its pid.
create function cartage.end_commit_turn(turn regclass) returns integer
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select max(case when pg_terminate_backend(pid) then pid end)
  from pg_locks
  where locktype = 'relation' and relation = turn and granted and mode = 'ExclusiveLock'
    and database = (select oid from pg_database where datname = current_database())
$$;

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
    -- It was terminated and has not ended yet. It will not commit, so what it made need not be counted.
    exit when holder = last_holder;
  end loop;
  perform cartage.quota_left(new.username);
  return null;
end
$$;

create constraint trigger check_quota after insert on cartage.commit_checks
  deferrable initially deferred for each row execute function cartage.check_quota_at_commit();

-- Raises if the account is over its quota, and has the transaction checked again at commit if it may have made a table.
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

-- The triggers of a prepared table. The statement trigger enforces the quota. The row trigger, which fires for every 256th
-- cartodb_id, only stops a long COPY or UPDATE early: it looks at its own table, and measures the whole account only when
-- that table has grown past the ceiling that was found the last time. The ceiling is kept in a setting. A tenant who changes
-- it only delays the error to the end of the statement.
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
