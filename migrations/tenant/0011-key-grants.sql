-- What keys may do with tables. In force is what the catalogs say; here stands what was asked for at creation, so
-- that a table which is dropped and made again gets its grants back. A grant follows its table through renames.
create table cartage.grants (
  id          bigint generated always as identity primary key,
  role_name   text collate "C" not null references cartage.roles on delete cascade,
  schema_name text collate "C" not null,
  table_name  text collate "C" not null,
  permissions text[] not null check (permissions <@ '{select,insert,update,delete}'),
  -- The table that it is in force on, which may be gone. (As regclass it survives a dump by its name.)
  relation    regclass not null,
  -- The role that had made the table: a grant follows one that is made again only if the user made it, or this role.
  made_by     text collate "C"
);

create index on cartage.grants (role_name);
create index on cartage.grants (relation);
create index on cartage.grants (table_name, schema_name);

-- The privileges in an access list. (A long one is stored compressed, and aclexplode itself would unpack it anew for
-- every row it gives.)
create function cartage.privileges(acl aclitem[], out grantee oid, out privilege text) returns setof record
language sql stable strict set search_path = pg_catalog, pg_temp as $$
  select grantee, lower(privilege_type) from aclexplode(acl || '{}'::aclitem[])
$$;

-- Has the user a privilege by itself? Whatever the user's roles own is the user's; on objects of other members and of the
-- operator it is what was given to the user's master role, its public role or everybody. (Not what the user has as a member
-- of its keys' roles, which is what these were granted.)
create function cartage.is_held(account text, owner oid, acl aclitem[], wanted text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
      select from cartage.roles role where role.role_name = pg_get_userbyid(owner) and role.username = account)
    or exists (
      select from cartage.privileges(acl) held
      join cartage.accounts own on own.username = account
      where held.privilege = wanted
        and held.grantee in (0, to_regrole(quote_ident(own.master_role)), to_regrole(quote_ident(own.public_role))))
$$;

