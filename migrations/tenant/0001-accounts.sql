-- Who lives in this database. Written by the service alone; tenants reach it only through
-- SECURITY DEFINER functions, which know their caller by session_user.
create schema if not exists cartage;
revoke all on schema cartage from public;

create table cartage.accounts (
  username       text primary key,
  schema_name    text not null unique,
  master_role    text not null unique,
  public_role    text not null unique,
  quota_in_bytes bigint not null default 0 check (quota_in_bytes >= 0)
);

create table cartage.roles (
  role_name text primary key,
  username  text not null references cartage.accounts on delete cascade,
  key_type  text not null check (key_type in ('master', 'default', 'regular')),
  services  text[] not null default '{}'
);

create schema cartodb;
grant usage on schema cartodb to public;

-- The database is shared ground: what a role may do here is granted to it by name.
revoke all on schema public from public;
revoke all on table public.spatial_ref_sys, public.geometry_columns, public.geography_columns from public;
grant usage on schema public to public;
grant select on table public.spatial_ref_sys, public.geometry_columns, public.geography_columns to public;

-- A large object belongs to nobody's quota, so only master roles may make one (granted with the account).
revoke execute on function
  pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid), pg_catalog.lo_from_bytea(oid, bytea)
  from public;

-- DROP OWNED by a tenant would take away the grants that hold its own account together. (PostgreSQL has no event
-- trigger for REASSIGN OWNED; it moves objects only between roles of the same user, and takes no grant away.)
create function cartage.refuse_drop_owned() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from cartage.roles where role_name = session_user) then
    raise exception '% is not allowed', tg_tag using errcode = 'insufficient_privilege';
  end if;
end
$$;

create event trigger cartage_refuse_drop_owned on ddl_command_start
  when tag in ('DROP OWNED')
  execute function cartage.refuse_drop_owned();
