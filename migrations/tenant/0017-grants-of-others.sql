-- A grant follows a table that is made again only if the user made it, or whoever had made the former one: else a key
-- could put its own table where others write.
alter table cartage.grants add column made_by text;
update cartage.grants set made_by = pg_get_userbyid(relowner) from pg_class where pg_class.oid = relation;

-- Of these permissions those that the user has. Whatever the user's roles own is the user's; on tables of other members
-- and of the operator it is what was given to the user's master role, its public role or everybody. (Not what the user
-- has as a member of its keys' roles, which is what these were granted.)
create or replace function cartage.permissions_held(account text, relation oid, permissions text[]) returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when exists (
      select from pg_class class join cartage.roles role on role.role_name = pg_get_userbyid(class.relowner)
      where class.oid = relation and role.username = account)
    then permissions
    else array(
      select permission
      from unnest(permissions) permission
      where exists (
        select from pg_class class
        cross join lateral cartage.privileges(coalesce(class.relacl, acldefault('r', class.relowner))) acl
        join cartage.accounts owner on owner.username = account
        where class.oid = relation and acl.privilege = permission
          and acl.grantee in (0, to_regrole(quote_ident(owner.master_role)), to_regrole(quote_ident(owner.public_role)))))
  end
$$;

-- The table of that name, if it is of a kind that keys can be granted. Another user's counts if it was shared.
create or replace function cartage.find_table(account text, schema_name text, table_name text) returns oid
language sql stable set search_path = pg_catalog, pg_temp as $$
  select class.oid
  from pg_class class
  join pg_namespace namespace on namespace.oid = class.relnamespace
  where class.relname = $3 and namespace.nspname = $2
    and class.relkind in ('r', 'p', 'v', 'm', 'f') and class.relpersistence <> 't'
    and namespace.nspname !~ '^pg_' and namespace.nspname not in ('information_schema', 'cartodb', 'cartage', 'postgis')
    and not exists (
      select from pg_depend
      where classid = 'pg_class'::regclass and objid = class.oid and deptype = 'e')
    and (
      not exists (
        select from cartage.roles role
        where role.role_name = pg_get_userbyid(class.relowner) and role.username <> account)
      or cartage.permissions_held(account, class.oid, '{select,insert,update,delete}') <> '{}')
$$;