-- Do the rows depend on the role that reads? That is so for row security, on a table or under a view, and for a view whose
-- query has current_user or its like in it, or calls a function that may.
create function cartage.asks_who_reads(asked oid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive read (relation) as (
    select asked
    union
    select used.refobjid
    from read
    join pg_class view on view.oid = relation and view.relkind = 'v'
    join pg_rewrite rule on rule.ev_class = relation
    join pg_depend used on used.classid = 'pg_rewrite'::regclass and used.objid = rule.oid
      and used.refclassid = 'pg_class'::regclass
  )
  select exists (
    select
    from read
    join pg_class class on class.oid = relation
    left join pg_rewrite rule on rule.ev_class = relation and class.relkind = 'v'
    where class.relrowsecurity
      -- CURRENT_ROLE, CURRENT_USER, USER and SESSION_USER.
      or rule.ev_action::text ~ '\{SQLVALUEFUNCTION :op (9|10|11|12) '
      or exists (
        select
        from cartodb._CDB_Calls(rule.ev_action::text) call
        join pg_proc on pg_proc.oid = call
        join pg_namespace on pg_namespace.oid = pronamespace
        where nspname not in ('pg_catalog', 'postgis', 'cartodb')
          or proname ~ '^has_.*_privilege$|^(pg_has_role|row_security_active|current_setting|current_user|session_user)$'))
$$;

-- Of these permissions those that the user has. On what shows each role other rows, a grant says nothing of what the user
-- sees, and the role of a key is another role: there a user has nothing to give, unless it is the user's own.
create function cartage.permissions_held(account text, relation oid, permissions text[]) returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select array(
    select permission
    from unnest(permissions) permission
    join pg_class class on class.oid = relation
    left join cartage.roles owner on owner.role_name = pg_get_userbyid(class.relowner)
    where cartage.is_held(account, class.relowner, class.relacl, permission)
      and (owner.username = account or not cartage.asks_who_reads(relation)))
$$;

-- The table of that name, if it is of a kind that keys can be granted. Another user's counts if it was shared.
create function cartage.find_table(account text, schema_name text, table_name text) returns oid
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

-- Sequences that fill columns of the table, or of the tables that a view stands on: owned by a column (serial,
-- identity) or named in a default, and of the same owner.
create function cartage.sequences_of(granted oid) returns setof oid
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive tables(relation) as (
    select granted
    union
    select used.refobjid
    from tables
    join pg_rewrite rule on rule.ev_class = relation
    join pg_depend used on used.classid = 'pg_rewrite'::regclass and used.objid = rule.oid
      and used.refclassid = 'pg_class'::regclass
  )
  select sequence.oid
  from pg_class sequence
  where sequence.relkind = 'S' and sequence.relowner = (select relowner from pg_class where oid = granted)
    and sequence.oid in (
      select owned.objid
      from tables join pg_depend owned on owned.refclassid = 'pg_class'::regclass and owned.refobjid = relation
      where owned.refobjsubid > 0 and owned.classid = 'pg_class'::regclass and owned.deptype in ('a', 'i')
      union all
      select named.refobjid
      from tables
      join pg_attrdef preset on preset.adrelid = relation
      join pg_depend named on named.classid = 'pg_attrdef'::regclass and named.objid = preset.oid
        and named.refclassid = 'pg_class'::regclass)
$$;

-- Puts permissions on a table in force for roles whose rows in cartage.grants are there already.
create function cartage.grant_table(roles text[], granted oid, permissions text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  place record;
  outside text[];
  grantees constant text := (select string_agg(quote_ident(role), ', ') from unnest(roles) role);
begin
  if permissions = '{}' then
    return;
  end if;
  select namespace.oid as schema, namespace.nspname, class.relname into strict place
  from pg_class class join pg_namespace namespace on namespace.oid = class.relnamespace
  where class.oid = granted;
  execute format('grant %s on table %I.%I to %s',
    array_to_string(permissions, ', '), place.nspname, place.relname, grantees);
  -- GRANT goes by name. If the name changed hands in between, it all has to be tried again.
  if to_regclass(format('%I.%I', place.nspname, place.relname)) is distinct from granted then
    raise exception 'table %.% was replaced meanwhile', place.nspname, place.relname
      using errcode = 'serialization_failure';
  end if;
  outside := array(
    select role from unnest(roles) role where not has_schema_privilege(role, place.schema, 'usage'));
  perform cartage.grant_usage(outside, 'pg_namespace', place.schema);
  if 'insert' = any (permissions) then
    perform cartage.grant_usage(roles, 'pg_class', filler) from cartage.sequences_of(granted) filler;
  end if;
end
$$;

-- Lets those of the roles use a schema or a sequence whose users may.
create function cartage.grant_usage(roles text[], catalog regclass, object oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  grantees constant text := cartage.users_of(roles, catalog, object);
  -- Null if there is nobody, or nothing any more.
  command constant text := (
    select 'grant usage on ' || type || ' ' || identity || ' to ' || grantees from pg_identify_object(catalog, object, 0));
begin
  if command is null then
    return;
  end if;
  execute command;
  -- Whoever takes it back from now on waits for this transaction. Before, it may have happened.
  if cartage.users_of(roles, catalog, object) is distinct from grantees then
    raise exception 'the user has lost what is granted' using errcode = 'serialization_failure';
  end if;
end
$$;

-- Of these roles of keys, as a list for GRANT, those whose users may use a schema or a sequence.
create function cartage.users_of(roles text[], catalog regclass, object oid) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select string_agg(quote_ident(key.role_name), ', ' order by key.role_name)
  from (
    select nspowner, nspacl from pg_namespace where catalog = 'pg_namespace'::regclass and oid = object
    union all
    select relowner, relacl from pg_class where catalog = 'pg_class'::regclass and oid = object
  ) used (owner, acl)
  join cartage.roles key on key.role_name = any (roles)
  where cartage.is_held(key.username, used.owner, used.acl, 'usage')
$$;

-- The schema of that name, if the user may create tables in it and it is not another user's. (has_schema_privilege
-- would go through every role that master is a member of, which are all the user's keys.)
create function cartage.find_schema(account text, schema_name text) returns oid
language sql stable set search_path = pg_catalog, pg_temp as $$
  select namespace.oid
  from pg_namespace namespace
  join cartage.accounts owner on owner.username = account
  left join cartage.roles home on home.role_name = pg_get_userbyid(namespace.nspowner)
  where namespace.nspname = $2
    and namespace.nspname !~ '^pg_' and namespace.nspname not in ('information_schema', 'cartodb', 'cartage')
    and case
      when home.username is not null then home.username = account
      else aclcontains(namespace.nspacl,
        makeaclitem(to_regrole(quote_ident(owner.master_role)), namespace.nspowner, 'CREATE', false))
    end
$$;

-- Which parts of the wanted grants the user cannot give: 'tables', 'schemas', or nothing.
create function cartage.faults_in_grants(account text, tables jsonb, schemas jsonb) returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select array(
    select 'tables'
    where exists (
      select
      from jsonb_to_recordset(tables) as wanted(schema text, name text, permissions text[])
      cross join lateral cartage.find_table(account, wanted.schema, wanted.name) relation
      where relation is null
        or not wanted.permissions <@ cartage.permissions_held(account, relation, wanted.permissions))
    union all
    select 'schemas'
    where exists (
      select from jsonb_to_recordset(schemas) as wanted(name text)
      where cartage.find_schema(account, wanted.name) is null))
$$;

-- Makes an existing role the role of a new key: one of the family, with its grants.
create function cartage.admit_key(account text, role_name text, services text[], tables jsonb, schemas jsonb)
returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner cartage.accounts;
  wanted record;
begin
  perform cartage.compress_quickly();
  select * into strict owner from cartage.accounts where username = account;
  insert into cartage.roles values (role_name, account, 'regular', services);
  execute format('grant %I to %I', owner.public_role, role_name);
  execute format('grant %I to %I', role_name, owner.master_role);
  for wanted in
    select wish.schema, wish.name, wish.permissions, cartage.find_table(account, wish.schema, wish.name) as relation
    from jsonb_to_recordset(tables) as wish(schema text, name text, permissions text[])
  loop
    if wanted.relation is null then
      raise exception 'table %.% is gone', wanted.schema, wanted.name using errcode = 'undefined_table';
    end if;
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
  -- Whoever takes something back from now on waits for this transaction, and then sees the key's grants.
  if cartage.faults_in_grants(account, tables, schemas) <> '{}' then
    raise exception 'the user has lost what is granted' using errcode = 'serialization_failure';
  end if;
end
$$;
