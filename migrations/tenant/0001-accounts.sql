-- Who lives in this database. Written by the service alone; tenants reach it only through
-- SECURITY DEFINER functions, which know their caller by session_user.
create schema if not exists cartage;
revoke all on schema cartage from public;

-- Names of schemas and roles are compared with those of the catalogs, whose collation is "C": with another one, no index
-- would be used, and every command of a member would read the rows of all.
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

-- An access list with thousands of roles is compressed anew by every GRANT. In a transaction of ours that is done with
-- lz4, which takes a third of the time. (A server may have been built without it.)
create function cartage.compress_quickly() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  set local default_toast_compression = 'lz4';
exception when invalid_parameter_value then
  null;
end
$$;

create schema cartodb;
grant usage on schema cartodb to public;

-- What a role may do in the public schema is granted to it by name.
revoke all on schema public from public;
grant usage on schema public to public;

-- PostGIS has a schema that only the operator can write to: in public, tenants may make functions of the same names.
grant usage on schema postgis to public;
revoke all on table postgis.spatial_ref_sys, postgis.geometry_columns, postgis.geography_columns from public;
grant select on table postgis.spatial_ref_sys, postgis.geometry_columns, postgis.geography_columns to public;

-- Who is calling, and what belongs to whom. Every key logs in as its own role, so session_user is the
-- caller even inside SECURITY DEFINER functions and after SET ROLE.
create function cartodb.CDB_Username() returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
return (select username from cartage.roles where role_name = session_user);

-- The data services that the caller's key was granted; empty for whoever is no tenant.
create function cartodb.CDB_Services() returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp
return coalesce((select services from cartage.roles where role_name = session_user), '{}');

-- What kind of key a role stands for; null for whoever is no tenant.
create function cartodb._CDB_KeyType(role name) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
return (select key_type from cartage.roles where role_name = role);

-- Preparing a table changes nobody's role: code that runs meanwhile could change it back. A table is prepared by its
-- owner, or by the master role if it is a key's and holds nothing but data. What a key owns is made by the master role
-- and then given to the key.
create function cartodb._CDB_IsKeyOf(key name, master name) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
return exists (
  select from cartage.roles role join cartage.accounts owner on owner.username = role.username
  where role.role_name = key and role.key_type = 'regular' and owner.master_role = master
);

create function cartodb._CDB_OwnerOf(relation regclass) returns name
language sql stable set search_path = pg_catalog, pg_temp
return (select pg_get_userbyid(relowner) from pg_catalog.pg_class where oid = relation);

-- Who is asking. Code of a tenant also runs where session_user is the operator: in autovacuum, and in maintenance by
-- hand. So functions with the operator's rights serve tenants alone, and the operator is known by current_user, in
-- functions that run as their caller.
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

-- The account that `schema` belongs to. Tenants may ask about their own only; null means the caller's.
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