create or replace function cartage.follow_table(changed oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  place record;
  given record;
begin
  select namespace.nspname::text as schema_name, class.relname::text as table_name,
    pg_get_userbyid(class.relowner)::text as maker into place
  from pg_class class join pg_namespace namespace on namespace.oid = class.relnamespace
  where class.oid = changed and class.relkind in ('r', 'p', 'v', 'm', 'f') and class.relpersistence <> 't';
  if not found then
    return;
  end if;
  update cartage.grants set schema_name = place.schema_name, table_name = place.table_name, made_by = place.maker
  where relation = changed
    and (schema_name, table_name, made_by) is distinct from (place.schema_name, place.table_name, place.maker);
  for given in
    with waiting as (
      update cartage.grants intent set relation = changed, made_by = place.maker
      from cartage.roles key
      join cartage.accounts owner using (username)
      where intent.table_name = place.table_name and intent.schema_name = place.schema_name
        and intent.relation <> changed
        and not exists (select from pg_class where oid = intent.relation)
        and place.maker in (owner.master_role, intent.made_by)
        and key.role_name = intent.role_name
        and exists (select from pg_authid where rolname = key.role_name)
        and cartage.find_table(key.username, place.schema_name, place.table_name) = changed
        and intent.permissions <@ cartage.permissions_held(key.username, changed, intent.permissions)
      returning intent.role_name, intent.permissions
    )
    select permissions, array_agg(distinct role_name) as roles from waiting group by permissions
  loop
    perform cartage.grant_table(given.roles, changed, given.permissions);
  end loop;
  if exists (select from cartage.grants where relation = changed and 'insert' = any (permissions)) then
    perform cartage.follow_sequences(changed);
  end if;
end
$$;

create or replace function cartage.admit_key(account text, role_name text, services text[], tables jsonb, schemas jsonb)
returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner cartage.accounts;
  wanted record;
begin
  select * into strict owner from cartage.accounts where username = account;
  insert into cartage.roles values (role_name, account, 'regular', services);
  execute format('grant %I to %I', owner.public_role, role_name);
  execute format('grant %I to %I', role_name, owner.master_role);
  for wanted in
    select wish.schema, wish.name, wish.permissions, cartage.find_table(account, wish.schema, wish.name) as relation
    from jsonb_to_recordset(tables) as wish(schema text, name text, permissions text[])
  loop
    insert into cartage.grants (role_name, schema_name, table_name, permissions, relation, made_by)
    values (role_name, wanted.schema, wanted.name, wanted.permissions, wanted.relation,
      (select pg_get_userbyid(relowner) from pg_class where oid = wanted.relation));
    perform cartage.grant_table(array[role_name], wanted.relation, wanted.permissions);
  end loop;
  for wanted in
    select wish.name from jsonb_to_recordset(schemas) as wish(name text, permissions text[])
    where 'create' = any (wish.permissions)
  loop
    execute format('grant usage, create on schema %I to %I', wanted.name, role_name);
  end loop;
end
$$;

-- What a key was granted on a table of another user goes when the user loses it: at once, with the other's REVOKE.
create function cartage.lower_grants() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  lost record;
  sequence regclass;
begin
  for lost in
    with foreign_grant as (
      select intent.id, intent.role_name, intent.relation, intent.permissions,
        cartage.permissions_held(key.username, intent.relation, intent.permissions) as held
      from cartage.grants intent
      join cartage.roles key using (role_name)
      join pg_class class on class.oid = intent.relation
      left join cartage.roles owner on owner.role_name = pg_get_userbyid(class.relowner)
      where owner.username is distinct from key.username
    )
    select * from foreign_grant where not permissions <@ held
  loop
    execute format('revoke %s on table %s from %I',
      (select string_agg(permission, ', ') from unnest(lost.permissions) permission where permission <> all (lost.held)),
      lost.relation, lost.role_name);
    if 'insert' = any (lost.permissions) and 'insert' <> all (lost.held) then
      for sequence in select cartage.sequences_of(lost.relation) loop
        execute format('revoke usage on sequence %s from %I', sequence, lost.role_name);
      end loop;
    end if;
    -- A row that the key's own user holds in a transaction is left as it is: a wish alone gives nothing.
    update cartage.grants set permissions = lost.held
    where id in (select id from cartage.grants where id = lost.id for update skip locked);
  end loop;
  for lost in
    select distinct namespace.nspname, key.role_name
    from pg_namespace namespace
    cross join lateral cartage.privileges(namespace.nspacl) acl
    join cartage.roles key on key.role_name = pg_get_userbyid(acl.grantee) and key.key_type = 'regular'
    join cartage.accounts owner using (username)
    left join cartage.roles home on home.role_name = pg_get_userbyid(namespace.nspowner)
    where acl.privilege = 'usage' and home.username is distinct from key.username
      and not exists (
        select from cartage.privileges(namespace.nspacl) held
        where held.privilege = 'usage'
          and held.grantee in (0, to_regrole(quote_ident(owner.master_role)), to_regrole(quote_ident(owner.public_role))))
  loop
    execute format('revoke all on schema %I from %I', lost.nspname, lost.role_name);
  end loop;
end
$$;

create event trigger cartage_lower_grants on ddl_command_end
  when tag in ('REVOKE')
  execute function cartage.lower_grants();

-- What is handed over is the user's from then on, also for grants that follow it.
create function cartage.note_new_maker() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update cartage.grants set made_by = (select master_role from cartage.accounts where username = old.username)
  where made_by = old.role_name;
  return null;
end
$$;

create trigger note_new_maker after delete on cartage.roles
  for each row when (old.key_type = 'regular') execute function cartage.note_new_maker();

-- Members of an organization do not read each other's code. (Their own stands in information_schema.routines.)
create function cartage.hide_code() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not has_table_privilege('public', 'pg_proc', 'select') then
    return;
  end if;
  revoke select on pg_proc from public;
  execute (
    select format('grant select (%s) on pg_proc to public', string_agg(quote_ident(attname), ', '))
    from pg_attribute
    where attrelid = 'pg_proc'::regclass and attnum > 0 and not attisdropped and attname not in ('prosrc', 'prosqlbody'));
  revoke execute on function pg_get_functiondef(oid), pg_get_function_sqlbody(oid) from public;
end
$$;

do $$
begin
  if exists (select from cartage.accounts where schema_name <> 'public') then
    perform cartage.hide_code();
  end if;
end
$$;
