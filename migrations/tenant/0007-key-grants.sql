-- What keys may do with tables, schemas and sequences, and how that follows what tenants do with their tables.
--
-- What is in force is what the catalogs say. `cartage.grants` holds what was asked for when the key was created, so that a table
-- that is dropped and made again gets its grants back.

-- A grant follows its table through renames.
create table cartage.grants (
  id          bigint generated always as identity primary key,
  role_name   text collate "C" not null references cartage.roles on delete cascade,
  schema_name text collate "C" not null,
  table_name  text collate "C" not null,
  permissions text[] not null check (permissions <@ '{select,insert,update,delete}'),
  -- The table that the grant is in force on, which may be gone. (A dump writes a regclass by its name.)
  relation    regclass not null,
  -- The role that made the table: a grant follows a table that is made again only if the user or this role made it.
  made_by     text collate "C"
);

create index on cartage.grants (role_name);
create index on cartage.grants (relation);
create index on cartage.grants (table_name, schema_name);

-- What a user can give to a key

-- The privileges in an access list. (A long list is stored compressed, and aclexplode alone would decompress it for every row
-- that it returns.)
create function cartage.privileges(acl aclitem[], out grantee oid, out privilege text) returns setof record
language sql stable strict set search_path = pg_catalog, pg_temp as $$
  select grantee, lower(privilege_type) from aclexplode(acl || '{}'::aclitem[])
$$;

-- Whether the user itself has a privilege. What the user's roles own is the user's. On objects of other members and of the
-- operator it is what was granted to the user's master role, its public role or PUBLIC. It is not what the user has as a
-- member of its keys' roles, which is what these were granted.
create function cartage.has_privilege(account text, owner oid, acl aclitem[], wanted text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
      select from cartage.roles role where role.role_name = pg_get_userbyid(owner) and role.username = account)
    or exists (
      select from cartage.privileges(acl) held
      join cartage.accounts own on own.username = account
      where held.privilege = wanted
        and held.grantee in (0, to_regrole(quote_ident(own.master_role)), to_regrole(quote_ident(own.public_role))))
$$;

-- Whether the rows depend on the role that reads: because of row security, on a table or under a view, or because the query of a
-- view asks for the reader. Besides current_user there are getpgusername(), an alias of it, SYSTEM_USER with the name of the
-- login, and functions in cartodb that tell a key from its user. So of schema cartodb a view may call only immutable
-- functions.
create function cartage.depends_on_reader(asked oid) returns boolean
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
      -- CURRENT_ROLE, CURRENT_USER, USER, SESSION_USER, and CURRENT_SCHEMA, which depends on what the reader may use.
      or rule.ev_action::text ~ '\{SQLVALUEFUNCTION :op (9|10|11|12|14) '
      or exists (
        select
        from cartodb._CDB_Calls(rule.ev_action::text) call
        join pg_proc on pg_proc.oid = call
        join pg_namespace on pg_namespace.oid = pronamespace
        where nspname not in ('pg_catalog', 'postgis', 'cartodb')
          or nspname = 'cartodb' and provolatile <> 'i'
          or proname ~ '^has_.*_privilege$|^pg_stat_get_(activity|backend_userid)$'
          or proname = any ('{pg_has_role,row_security_active,current_setting,pg_show_all_settings,current_user,session_user,
            system_user,getpgusername,current_schema,current_schemas}')))
$$;

-- The permissions among these that the user has. Where the rows depend on the reader, a user can give nothing unless the table
-- is its own: the role of a key is another reader than the user.
create function cartage.permissions_held(account text, relation oid, permissions text[]) returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select array(
    select permission
    from unnest(permissions) permission
    join pg_class class on class.oid = relation
    left join cartage.roles owner on owner.role_name = pg_get_userbyid(class.relowner)
    where cartage.has_privilege(account, class.relowner, class.relacl, permission)
      and (owner.username = account or not cartage.depends_on_reader(relation)))
$$;

-- The table of that name, if it is of a kind that keys can be granted. A table of another user counts if it was shared.
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

-- The schema of that name, if the user may create tables in it and it is not another user's. (has_schema_privilege would go
-- through all roles that the master role is a member of: all keys of the user.)
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

