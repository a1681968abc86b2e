-- Grants of keys follow what tenants do with their tables. Whatever goes wrong in here, the tenant's own command
-- must succeed.

-- What an event trigger is at. Its own commands fire it again, and each level of that costs stack: with many keys, more
-- than there is. (A setting could be made by tenants.)
create table cartage.tasks (
  transaction xid8,
  task        text,
  primary key (transaction, task)
);

-- False: this transaction is at it already.
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

-- A table was made or changed: grants that are in force on it learn its name, and those that wait for a table of
-- that name are put in force, if the user still has what was granted.
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

-- A table may have got a sequence: whoever was granted `insert` may use it, if its user may.
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

-- The use of a sequence that is given to a user goes on to those of its keys that were granted `insert` on the table.
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

-- What a key was granted on a table of another user goes when the user loses it: at once, with the other's REVOKE, and with
-- the command by which its rows begin to depend on the reader.
create function cartage.lower_grants() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_tag <> 'REVOKE' and not exists (
      select from pg_event_trigger_ddl_commands() join pg_class on classid = 'pg_class'::regclass and oid = objid
      where relrowsecurity or relkind = 'v')
    or not cartage.begin_task('lower grants') then
    return;
  end if;
  -- An old snapshot does not show keys that were made since.
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
    and exists (select from cartage.accounts where schema_name <> 'public') then
    raise exception '% needs the isolation level READ COMMITTED, as other members may have keys', tg_tag
      using errcode = 'active_sql_transaction';
  end if;
  perform cartage.lower_tables();
  perform cartage.lower_sequences();
  perform cartage.lower_schemas();
  perform cartage.end_task('lower grants');
end
$$;

create function cartage.lower_tables() returns void
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
    -- A row that the key's own user holds in a transaction is left as it is: a wish alone gives nothing.
    update cartage.grants set permissions = lost.held
    where id in (select id from cartage.grants where id = any (lost.ids) for update skip locked);
  end loop;
end
$$;

create function cartage.lower_sequences() returns void
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
      and not cartage.is_held(key.username, sequence.relowner, sequence.relacl, 'usage')
    group by sequence.oid
  loop
    execute format('revoke usage on sequence %s from %s', lost.sequence, lost.roles);
  end loop;
end
$$;

create function cartage.lower_schemas() returns void
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
      and not cartage.is_held(key.username, namespace.nspowner, namespace.nspacl, 'usage')
    group by namespace.nspname
  loop
    execute format('revoke all on schema %I from %s', lost.nspname, lost.roles);
  end loop;
end
$$;

create event trigger cartage_lower_grants on ddl_command_end
  when tag in ('REVOKE', 'ALTER TABLE', 'CREATE VIEW', 'ALTER VIEW', 'CREATE RULE')
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