-- The parts of the wanted grants that the user cannot give: 'tables', 'schemas', or none.
create function cartage.refused_grants(account text, tables jsonb, schemas jsonb) returns text[]
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

-- Granting

-- The sequences that fill columns of a table, or of the tables that a view reads: owned by a column (serial, identity) or named
-- in a default, and of the same owner.
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

-- Of these roles of keys, as a list for GRANT, those whose users may use a schema or a sequence.
create function cartage.keys_that_may_use(roles text[], catalog regclass, object oid) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select string_agg(quote_ident(key.role_name), ', ' order by key.role_name)
  from (
    select nspowner, nspacl from pg_namespace where catalog = 'pg_namespace'::regclass and oid = object
    union all
    select relowner, relacl from pg_class where catalog = 'pg_class'::regclass and oid = object
  ) used (owner, acl)
  join cartage.roles key on key.role_name = any (roles)
  where cartage.has_privilege(key.username, used.owner, used.acl, 'usage')
$$;

-- Grants the use of a schema or a sequence to those of the roles whose users may use it.
create function cartage.grant_usage(roles text[], catalog regclass, object oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  grantees constant text := cartage.keys_that_may_use(roles, catalog, object);
  -- Null if no role is left, or if the object is gone.
  command constant text := (
    select 'grant usage on ' || type || ' ' || identity || ' to ' || grantees from pg_identify_object(catalog, object, 0));
begin
  if command is null then
    return;
  end if;
  execute command;
  -- A REVOKE from now on waits for this transaction. One before now may have been missed.
  if cartage.keys_that_may_use(roles, catalog, object) is distinct from grantees then
    raise exception 'the user has lost what is granted' using errcode = 'serialization_failure';
  end if;
end
$$;

-- Grants permissions on a table to roles whose rows in cartage.grants are there already.
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
  -- GRANT takes a name. If another table has the name by now, the caller has to try again.
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

-- Makes an existing role the role of a new key of the account, with its grants.
create function cartage.admit_key(account text, role_name text, services text[], tables jsonb, schemas jsonb)
returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner cartage.accounts;
  wanted record;
begin
  perform cartage.compress_with_lz4();
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
  -- A REVOKE from now on waits for this transaction, and then sees the grants of the key.
  if cartage.refused_grants(account, tables, schemas) <> '{}' then
    raise exception 'the user has lost what is granted' using errcode = 'serialization_failure';
  end if;
end
$$;

-- Grants follow the tables. If something in an event trigger fails, the command of the tenant succeeds all the same, with a
-- warning.

-- What an event trigger is doing. Its own commands fire it again, and each level costs stack: with many keys, more than there
-- is. (Tenants could change a setting.)
create table cartage.tasks (
  transaction xid8,
  task        text,
  primary key (transaction, task)
);

-- False if this transaction is doing it already.
create function cartage.begin_task(task text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into cartage.tasks values (pg_current_xact_id(), task) on conflict do nothing;
  return found;
end
$$;

create function cartage.end_task(done text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  delete from cartage.tasks where transaction = pg_current_xact_id() and task = done
$$;

-- A table was made or changed: grants that are in force on it learn its name, and grants that wait for a table of that name are
-- put in force if the user still has what was granted.
create function cartage.follow_table(changed oid) returns void
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

-- A table may have got a sequence: keys that were granted `insert` may use it if their users may.
create function cartage.follow_sequences(changed oid) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with writer as (
    select distinct role.oid, role.rolname::text
    from cartage.grants join pg_authid role on role.rolname = role_name
    where relation = changed and 'insert' = any (permissions)
  ),
  already as (
    select class.oid as sequence, acl.grantee
    from cartage.sequences_of(changed) filler
    join pg_class class on class.oid = filler
    cross join cartage.privileges(class.relacl) acl
    where acl.privilege = 'usage'
  ),
  missing as (
    select filler as sequence, array_agg(rolname) as roles
    from writer cross join cartage.sequences_of(changed) filler
    where not exists (select from already where already.sequence = filler and already.grantee = writer.oid)
    group by filler
  )
  select cartage.grant_usage(roles, 'pg_class', sequence) from missing
$$;

create function cartage.follow_tables() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  changed oid;
begin
  if not exists (select from cartage.grants) then
    return;
  end if;
  begin
    for changed in
      with command as (select classid, objid from pg_event_trigger_ddl_commands())
      select objid from command where classid = 'pg_class'::regclass
      union
      -- A sequence that a column got, by itself or with the column.
      select refobjid from command join pg_depend using (classid, objid)
      where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and deptype in ('a', 'i')
      union
      select relation from command join pg_class on relnamespace = objid join cartage.grants on relation = oid
      where classid = 'pg_namespace'::regclass
    loop
      perform cartage.follow_table(changed);
    end loop;
  exception when others then
    raise warning 'the grants of API keys were not put back: %', sqlerrm;
  end;
end
$$;

create event trigger cartage_follow_tables on ddl_command_end
  when tag in (
    'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW',
    'CREATE FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA', 'CREATE SCHEMA', 'CREATE SEQUENCE',
    'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER SCHEMA', 'ALTER SEQUENCE',
    -- Renames tables too.
    'ALTER INDEX')
  execute function cartage.follow_tables();

-- The use of a sequence that is granted to a user goes on to those of its keys that were granted `insert` on the table.
create function cartage.follow_grant() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  filled oid;
begin
  if cartodb._CDB_KeyType(session_user) is null
    or not exists (select from pg_event_trigger_ddl_commands() where object_type = 'SEQUENCE')
    or not cartage.begin_task('follow grant') then
    return;
  end if;
  begin
    for filled in
      select distinct relation
      from cartage.grants join pg_class on oid = relation
      where 'insert' = any (permissions) and pg_has_role(session_user, relowner, 'member')
    loop
      perform cartage.follow_sequences(filled);
    end loop;
  exception when others then
    raise warning 'the grants of API keys did not follow: %', sqlerrm;
  end;
  perform cartage.end_task('follow grant');
end
$$;

create event trigger cartage_follow_grant on ddl_command_end
  when tag in ('GRANT')
  execute function cartage.follow_grant();

-- What a tenant revokes stays revoked when the table is made again.
create function cartage.forget_revoked() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from cartage.roles where role_name = session_user)
    or not exists (select from cartage.grants) then
    return;
  end if;
  begin
    with held as materialized (
      select class.oid as relation, role.rolname as role_name, array_agg(acl.privilege) as permissions
      from pg_class class
      cross join lateral cartage.privileges(coalesce(class.relacl, acldefault('r', class.relowner))) acl
      join pg_authid role on role.oid = acl.grantee
      where class.oid in (select relation from cartage.grants)
      group by class.oid, role.rolname
    )
    update cartage.grants intent
    set permissions = array(
      select permission from unnest(intent.permissions) permission where permission = any (held.permissions))
    from cartage.grants bound
    join pg_class class on class.oid = bound.relation
    left join held on held.relation = bound.relation and held.role_name = bound.role_name
    where intent.id = bound.id and not intent.permissions <@ coalesce(held.permissions, '{}');
  exception when others then
    raise warning 'API keys may get back what was revoked here: %', sqlerrm;
  end;
end
$$;

create event trigger cartage_forget_revoked on ddl_command_end
  when tag in ('REVOKE')
  execute function cartage.forget_revoked();

-- A key loses what it was granted on a table of another user when its user loses it: with the REVOKE of the other user, and with
-- the command that makes the rows depend on the reader.

create function cartage.revoke_lost_grants() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_tag <> 'REVOKE' and not exists (
      select from pg_event_trigger_ddl_commands() join pg_class on classid = 'pg_class'::regclass and oid = objid
      where relrowsecurity or relkind = 'v')
    or not cartage.begin_task('revoke lost grants') then
    return;
  end if;
  -- An old snapshot does not show keys that were made since.
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
    and exists (select from cartage.accounts where schema_name <> 'public') then
    raise exception '% needs the isolation level READ COMMITTED, as other members may have keys', tg_tag
      using errcode = 'active_sql_transaction';
  end if;
  perform cartage.revoke_lost_tables();
  perform cartage.revoke_lost_sequences();
  perform cartage.revoke_lost_schemas();
  perform cartage.end_task('revoke lost grants');
end
$$;

create event trigger cartage_revoke_lost_grants on ddl_command_end
  when tag in ('REVOKE', 'ALTER TABLE', 'CREATE VIEW', 'ALTER VIEW', 'CREATE RULE')
  execute function cartage.revoke_lost_grants();

create function cartage.revoke_lost_tables() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
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
    select relation, permissions, held, array_agg(id) as ids, string_agg(distinct quote_ident(role_name), ', ') as roles
    from foreign_grant
    where not permissions <@ held
    group by relation, permissions, held
  loop
    execute format('revoke %s on table %s from %s',
      (select string_agg(permission, ', ') from unnest(lost.permissions) permission where permission <> all (lost.held)),
      lost.relation, lost.roles);
    if 'insert' = any (lost.permissions) and 'insert' <> all (lost.held) then
      for sequence in select cartage.sequences_of(lost.relation) loop
        execute format('revoke usage on sequence %s from %s', sequence, lost.roles);
      end loop;
    end if;
    -- A row that is locked by a transaction of the key's own user is left as it is: the row alone gives no privilege.
    update cartage.grants set permissions = lost.held
    where id in (select id from cartage.grants where id = any (lost.ids) for update skip locked);
  end loop;
end
$$;

create function cartage.revoke_lost_sequences() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  lost record;
begin
  for lost in
    select sequence.oid::regclass as sequence, string_agg(distinct quote_ident(key.role_name), ', ') as roles
    from pg_class sequence
    cross join lateral cartage.privileges(sequence.relacl) acl
    join cartage.roles key on key.role_name = pg_get_userbyid(acl.grantee) and key.key_type = 'regular'
    left join cartage.roles owner on owner.role_name = pg_get_userbyid(sequence.relowner)
    where sequence.relkind = 'S' and acl.privilege = 'usage' and owner.username is distinct from key.username
      and not cartage.has_privilege(key.username, sequence.relowner, sequence.relacl, 'usage')
    group by sequence.oid
  loop
    execute format('revoke usage on sequence %s from %s', lost.sequence, lost.roles);
  end loop;
end
$$;

create function cartage.revoke_lost_schemas() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  lost record;
begin
  for lost in
    select namespace.nspname, string_agg(distinct quote_ident(key.role_name), ', ') as roles
    from pg_namespace namespace
    cross join lateral cartage.privileges(namespace.nspacl) acl
    join cartage.roles key on key.role_name = pg_get_userbyid(acl.grantee) and key.key_type = 'regular'
    left join cartage.roles owner on owner.role_name = pg_get_userbyid(namespace.nspowner)
    where acl.privilege = 'usage' and owner.username is distinct from key.username
      and not cartage.has_privilege(key.username, namespace.nspowner, namespace.nspacl, 'usage')
    group by namespace.nspname
  loop
    execute format('revoke all on schema %I from %s', lost.nspname, lost.roles);
  end loop;
end
$$;

-- When a key is deleted, its user counts as the maker of its tables, also for grants that follow them.

create function cartage.record_new_maker() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update cartage.grants set made_by = (select master_role from cartage.accounts where username = old.username)
  where made_by = old.role_name;
  return null;
end
$$;

create trigger record_new_maker after delete on cartage.roles
  for each row when (old.key_type = 'regular') execute function cartage.record_new_maker();
